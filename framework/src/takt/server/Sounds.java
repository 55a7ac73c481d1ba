// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.media.AudioAttributes;
import android.media.AudioManager;
import android.media.AudioSystem;
import android.media.IAudioFocusDispatcher;
import android.media.PlayerBase;
import android.media.audiopolicy.IAudioPolicyCallback;
import android.os.IBinder;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * IAudioService: numbers for who plays, and the focus. Nobody lists players here, so none are kept.
 * Music is active while a track of this process plays it.
 *
 * <p>Volumes are fixed, as on a television whose amplifier has the knob: all streams are at their
 * largest, which is what tracks play, and orders to change that change nothing.
 */
final class Sounds {
    /** Of each stream, Android's own largest and least steps. */
    private static final int[] STEPS_MAX = {5, 7, 7, 15, 7, 7, 15, 7, 15, 15, 15, 15};
    private static final int[] STEPS_MIN = {1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0};

    private final AtomicInteger players = new AtomicInteger();
    private final FocusStack focus = new FocusStack();

    public int trackPlayer(PlayerBase.PlayerIdCard card) {
        return players.incrementAndGet();
    }

    public void playerAttributes(int player, AudioAttributes attributes) {}

    public void playerSessionId(int player, int session) {}

    public void playerEvent(int player, int event, int value) {}

    public void releasePlayer(int player) {}

    public boolean isMusicActive(boolean remotely) {
        return !remotely && AudioSystem.isStreamActive(AudioManager.STREAM_MUSIC, 0);
    }

    public int requestAudioFocus(AudioAttributes attributes, int gain, IBinder token,
            IAudioFocusDispatcher dispatcher, String client, String name, String feature, int flags,
            IAudioPolicyCallback policy, int sdk) {
        return focus.request(attributes, gain, token, dispatcher, client, flags, policy);
    }

    public int abandonAudioFocus(IAudioFocusDispatcher dispatcher, String client, AudioAttributes attributes,
            String name) {
        return focus.abandon(client);
    }

    public int getCurrentAudioFocus() {
        return focus.current();
    }

    public boolean isVolumeFixed() {
        return true;
    }

    private static int checked(int stream) {
        if (stream < 0 || STEPS_MAX.length <= stream) {
            throw new IllegalArgumentException("Bad stream type " + stream);
        }
        return stream;
    }

    public int getStreamMaxVolume(int stream) {
        return STEPS_MAX[checked(stream)];
    }

    public int getStreamMinVolume(int stream) {
        return STEPS_MIN[checked(stream)];
    }

    public int getStreamVolume(int stream) {
        return getStreamMaxVolume(stream);
    }

    /** What it would have after a mute ends. */
    public int getLastAudibleStreamVolume(int stream) {
        return getStreamMaxVolume(stream);
    }

    public boolean isStreamMute(int stream) {
        checked(stream);
        return false;
    }

    public boolean isMasterMute() {
        return false;
    }

    public void setStreamVolume(int stream, int step, int flags, String name) {}

    public void setStreamVolumeWithAttribution(int stream, int step, int flags, String name, String feature) {}

    public void adjustStreamVolume(int stream, int direction, int flags, String name) {}

    public void adjustStreamVolumeWithAttribution(int stream, int direction, int flags, String name,
            String feature) {}

    /** Where volumes are fixed nothing is silenced: AOSP's service ignores the order as well. */
    public void setRingerModeExternal(int mode, String name) {}

    public int getRingerModeExternal() {
        return AudioManager.RINGER_MODE_NORMAL;
    }

    /** Nobody is called here. */
    public int getMode() {
        return AudioManager.MODE_NORMAL;
    }

    public boolean isSpeakerphoneOn() {
        return false;
    }

    public boolean isBluetoothScoOn() {
        return false;
    }

    public boolean isBluetoothA2dpOn() {
        return false;
    }

    public boolean isMicrophoneMuted() {
        return false;
    }
}
