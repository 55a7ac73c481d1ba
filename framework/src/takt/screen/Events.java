// SPDX-License-Identifier: Apache-2.0
package takt.screen;

import static android.os.MessageQueue.OnFileDescriptorEventListener.EVENT_ERROR;
import static android.os.MessageQueue.OnFileDescriptorEventListener.EVENT_INPUT;

import android.os.Binder;
import android.os.Handler;
import android.os.IBinder;
import android.os.Looper;
import android.os.MessageQueue;
import android.os.ParcelFileDescriptor;
import android.view.DisplayEventReceiver;
import android.view.DisplayEventReceiver.VsyncEventData;
import android.view.Display;
import android.view.InputDevice;
import android.view.InputEvent;
import android.view.InputEventReceiver;
import android.view.KeyCharacterMap;
import android.view.KeyEvent;
import android.view.MotionEvent;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ref.WeakReference;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import takt.framework.InputSource;

/**
 * Brings the display's beats and the windows' input to the loopers that asked for them. Natives of
 * DisplayEventReceiver and InputEventReceiver call this.
 */
final class Events {
    private static final long NANOS_PER_MILLI = 1_000_000;
    private static final AtomicLong RECEIVERS = new AtomicLong();
    private static final Map<Long, Beat> BEATS = new ConcurrentHashMap<>();
    private static final Map<Long, Input> INPUTS = new ConcurrentHashMap<>();
    private static final Map<Long, IBinder> TOKENS = new ConcurrentHashMap<>();
    private static final Method DISPATCH = dispatch();

    private record Beat(WeakReference<DisplayEventReceiver> receiver, WeakReference<VsyncEventData> data,
            Handler handler) {}

    /** What an InputEventReceiver reads: its looper's own. */
    private static final class Input implements InputSource {
        /** Messages of one look: those of a whole ring. */
        private static final int TAKEN_MAX = 64;

        final long channel;
        final WeakReference<InputEventReceiver> receiver;
        final MessageQueue queue;
        /** The channel's, if it is a socket. */
        ParcelFileDescriptor file;
        private final long[] numbers = new long[Native.NUMBERS];

        Input(long channel, WeakReference<InputEventReceiver> receiver, MessageQueue queue) {
            this.channel = channel;
            this.receiver = receiver;
            this.queue = queue;
        }

        @Override
        public int take() {
            for (int count = 0; count < TAKEN_MAX; count++) {
                if (INPUTS.get(channel) != this || !Native.take(channel, numbers)) {
                    return count == 0 ? NOTHING : SOME;
                }
                InputEventReceiver reader = receiver.get();
                if (reader == null) {
                    removeInput(channel);
                    return SOME;
                }
                deliver(reader, numbers);
            }
            return MORE;
        }

        void begin(int descriptor) {
            if (descriptor < 0) {
                Native.listen(queue, this);
                return;
            }
            file = ParcelFileDescriptor.adoptFd(descriptor);
            queue.addOnFileDescriptorEventListener(file.getFileDescriptor(), EVENT_INPUT, (its, events) -> {
                take();
                return (events & EVENT_ERROR) != 0 ? 0 : EVENT_INPUT;
            });
        }

        void end() {
            if (file == null) {
                Native.unlisten(queue, this);
                return;
            }
            queue.removeOnFileDescriptorEventListener(file.getFileDescriptor());
            try {
                file.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private Events() {}

    /** Starts the thread that waits for events. */
    static void start(long answerMillis, Consumer<String> stuck) {
        Thread thread = new Thread(() -> run(answerMillis, stuck), "screen");
        thread.setDaemon(true);
        thread.start();
    }

    private static void run(long answerMillis, Consumer<String> stuck) {
        long[] numbers = new long[Native.NUMBERS];
        while (Native.overdue(answerMillis) == 0) {
            if (Native.await(numbers) == Native.VSYNC) {
                beat(numbers[0], numbers[1], numbers[2]);
            }
        }
        stuck.accept("input of a window");
    }

    /** A DisplayEventReceiver is there; its number. */
    static long addReceiver(WeakReference<DisplayEventReceiver> receiver, WeakReference<VsyncEventData> data,
            MessageQueue queue) {
        BEATS.values().removeIf(it -> it.receiver.get() == null);
        long number = RECEIVERS.incrementAndGet();
        BEATS.put(number, new Beat(receiver, data, handlerOf(queue)));
        return number;
    }

    private static void beat(long number, long nanos, long frame) {
        Beat beat = BEATS.get(number);
        if (beat == null) {
            return;
        }
        beat.handler.post(() -> {
            DisplayEventReceiver receiver = beat.receiver.get();
            VsyncEventData data = beat.data.get();
            if (receiver == null || data == null) {
                BEATS.remove(number);
                return;
            }
            fill(data, nanos, frame);
            receiver.onVsync(nanos, 0, (int) frame, data);
        });
    }

    private static void fill(VsyncEventData data, long nanos, long frame) {
        long period = Screen.periodNanos();
        data.frameInterval = period;
        data.preferredFrameTimelineIndex = 0;
        data.frameTimelinesLength = 1;
        data.frameTimelines[0].vsyncId = frame;
        data.frameTimelines[0].expectedPresentationTime = nanos + period;
        data.frameTimelines[0].deadline = nanos + period;
    }

    /** The beat that is over, for a receiver that comes late to its own. */
    static VsyncEventData latest(long number) {
        Beat beat = BEATS.get(number);
        VsyncEventData data = beat == null ? null : beat.data.get();
        if (data != null) {
            long frame = System.nanoTime() / Screen.periodNanos();
            fill(data, frame * Screen.periodNanos(), frame);
        }
        return data;
    }

    /** An InputEventReceiver reads a channel: what was sent before as well. */
    static void addInput(long channel, WeakReference<InputEventReceiver> receiver, MessageQueue queue) {
        Input input = new Input(channel, receiver, queue);
        Input before = INPUTS.put(channel, input);
        if (before != null) {
            before.end();
        }
        input.begin(Native.inputFile(channel));
    }

    /** It reads it no longer. */
    static void removeInput(long channel) {
        TOKENS.remove(channel);
        Input input = INPUTS.remove(channel);
        if (input != null) {
            input.end();
        }
    }

    /** What stands for a channel. */
    static IBinder token(long channel) {
        return TOKENS.computeIfAbsent(channel, it -> new Binder());
    }

    private static void deliver(InputEventReceiver receiver, long[] numbers) {
        switch ((int) numbers[2]) {
            case Native.FOCUS -> receiver.onFocusEvent(numbers[3] != 0);
            case Native.TOUCH -> dispatch(receiver, numbers, touch(numbers));
            case Native.KEY -> dispatch(receiver, numbers, key(numbers));
            case Native.SCROLL -> dispatch(receiver, numbers, scroll(numbers));
            default -> throw new IllegalStateException("input of kind " + numbers[2]);
        }
    }

    /** Numbers: action, time of the first finger, the window's corner, how many, and each one. */
    private static MotionEvent touch(long[] numbers) {
        int count = (int) numbers[7];
        MotionEvent.PointerProperties[] fingers = new MotionEvent.PointerProperties[count];
        MotionEvent.PointerCoords[] places = new MotionEvent.PointerCoords[count];
        for (int index = 0; index < count; index++) {
            int first = 8 + 3 * index;
            fingers[index] = pointer((int) numbers[first], MotionEvent.TOOL_TYPE_FINGER);
            places[index] = place(numbers[first + 1], numbers[first + 2]);
            places[index].pressure = 1;
            places[index].size = 1;
        }
        return motion(numbers, millis(numbers[4]), (int) numbers[3], fingers, places, InputDevice.SOURCE_TOUCHSCREEN);
    }

    /** Numbers: notches to the right and up, the window's corner, and the place. */
    private static MotionEvent scroll(long[] numbers) {
        MotionEvent.PointerCoords place = place(numbers[8], numbers[9]);
        place.setAxisValue(MotionEvent.AXIS_HSCROLL, bits(numbers[3]));
        place.setAxisValue(MotionEvent.AXIS_VSCROLL, bits(numbers[4]));
        return motion(numbers, millis(numbers[1]), MotionEvent.ACTION_SCROLL,
                new MotionEvent.PointerProperties[] {pointer(0, MotionEvent.TOOL_TYPE_MOUSE)},
                new MotionEvent.PointerCoords[] {place}, InputDevice.SOURCE_MOUSE);
    }

    private static MotionEvent motion(long[] numbers, long downMillis, int action,
            MotionEvent.PointerProperties[] pointers, MotionEvent.PointerCoords[] places, int source) {
        MotionEvent event = MotionEvent.obtain(downMillis, millis(numbers[1]), action, pointers.length, pointers, places,
                0, 0, 1, 1, 0, 0, source, Display.DEFAULT_DISPLAY, 0);
        event.offsetLocation(-bits(numbers[5]), -bits(numbers[6]));
        return event;
    }

    private static MotionEvent.PointerProperties pointer(int id, int tool) {
        MotionEvent.PointerProperties pointer = new MotionEvent.PointerProperties();
        pointer.id = id;
        pointer.toolType = tool;
        return pointer;
    }

    private static MotionEvent.PointerCoords place(long x, long y) {
        MotionEvent.PointerCoords place = new MotionEvent.PointerCoords();
        place.x = bits(x);
        place.y = bits(y);
        return place;
    }

    private static KeyEvent key(long[] numbers) {
        int action = numbers[4] != 0 ? KeyEvent.ACTION_DOWN : KeyEvent.ACTION_UP;
        return new KeyEvent(millis(numbers[5]), millis(numbers[1]), action, (int) numbers[3], 0, (int) numbers[6],
                KeyCharacterMap.VIRTUAL_KEYBOARD, 0, KeyEvent.FLAG_FROM_SYSTEM, InputDevice.SOURCE_KEYBOARD);
    }

    /** AOSP's native part calls this private method; it leads to the finished event. */
    private static void dispatch(InputEventReceiver receiver, long[] numbers, InputEvent event) {
        try {
            DISPATCH.invoke(receiver, (int) numbers[0], event);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            if (e.getCause() instanceof Error cause) {
                throw cause;
            }
            throw new IllegalStateException(e.getCause());
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Method dispatch() {
        try {
            Method method = InputEventReceiver.class.getDeclaredMethod("dispatchInputEvent", int.class,
                    InputEvent.class);
            method.setAccessible(true);
            return method;
        } catch (NoSuchMethodException e) {
            throw new IllegalStateException("AOSP's InputEventReceiver has changed", e);
        }
    }

    /** A receiver is made on its looper's thread, or for the main one. */
    private static Handler handlerOf(MessageQueue queue) {
        Looper own = Looper.myLooper();
        if (own != null && own.getQueue() == queue) {
            return Handler.createAsync(own);
        }
        Looper main = Looper.getMainLooper();
        if (main != null && main.getQueue() == queue) {
            return Handler.createAsync(main);
        }
        throw new UnsupportedOperationException(
                "a receiver of display events for another thread's looper is not supported by Takt yet");
    }

    private static float bits(long number) {
        return Float.intBitsToFloat((int) number);
    }

    private static long millis(long nanos) {
        return nanos / NANOS_PER_MILLI;
    }
}
