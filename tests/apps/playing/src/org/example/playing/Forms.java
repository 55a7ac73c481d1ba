// SPDX-License-Identifier: Apache-2.0
package org.example.playing;

import android.media.AudioAttributes;
import android.media.AudioFormat;
import android.media.AudioManager;
import android.media.AudioRecord;
import android.media.AudioTrack;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.function.Consumer;

/** Other forms of samples, pauses, and devices that go away. */
final class Forms {
    private static final int COUNT = 3_000;
    /** Whole frames of each form. */
    private static final int BYTES = 12_288;

    private final Consumer<String> say;

    Forms(Consumer<String> say) {
        this.say = say;
    }

    private static AudioTrack track(int encoding) {
        return new AudioTrack.Builder()
                .setAudioAttributes(new AudioAttributes.Builder().setUsage(AudioAttributes.USAGE_MEDIA).build())
                .setAudioFormat(new AudioFormat.Builder().setSampleRate(48_000).setEncoding(encoding)
                        .setChannelMask(AudioFormat.CHANNEL_OUT_MONO).build())
                .setBufferSizeInBytes(BYTES).build();
    }

    private static float value(int i) {
        return (i - COUNT / 2) / 2_048f;
    }

    /** Each is said by what the file should hold of it: see the test. */
    void play(int encoding) {
        AudioTrack track = track(encoding);
        say.accept("format " + track.getAudioFormat() + " " + track.getState());
        track.play();
        int size = encoding == AudioFormat.ENCODING_PCM_24BIT_PACKED ? 3 : 4;
        if (encoding == AudioFormat.ENCODING_PCM_FLOAT) {
            float[] half = new float[COUNT / 2];
            for (int i = 0; i < half.length; i++) {
                half[i] = value(i);
            }
            say.accept("array " + track.write(half, 0, half.length, AudioTrack.WRITE_BLOCKING));
        } else {
            byte[] bytes = new byte[size * COUNT / 2];
            fill(ByteBuffer.wrap(bytes), encoding, 0);
            say.accept("array " + track.write(bytes, 0, bytes.length) / size);
        }
        ByteBuffer direct = ByteBuffer.allocateDirect(size * COUNT / 2);
        fill(direct, encoding, COUNT / 2);
        direct.clear();
        say.accept("direct " + track.write(direct, direct.remaining(), AudioTrack.WRITE_BLOCKING) / size);
        track.stop();
        track.release();
    }

    /** Half of the samples, from the first on. */
    private static void fill(ByteBuffer buffer, int encoding, int first) {
        buffer.order(ByteOrder.LITTLE_ENDIAN);
        for (int i = first; i < first + COUNT / 2; i++) {
            switch (encoding) {
                case AudioFormat.ENCODING_PCM_FLOAT -> buffer.putFloat(value(i));
                case AudioFormat.ENCODING_PCM_32BIT -> buffer.putInt(i * 1_000_003);
                default -> {
                    int sample = i * 5_003;
                    buffer.putShort((short) sample).put((byte) (sample >> 16));
                }
            }
        }
    }

    /** A pause loses nothing of what was written, and a flush all that was not played. */
    @SuppressWarnings("deprecation") // By a kind of stream, as old applications make tracks.
    void pause() throws InterruptedException {
        AudioTrack track = new AudioTrack(AudioManager.STREAM_MUSIC, 48_000, AudioFormat.CHANNEL_OUT_MONO,
                AudioFormat.ENCODING_PCM_16BIT, 8_192, AudioTrack.MODE_STREAM);
        short[] samples = new short[12_000];
        for (int i = 0; i < samples.length; i++) {
            samples[i] = (short) (i * 7);
        }
        track.play();
        say.accept("first " + track.write(samples, 0, 6_000));
        track.pause();
        int head = track.getPlaybackHeadPosition();
        say.accept("paused " + track.getPlayState() + " " + (0 < head && head <= 6_000));
        Thread.sleep(30);
        say.accept("stands " + (track.getPlaybackHeadPosition() == head));
        track.play();
        say.accept("goes on " + track.getPlayState() + " " + track.write(samples, 6_000, 6_000));
        track.stop();
        track.release();
    }

    /** The samples of a file in floats, until it ends. */
    void record() {
        AudioRecord record = new AudioRecord.Builder().setBufferSizeInBytes(8_192)
                .setAudioFormat(new AudioFormat.Builder().setSampleRate(48_000)
                        .setChannelMask(AudioFormat.CHANNEL_IN_MONO)
                        .setEncoding(AudioFormat.ENCODING_PCM_FLOAT).build())
                .build();
        record.startRecording();
        float[] floats = new float[12_000];
        int count = record.read(floats, 0, floats.length, AudioRecord.READ_BLOCKING);
        boolean isSame = true;
        for (int i = 0; i < count; i++) {
            isSame &= floats[i] == (short) (i * 7) / 32_768f;
        }
        say.accept("floats " + count + " " + isSame + " "
                + record.read(floats, 0, 1, AudioRecord.READ_BLOCKING));
        record.release();
    }

    /** Plays until the device is gone. */
    void lose() {
        AudioTrack track = track(AudioFormat.ENCODING_PCM_16BIT);
        say.accept("plays " + track.getState());
        track.play();
        short[] burst = new short[512];
        int written = burst.length;
        while (written == burst.length) {
            written = track.write(burst, 0, burst.length);
        }
        say.accept("ended " + written + " " + track.write(burst, 0, burst.length));
        track.stop();
        track.release();
        say.accept("released " + track.getState());
    }
}
