// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.media.AudioAttributes;
import android.media.AudioManager;
import android.media.IAudioFocusDispatcher;
import android.media.audiopolicy.IAudioPolicyCallback;
import android.os.IBinder;
import android.os.RemoteException;
import android.util.Log;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * IAudioService's focus, among the listeners of one process. Who asks last has it. Those before
 * hear what they lost, and have it back when all above them have gone.
 *
 * <p>The rules are those of Android's service for one application: each hears of its losses itself,
 * and nobody's volume is turned down for it. Locks and calls are for the system's own policies and
 * refused by name; without them no request is ever delayed.
 */
final class FocusStack {
    private static final String TAG = "Takt";
    /** As on Android: with more who asks fails. */
    private static final int HOLDERS_MAX = 100;
    /** As AudioManager.requestAudioFocusForCall names itself. */
    private static final String CALL = "AudioFocus_For_Phone_Ring_And_Calls";

    /** The last has it. Its monitor covers telling too, so all hear in one order. */
    private final Deque<Holder> holders = new ArrayDeque<>();

    private static final class Holder {
        private final String client;
        private final IAudioFocusDispatcher dispatcher;
        private final int gain;
        private final int flags;
        /** What it has lost; {@code AUDIOFOCUS_NONE} for nothing. */
        private int loss = AudioManager.AUDIOFOCUS_NONE;

        Holder(String client, IAudioFocusDispatcher dispatcher, int gain, int flags) {
            this.client = client;
            this.dispatcher = dispatcher;
            this.gain = gain;
            this.flags = flags;
        }

        /** Somebody else gains. A larger loss is not made smaller. Is it lost for good? */
        boolean lose(int gained) {
            int next = lossOf(gained);
            if (loss == AudioManager.AUDIOFOCUS_NONE || next > loss) {
                loss = next;
                tell(next);
            }
            return loss == AudioManager.AUDIOFOCUS_LOSS;
        }

        void regain() {
            if (loss != AudioManager.AUDIOFOCUS_NONE) {
                loss = AudioManager.AUDIOFOCUS_NONE;
                tell(AudioManager.AUDIOFOCUS_GAIN);
            }
        }

        /** AudioManager leaves it to the thread that the application chose. */
        private void tell(int change) {
            if (dispatcher == null) {
                return;
            }
            try {
                dispatcher.dispatchAudioFocusChange(change, client);
            } catch (RemoteException e) {
                Log.e(TAG, "audio focus: " + client + " did not hear " + change, e);
            }
        }
    }

    private static int lossOf(int gained) {
        return switch (gained) {
            case AudioManager.AUDIOFOCUS_GAIN -> AudioManager.AUDIOFOCUS_LOSS;
            case AudioManager.AUDIOFOCUS_GAIN_TRANSIENT_MAY_DUCK ->
                AudioManager.AUDIOFOCUS_LOSS_TRANSIENT_CAN_DUCK;
            default -> AudioManager.AUDIOFOCUS_LOSS_TRANSIENT;
        };
    }

    private static boolean isGain(int gain) {
        return AudioManager.AUDIOFOCUS_GAIN <= gain && gain <= AudioManager.AUDIOFOCUS_GAIN_TRANSIENT_EXCLUSIVE;
    }

    private static void refuseSystem(String client, int flags, IAudioPolicyCallback policy) {
        boolean isLocking = (flags & AudioManager.AUDIOFOCUS_FLAG_LOCK) != 0;
        if (isLocking || policy != null || CALL.equals(client)) {
            String what = CALL.equals(client) ? "for a call" : "for an audio policy";
            throw new UnsupportedOperationException(
                    "IAudioService.requestAudioFocus " + what + " is not supported by Takt yet");
        }
    }

    int request(AudioAttributes attributes, int gain, IBinder token, IAudioFocusDispatcher dispatcher, String client,
            int flags, IAudioPolicyCallback policy) {
        refuseSystem(client, flags, policy);
        if (attributes == null || client == null || !isGain(gain) || !token.pingBinder()) {
            return AudioManager.AUDIOFOCUS_REQUEST_FAILED;
        }
        synchronized (holders) {
            if (holders.size() > HOLDERS_MAX) {
                return AudioManager.AUDIOFOCUS_REQUEST_FAILED;
            }
            Holder owner = holders.peekLast();
            if (owner != null && owner.client.equals(client) && owner.gain == gain && owner.flags == flags) {
                return AudioManager.AUDIOFOCUS_REQUEST_GRANTED;
            }
            holders.removeIf(it -> it.client.equals(client));
            holders.removeIf(it -> it.lose(gain));
            holders.addLast(new Holder(client, dispatcher, gain, flags));
            return AudioManager.AUDIOFOCUS_REQUEST_GRANTED;
        }
    }

    /** Granted even to who has none, as on Android. */
    int abandon(String client) {
        synchronized (holders) {
            Holder owner = holders.peekLast();
            holders.removeIf(it -> it.client.equals(client));
            Holder next = holders.peekLast();
            if (next != null && next != owner) {
                next.regain();
            }
            return AudioManager.AUDIOFOCUS_REQUEST_GRANTED;
        }
    }

    /** The kind of gain that the owner asked for. */
    int current() {
        synchronized (holders) {
            Holder owner = holders.peekLast();
            return owner == null ? AudioManager.AUDIOFOCUS_NONE : owner.gain;
        }
    }
}
