// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.content.ClipData;
import android.content.ClipDescription;
import android.content.IOnPrimaryClipChangedListener;
import android.os.IBinder;
import android.os.Parcel;
import android.os.RemoteException;
import android.text.TextUtils;
import java.util.ArrayList;
import java.util.List;
import takt.screen.Screen;

/** IClipboard: what the one application cut or copied. It is gone with the process. */
final class Clipboard {
    private final List<IOnPrimaryClipChangedListener> listeners = new ArrayList<>();
    private ClipData clip;

    /** A copy, as everything is that a service is given. */
    public void setPrimaryClip(ClipData given, String caller, String feature, int user, int device)
            throws RemoteException {
        if (given == null || given.getItemCount() == 0) {
            throw new IllegalArgumentException("No items");
        }
        ClipData copy = copy(given);
        copy.getDescription().setTimestamp(System.currentTimeMillis());
        change(copy);
    }

    public void clearPrimaryClip(String caller, String feature, int user, int device) throws RemoteException {
        if (hasPrimaryClip(caller, feature, user, device)) {
            change(null);
        }
    }

    public synchronized ClipData getPrimaryClip(String caller, String feature, int user, int device) {
        return clip == null ? null : copy(clip);
    }

    public synchronized ClipDescription getPrimaryClipDescription(String caller, String feature, int user, int device) {
        return clip == null ? null : copy(clip).getDescription();
    }

    public synchronized boolean hasPrimaryClip(String caller, String feature, int user, int device) {
        return clip != null;
    }

    /** Of its first item, as the clipboard for text has it. */
    public synchronized boolean hasClipboardText(String caller, String feature, int user, int device) {
        return clip != null && !TextUtils.isEmpty(clip.getItemAt(0).getText());
    }

    public synchronized void addPrimaryClipChangedListener(IOnPrimaryClipChangedListener listener, String caller,
            String feature, int user, int device) {
        listeners.add(listener);
    }

    public synchronized void removePrimaryClipChangedListener(IOnPrimaryClipChangedListener listener, String caller,
            String feature, int user, int device) {
        IBinder own = listener.asBinder();
        listeners.removeIf(it -> it.asBinder() == own);
    }

    private void change(ClipData next) throws RemoteException {
        List<IOnPrimaryClipChangedListener> told;
        synchronized (this) {
            clip = next;
            told = List.copyOf(listeners);
        }
        CharSequence text = next == null ? null : next.getItemAt(0).getText();
        if (text != null) {
            Screen.copied(text.toString());
        }
        for (IOnPrimaryClipChangedListener listener : told) {
            listener.dispatchPrimaryClipChanged();
        }
    }

    private static ClipData copy(ClipData clip) {
        Parcel parcel = Parcel.obtain();
        try {
            clip.writeToParcel(parcel, 0);
            parcel.setDataPosition(0);
            return ClipData.CREATOR.createFromParcel(parcel);
        } finally {
            parcel.recycle();
        }
    }
}
