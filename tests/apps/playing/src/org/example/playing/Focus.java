// SPDX-License-Identifier: Apache-2.0
package org.example.playing;

import android.media.AudioAttributes;
import android.media.AudioFocusRequest;
import android.media.AudioManager;
import android.os.Handler;
import android.os.HandlerThread;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Who has the audio focus, as listeners hear it; and volumes. */
final class Focus {
    private static final int MANY = 5_000;

    private final AudioManager manager;
    private final Consumer<String> say;
    private final HandlerThread thread = new HandlerThread("focus");
    private final Handler handler;
    private final StringBuilder heard = new StringBuilder();

    Focus(AudioManager manager, Consumer<String> say) {
        this.manager = manager;
        this.say = say;
        thread.start();
        handler = new Handler(thread.getLooper());
    }

    private AudioManager.OnAudioFocusChangeListener listener(String name) {
        return change -> heard.append(' ').append(name).append(change);
    }

    private AudioFocusRequest request(String name, int gain) {
        return new AudioFocusRequest.Builder(gain).setAcceptsDelayedFocusGain(true)
                .setAudioAttributes(new AudioAttributes.Builder().setUsage(AudioAttributes.USAGE_MEDIA).build())
                .setOnAudioFocusChangeListener(listener(name), handler).build();
    }

    /** What all have heard since the last call. */
    private String heard() throws InterruptedException {
        CountDownLatch isDone = new CountDownLatch(1);
        handler.post(isDone::countDown);
        if (!isDone.await(20, TimeUnit.SECONDS)) {
            return " nothing in time";
        }
        String text = heard.toString();
        heard.setLength(0);
        return text;
    }

    void run() throws InterruptedException {
        AudioFocusRequest a = request("a", AudioManager.AUDIOFOCUS_GAIN);
        AudioFocusRequest b = request("b", AudioManager.AUDIOFOCUS_GAIN_TRANSIENT_MAY_DUCK);
        AudioFocusRequest c = request("c", AudioManager.AUDIOFOCUS_GAIN_TRANSIENT);
        AudioFocusRequest d = request("d", AudioManager.AUDIOFOCUS_GAIN_TRANSIENT_EXCLUSIVE);
        AudioFocusRequest e = request("e", AudioManager.AUDIOFOCUS_GAIN);
        say.accept("a " + manager.requestAudioFocus(a) + heard());
        say.accept("a again " + manager.requestAudioFocus(a) + heard());
        say.accept("b ducks " + manager.requestAudioFocus(b) + heard());
        say.accept("c pauses " + manager.requestAudioFocus(c) + heard());
        say.accept("b goes " + manager.abandonAudioFocusRequest(b) + heard());
        say.accept("d alone " + manager.requestAudioFocus(d) + heard());
        say.accept("d goes " + manager.abandonAudioFocusRequest(d) + heard());
        say.accept("c goes " + manager.abandonAudioFocusRequest(c) + heard());
        say.accept("b over a " + manager.requestAudioFocus(b) + heard());
        say.accept("e for good " + manager.requestAudioFocus(e) + heard());
        say.accept("e goes " + manager.abandonAudioFocusRequest(e) + heard());
        say.accept("e goes again " + manager.abandonAudioFocusRequest(e) + heard());
        plain();
        many();
        bad();
        thread.quit();
    }

    /** The deprecated way; its listener is called by the main thread. */
    @SuppressWarnings("deprecation")
    private void plain() throws InterruptedException {
        CountDownLatch isLost = new CountDownLatch(1);
        AudioManager.OnAudioFocusChangeListener old = change -> {
            say.accept("plain " + change);
            isLost.countDown();
        };
        int granted = manager.requestAudioFocus(old, AudioManager.STREAM_MUSIC, AudioManager.AUDIOFOCUS_GAIN);
        AudioFocusRequest a = request("a", AudioManager.AUDIOFOCUS_GAIN);
        manager.requestAudioFocus(a);
        say.accept("lost " + isLost.await(20, TimeUnit.SECONDS) + " " + granted + " "
                + manager.abandonAudioFocus(old) + " " + manager.abandonAudioFocusRequest(a) + heard());
    }

    /** Requests without end: those beyond the bound fail, and nothing is left of them. */
    private void many() throws InterruptedException {
        int[] outcomes = new int[2];
        List<AudioFocusRequest> all = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            AudioFocusRequest one = request("", AudioManager.AUDIOFOCUS_GAIN_TRANSIENT);
            all.add(one);
            outcomes[manager.requestAudioFocus(one)]++;
        }
        heard();
        all.forEach(manager::abandonAudioFocusRequest);
        String back = heard();
        say.accept("granted " + outcomes[AudioManager.AUDIOFOCUS_REQUEST_GRANTED] + ", failed "
                + outcomes[AudioManager.AUDIOFOCUS_REQUEST_FAILED] + ", told" + back);
        AudioFocusRequest a = request("a", AudioManager.AUDIOFOCUS_GAIN);
        say.accept("after " + manager.requestAudioFocus(a) + " " + manager.abandonAudioFocusRequest(a) + heard());
    }

    /** A listener that throws ends its own thread alone, if its application lets it. */
    private void bad() throws InterruptedException {
        HandlerThread other = new HandlerThread("throws");
        CountDownLatch isThrown = new CountDownLatch(1);
        other.setUncaughtExceptionHandler((it, fault) -> isThrown.countDown());
        other.start();
        AudioFocusRequest bad = new AudioFocusRequest.Builder(AudioManager.AUDIOFOCUS_GAIN)
                .setOnAudioFocusChangeListener(change -> {
                    throw new IllegalStateException("listens badly");
                }, new Handler(other.getLooper())).build();
        manager.requestAudioFocus(bad);
        AudioFocusRequest b = request("b", AudioManager.AUDIOFOCUS_GAIN_TRANSIENT);
        manager.requestAudioFocus(b);
        say.accept("thrown " + isThrown.await(20, TimeUnit.SECONDS));
        AudioFocusRequest a = request("a", AudioManager.AUDIOFOCUS_GAIN);
        say.accept("others hear " + manager.requestAudioFocus(a) + heard());
        manager.abandonAudioFocusRequest(a);
    }

    /** Fixed: as AOSP's service with config_useFixedVolume. */
    void volumes() {
        int music = AudioManager.STREAM_MUSIC;
        say.accept("fixed " + manager.isVolumeFixed() + " " + manager.getMode() + " " + manager.getRingerMode());
        say.accept("volume " + manager.getStreamVolume(music) + " " + manager.getStreamMinVolume(music) + " "
                + manager.getStreamMaxVolume(music) + " " + manager.isStreamMute(music));
        manager.setStreamVolume(music, 3, 0);
        manager.adjustStreamVolume(music, AudioManager.ADJUST_LOWER, 0);
        manager.adjustStreamVolume(music, AudioManager.ADJUST_MUTE, 0);
        say.accept("after " + manager.getStreamVolume(music) + " " + manager.isStreamMute(music));
        StringBuilder all = new StringBuilder();
        for (int stream : new int[] {AudioManager.STREAM_VOICE_CALL, AudioManager.STREAM_RING,
            AudioManager.STREAM_ALARM, AudioManager.STREAM_NOTIFICATION}) {
            all.append(' ').append(manager.getStreamMinVolume(stream)).append('-')
                    .append(manager.getStreamVolume(stream));
        }
        say.accept("others" + all);
        try {
            say.accept("none " + manager.getStreamVolume(99));
        } catch (IllegalArgumentException e) {
            say.accept(e.getMessage());
        }
    }
}
