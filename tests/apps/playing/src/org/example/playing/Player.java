// SPDX-License-Identifier: Apache-2.0
package org.example.playing;

import android.app.Service;
import android.content.Intent;
import android.media.AudioAttributes;
import android.media.AudioFormat;
import android.media.AudioTrack;
import android.os.IBinder;
import android.util.Log;

/** Plays numbered samples in each way that AudioTrack takes them, and says what it answered. */
public final class Player extends Service {
    private static final String TAG = "Playing";
    private static final int COUNT = 12_000;

    @Override
    public IBinder onBind(Intent intent) {
        return null;
    }

    @Override
    public int onStartCommand(Intent intent, int flags, int startId) {
        new Thread(this::play, "player").start();
        return START_NOT_STICKY;
    }

    private static void say(String text) {
        Log.i(TAG, text);
    }

    private static AudioTrack track(int encoding, int mode) {
        AudioFormat format = new AudioFormat.Builder().setSampleRate(48_000).setEncoding(encoding)
                .setChannelMask(AudioFormat.CHANNEL_OUT_MONO).build();
        AudioAttributes attributes = new AudioAttributes.Builder().setUsage(AudioAttributes.USAGE_MEDIA).build();
        return new AudioTrack(attributes, format, 2048, mode, 0);
    }

    private void play() {
        try {
            script();
        } catch (RuntimeException | LinkageError e) {
            say("failed " + e);
        }
        say("done");
        stopSelf();
    }

    private static void script() {
        say("least " + AudioTrack.getMinBufferSize(48_000, AudioFormat.CHANNEL_OUT_STEREO,
                AudioFormat.ENCODING_PCM_16BIT));
        AudioTrack track;
        try {
            track = track(AudioFormat.ENCODING_PCM_16BIT, AudioTrack.MODE_STREAM);
        } catch (IllegalArgumentException e) {
            say("no track");
            return;
        }
        say("state " + track.getState() + " " + track.getPlayState());
        if (track.getState() != AudioTrack.STATE_INITIALIZED) {
            say("write " + track.write(new short[4], 0, 4));
            return;
        }
        say("frames " + track.getBufferSizeInFrames() + " " + track.getBufferCapacityInFrames());
        short[] samples = new short[COUNT];
        for (int i = 0; i < COUNT; i++) {
            samples[i] = (short) (i * 7);
        }
        // It stands, so what fits is taken and nothing waits.
        int first = track.write(samples, 0, COUNT);
        say("standing " + first + " " + track.getPlaybackHeadPosition());
        say("full " + track.write(samples, first, COUNT - first, AudioTrack.WRITE_NON_BLOCKING));
        track.play();
        say("playing " + track.getPlayState());
        say("rest " + (track.write(samples, first, COUNT - first) == COUNT - first));
        byte[] bytes = {1, 2, 3, 4, 5};
        say("whole frames " + track.write(bytes, 0, 5));
        say("outside " + track.write(samples, COUNT, 1));
        track.stop();
        say("stopped " + track.getPlayState() + " " + track.getPlaybackHeadPosition());
        track.release();
        say("released " + track.getState() + " " + track.write(samples, 0, 1));
        try {
            track(AudioFormat.ENCODING_PCM_16BIT, AudioTrack.MODE_STATIC);
        } catch (UnsupportedOperationException e) {
            say(e.getMessage());
        }
    }
}
