// SPDX-License-Identifier: Apache-2.0
package android.os;

import android.util.TimeUtils;
import android.util.proto.ProtoOutputStream;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;

/**
 * A message, in front of AOSP's class of the same name: what an application sees is AOSP's. Inside,
 * the message carries what {@link MessageQueue} needs to hold it, so that a send makes nothing, and
 * its pool has no lock.
 */
public final class Message implements Parcelable {
    private static final AtomicIntegerFieldUpdater<Message> FLAGS =
            AtomicIntegerFieldUpdater.newUpdater(Message.class, "flags");
    /** AOSP's keeps 50, behind a lock that every thread of the process shares. */
    private static final MessagePool POOL = new MessagePool(1024);
    /** AOSP's lock of its pool: nothing here takes it. */
    public static final Object sPoolSync = new Object();

    public static final int UID_NONE = -1;
    static final int FLAG_IN_USE = 1;
    static final int FLAG_ASYNCHRONOUS = 1 << 1;
    /** Applications for old releases recycle messages that are in use: they are told nothing. */
    private static final int STRICT_SINCE = 21;

    private static boolean isRecyclingChecked = true;

    public int what;
    public int arg1;
    public int arg2;
    public Object obj;
    public Messenger replyTo;
    public int sendingUid = UID_NONE;
    public int workSourceUid = UID_NONE;

    volatile int flags;
    /** Uptime milliseconds. */
    public long when;
    Bundle data;
    Handler target;
    Runnable callback;

    /** Where it lies while it waits. */
    final QueueEntry entry = new QueueEntry(this);
    /** The pool to go back to; null for everybody's. */
    private final MessagePool home;

    public static final Parcelable.Creator<Message> CREATOR = new Parcelable.Creator<>() {
        @Override
        public Message createFromParcel(Parcel source) {
            Message message = obtain();
            message.readFromParcel(source);
            return message;
        }

        @Override
        public Message[] newArray(int size) {
            return new Message[size];
        }
    };

    /** As AOSP's: {@link #obtain()} is better. */
    public Message() {
        this(null);
    }

    /** One of a pool's own. */
    Message(MessagePool home) {
        this.home = home;
    }

    public static Message obtain() {
        Message message = POOL.take();
        return message == null ? new Message() : message;
    }

    public static Message obtain(Message other) {
        Message message = obtain();
        message.copyContents(other);
        if (other.data != null) {
            message.data = new Bundle(other.data);
        }
        message.target = other.target;
        message.callback = other.callback;
        return message;
    }

    public static Message obtain(Handler handler) {
        Message message = obtain();
        message.target = handler;
        return message;
    }

    public static Message obtain(Handler handler, Runnable callback) {
        Message message = obtain(handler);
        message.callback = callback;
        return message;
    }

    public static Message obtain(Handler handler, int what) {
        Message message = obtain(handler);
        message.what = what;
        return message;
    }

    public static Message obtain(Handler handler, int what, Object object) {
        Message message = obtain(handler, what);
        message.obj = object;
        return message;
    }

    public static Message obtain(Handler handler, int what, int arg1, int arg2) {
        return obtain(handler, what, arg1, arg2, null);
    }

    public static Message obtain(Handler handler, int what, int arg1, int arg2, Object object) {
        Message message = obtain(handler, what, object);
        message.arg1 = arg1;
        message.arg2 = arg2;
        return message;
    }

    /** The application's target release decides whether {@link #recycle} is strict. */
    public static void updateCheckRecycle(int targetSdkVersion) {
        if (targetSdkVersion < STRICT_SINCE) {
            isRecyclingChecked = false;
        }
    }

    public void recycle() {
        if (isInUse()) {
            if (isRecyclingChecked) {
                throw new IllegalStateException("This message cannot be recycled because it is still in use.");
            }
            return;
        }
        recycleUnchecked();
    }

    void recycleUnchecked() {
        flags = FLAG_IN_USE; // Who sends it from here on is told.
        what = 0;
        arg1 = 0;
        arg2 = 0;
        obj = null;
        replyTo = null;
        sendingUid = UID_NONE;
        workSourceUid = UID_NONE;
        when = 0;
        target = null;
        callback = null;
        data = null;
        (home == null ? POOL : home).give(this);
    }

    public void copyFrom(Message other) {
        flags = other.flags & ~FLAG_IN_USE;
        copyContents(other);
        data = other.data == null ? null : (Bundle) other.data.clone();
    }

    private void copyContents(Message other) {
        what = other.what;
        arg1 = other.arg1;
        arg2 = other.arg2;
        obj = other.obj;
        replyTo = other.replyTo;
        sendingUid = other.sendingUid;
        workSourceUid = other.workSourceUid;
    }

    public long getWhen() {
        return when;
    }

    public void setTarget(Handler target) {
        this.target = target;
    }

    public Handler getTarget() {
        return target;
    }

    public Runnable getCallback() {
        return callback;
    }

    public Message setCallback(Runnable callback) {
        this.callback = callback;
        return this;
    }

    public Bundle getData() {
        if (data == null) {
            data = new Bundle();
        }
        return data;
    }

    public Bundle peekData() {
        return data;
    }

    public void setData(Bundle data) {
        this.data = data;
    }

    public Message setWhat(int what) {
        this.what = what;
        return this;
    }

    public void sendToTarget() {
        target.sendMessage(this);
    }

    public boolean isAsynchronous() {
        return (flags & FLAG_ASYNCHRONOUS) != 0;
    }

    public void setAsynchronous(boolean isAsynchronous) {
        flags = isAsynchronous ? flags | FLAG_ASYNCHRONOUS : flags & ~FLAG_ASYNCHRONOUS;
    }

    boolean isInUse() {
        return (flags & FLAG_IN_USE) != 0;
    }

    /** False if somebody was faster, or it was sent already. */
    boolean tryMarkInUse() {
        int found = flags;
        return (found & FLAG_IN_USE) == 0 && FLAGS.compareAndSet(this, found, found | FLAG_IN_USE);
    }

    /** The queue does not take it: it is the sender's again. */
    void markFree() {
        flags &= ~FLAG_IN_USE;
    }

    /** A pool hands it out. */
    void markObtained() {
        flags = 0;
    }

    @Override
    public String toString() {
        return toString(SystemClock.uptimeMillis());
    }

    String toString(long now) {
        StringBuilder text = new StringBuilder("{ when=");
        TimeUtils.formatDuration(when - now, text);
        if (target == null) {
            return text.append(" barrier=").append(arg1).append(" }").toString();
        }
        if (callback == null) {
            text.append(" what=").append(what);
        } else {
            text.append(" callback=").append(callback.getClass().getName());
        }
        if (arg1 != 0) {
            text.append(" arg1=").append(arg1);
        }
        if (arg2 != 0) {
            text.append(" arg2=").append(arg2);
        }
        if (obj != null) {
            text.append(" obj=").append(obj);
        }
        return text.append(" target=").append(target.getClass().getName()).append(" }").toString();
    }

    void dumpDebug(ProtoOutputStream proto, long fieldId) {
        throw new UnsupportedOperationException("Message.dumpDebug is not supported by Takt yet");
    }

    @Override
    public int describeContents() {
        return 0;
    }

    @Override
    public void writeToParcel(Parcel target, int parcelFlags) {
        if (callback != null) {
            throw new RuntimeException("Can't marshal callbacks across processes.");
        }
        target.writeInt(what);
        target.writeInt(arg1);
        target.writeInt(arg2);
        if (obj == null) {
            target.writeInt(0);
        } else if (obj instanceof Parcelable) {
            target.writeInt(1);
            target.writeParcelable((Parcelable) obj, parcelFlags);
        } else {
            throw new RuntimeException("Can't marshal non-Parcelable objects across processes.");
        }
        target.writeLong(when);
        target.writeBundle(data);
        Messenger.writeMessengerOrNullToParcel(replyTo, target);
        target.writeInt(sendingUid);
        target.writeInt(workSourceUid);
    }

    private void readFromParcel(Parcel source) {
        what = source.readInt();
        arg1 = source.readInt();
        arg2 = source.readInt();
        if (source.readInt() != 0) {
            obj = source.readParcelable(getClass().getClassLoader(), Object.class);
        }
        when = source.readLong();
        data = source.readBundle();
        replyTo = Messenger.readMessengerOrNullFromParcel(source);
        sendingUid = source.readInt();
        workSourceUid = source.readInt();
    }
}
