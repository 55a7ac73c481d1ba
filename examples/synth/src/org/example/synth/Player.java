// SPDX-License-Identifier: Apache-2.0
package org.example.synth;

import android.media.AudioAttributes;
import android.media.AudioFormat;
import android.media.AudioTrack;
import java.util.function.Consumer;
import javax.realtime.PriorityParameters;
import javax.realtime.RealtimeThread;

/**
 * Writes an organ's samples into a track, burst by burst, at SCHED_FIFO where that is permitted. A
 * burst allocates nothing. Two bursts lie in the buffer: with 64 frames each a key is heard after
 * 2.67 ms.
 */
final class Player extends RealtimeThread {
    private static final int PRIORITY = 80;
    private static final int BYTES = 2;
    private static final int BURSTS = 2;

    private final Organ organ;
    private final AudioTrack track;
    private final short[] burst;
    /** Chords to be played in order; none for a keyboard, which never ends by itself. */
    private final long[] chords;
    private final int framesOfChord;
    private final Consumer<Player> whenOver;
    private volatile boolean ends;
    private long frames;

    /** What is held on a keyboard. {@code whenOver} hears of the end while there is a track. */
    Player(Organ organ, Consumer<Player> whenOver) {
        this(organ, null, 0, whenOver);
    }

    Player(Organ organ, long[] chords, int framesOfChord, Consumer<Player> whenOver) {
        super(new PriorityParameters(PRIORITY));
        setName("synth");
        this.organ = organ;
        this.chords = chords;
        this.framesOfChord = framesOfChord;
        this.whenOver = whenOver;
        int least = AudioTrack.getMinBufferSize(Organ.RATE, AudioFormat.CHANNEL_OUT_MONO,
                AudioFormat.ENCODING_PCM_16BIT);
        if (least <= 0) {
            throw new IllegalStateException("no device plays at " + Organ.RATE + " Hz; the log says why");
        }
        track = new AudioTrack.Builder()
                .setAudioAttributes(new AudioAttributes.Builder().setUsage(AudioAttributes.USAGE_MEDIA).build())
                .setAudioFormat(new AudioFormat.Builder().setSampleRate(Organ.RATE)
                        .setChannelMask(AudioFormat.CHANNEL_OUT_MONO)
                        .setEncoding(AudioFormat.ENCODING_PCM_16BIT).build())
                .setPerformanceMode(AudioTrack.PERFORMANCE_MODE_LOW_LATENCY)
                .setBufferSizeInBytes(least)
                .build();
        burst = new short[least / BYTES / BURSTS];
    }

    @Override
    public void run() {
        track.play();
        if (chords == null) {
            while (!ends && write(burst.length)) {
                frames += burst.length;
            }
        } else {
            tune();
        }
        track.stop();
        whenOver.accept(this);
        track.release();
    }

    /** Each chord has exactly its frames: the last burst of one may be short. */
    private void tune() {
        for (long chord : chords) {
            organ.hold(chord);
            for (int left = framesOfChord; left > 0 && !ends;) {
                int count = Math.min(left, burst.length);
                if (!write(count)) {
                    return;
                }
                frames += count;
                left -= count;
            }
        }
    }

    private boolean write(int count) {
        organ.fill(burst, count);
        return track.write(burst, 0, count) == count;
    }

    /** Ends with the present burst. */
    void end() {
        ends = true;
    }

    long frames() {
        return frames;
    }

    /** For who hears of the end: behind it there is no track. */
    int underruns() {
        return track.getUnderrunCount();
    }
}
