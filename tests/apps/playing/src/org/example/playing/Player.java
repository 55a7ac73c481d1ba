// SPDX-License-Identifier: Apache-2.0
package org.example.playing;

import android.app.Service;
import android.content.Intent;
import android.media.AudioAttributes;
import android.media.AudioFormat;
import android.media.AudioManager;
import android.media.AudioRecord;
import android.media.AudioTimestamp;
import android.media.AudioTrack;
import android.os.Handler;
import android.os.HandlerThread;
import android.os.IBinder;
import android.os.PerformanceHintManager;
import android.os.Process;
import android.util.Log;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

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
        String part = intent.getStringExtra("part");
        new Thread(() -> play(part), "player").start();
        return START_NOT_STICKY;
    }

    private static void say(String text) {
        Log.i(TAG, text);
    }

    private static AudioTrack track(int encoding, int mode, int bytes) {
        AudioFormat format = new AudioFormat.Builder().setSampleRate(48_000).setEncoding(encoding)
                .setChannelMask(AudioFormat.CHANNEL_OUT_MONO).build();
        AudioAttributes attributes = new AudioAttributes.Builder().setUsage(AudioAttributes.USAGE_MEDIA).build();
        return new AudioTrack(attributes, format, bytes, mode, 0);
    }

    private void play(String part) {
        try {
            switch (part) {
                case "static" -> still();
                case "buffers" -> buffers();
                case "marks" -> marks();
                case "record" -> record();
                case "hints" -> hints();
                case "periodic" -> say(Periodic.run(getSystemService(PerformanceHintManager.class)));
                case "focus" -> new Focus(getSystemService(AudioManager.class), Player::say).run();
                case "volumes" -> new Focus(getSystemService(AudioManager.class), Player::say).volumes();
                case "floats" -> new Forms(Player::say).play(AudioFormat.ENCODING_PCM_FLOAT);
                case "24" -> new Forms(Player::say).play(AudioFormat.ENCODING_PCM_24BIT_PACKED);
                case "32" -> new Forms(Player::say).play(AudioFormat.ENCODING_PCM_32BIT);
                case "pause" -> new Forms(Player::say).pause();
                case "record-floats" -> new Forms(Player::say).record();
                case "lose" -> new Forms(Player::say).lose();
                default -> stream();
            }
        } catch (RuntimeException | InterruptedException | IOException | LinkageError e) {
            say("failed " + e);
        }
        say("done");
        stopSelf();
    }

    private static short[] samples() {
        short[] samples = new short[COUNT];
        for (int i = 0; i < COUNT; i++) {
            samples[i] = (short) (i * 7);
        }
        return samples;
    }

    private void stream() {
        AudioManager manager = getSystemService(AudioManager.class);
        say("device " + AudioTrack.getNativeOutputSampleRate(AudioManager.STREAM_MUSIC) + " "
                + manager.getProperty(AudioManager.PROPERTY_OUTPUT_SAMPLE_RATE) + " "
                + manager.getProperty(AudioManager.PROPERTY_OUTPUT_FRAMES_PER_BUFFER));
        say("least " + AudioTrack.getMinBufferSize(48_000, AudioFormat.CHANNEL_OUT_STEREO,
                AudioFormat.ENCODING_PCM_16BIT));
        AudioTrack track = track(AudioFormat.ENCODING_PCM_16BIT, AudioTrack.MODE_STREAM, 2048);
        say("state " + track.getState() + " " + track.getPlayState());
        if (track.getState() != AudioTrack.STATE_INITIALIZED) {
            say("write " + track.write(new short[4], 0, 4));
            return;
        }
        say("frames " + track.getBufferSizeInFrames() + " " + track.getBufferCapacityInFrames());
        short[] samples = samples();
        // It stands, so what fits is taken and nothing waits.
        int first = track.write(samples, 0, COUNT);
        say("standing " + first + " " + track.getPlaybackHeadPosition() + " " + manager.isMusicActive());
        say("full " + track.write(samples, first, COUNT - first, AudioTrack.WRITE_NON_BLOCKING));
        track.play();
        say("playing " + track.getPlayState() + " " + manager.isMusicActive());
        say("rest " + (track.write(samples, first, COUNT - first) == COUNT - first));
        byte[] bytes = {1, 2, 3, 4, 5};
        say("whole frames " + track.write(bytes, 0, 5));
        say("outside " + track.write(samples, COUNT, 1));
        track.stop();
        say("stopped " + track.getPlayState() + " " + track.getPlaybackHeadPosition());
        track.release();
        say("released " + track.getState() + " " + track.write(samples, 0, 1));
    }

    private static void refused(Runnable call) {
        try {
            call.run();
            say("taken");
        } catch (UnsupportedOperationException e) {
            say(e.getMessage());
        }
    }

    /** Heap and direct buffers, and a volume of a half. */
    private static void buffers() {
        AudioTrack track = track(AudioFormat.ENCODING_PCM_16BIT, AudioTrack.MODE_STREAM, 2048);
        track.play();
        short[] samples = samples();
        ByteBuffer heap = ByteBuffer.allocate(2 * COUNT + 6).order(ByteOrder.LITTLE_ENDIAN);
        ByteBuffer direct = ByteBuffer.allocateDirect(2 * COUNT).order(ByteOrder.LITTLE_ENDIAN);
        heap.position(6);
        heap.slice().order(ByteOrder.LITTLE_ENDIAN).asShortBuffer().put(samples);
        direct.asShortBuffer().put(samples);
        say("heap " + track.write(heap, 2 * COUNT, AudioTrack.WRITE_BLOCKING) + " " + heap.remaining());
        say("direct " + track.write(direct, 2 * COUNT, AudioTrack.WRITE_BLOCKING) + " " + direct.remaining());
        say("read-only " + track.write(direct.rewind().limit(4).asReadOnlyBuffer(), 4, AudioTrack.WRITE_BLOCKING));
        say("volume " + track.setVolume(0.5f) + " " + track.write(new short[] {1000, -1000}, 0, 2));
        refused(() -> track.setPlaybackRate(24_000));
        say("rate " + track.setPlaybackRate(48_000) + " loop " + track.setLoopPoints(0, 64, 1));
        track.stop();
        track.release();
    }

    /** The same buffer twice, with a loop in it the first time. */
    private static void still() throws InterruptedException {
        AudioTrack track = track(AudioFormat.ENCODING_PCM_16BIT, AudioTrack.MODE_STATIC, 2 * 640);
        say("state " + track.getState() + " " + track.getBufferSizeInFrames());
        say("write " + track.write(samples(), 0, 700) + " " + track.getState());
        say("loops " + track.setLoopPoints(64, 320, 2) + " " + track.setLoopPoints(0, 641, 1) + " "
                + track.setLoopPoints(0, 8, 1));
        track.play();
        say("looped " + await(track, 640 + 2 * 256));
        say("playing " + track.setLoopPoints(0, 64, 1) + " " + track.setPlaybackHeadPosition(0));
        track.stop();
        say("again " + track.reloadStaticData() + " " + track.setPlaybackHeadPosition(320) + " "
                + track.getPlaybackHeadPosition());
        track.play();
        say("half " + await(track, 320));
        track.stop();
        track.release();
    }

    /** Waits for the head; says where it is then. */
    private static int await(AudioTrack track, int frames) throws InterruptedException {
        for (int i = 0; i < 1_000 && track.getPlaybackHeadPosition() < frames; i++) {
            Thread.sleep(5);
        }
        return track.getPlaybackHeadPosition();
    }

    private static void marks() throws InterruptedException {
        AudioTrack track = track(AudioFormat.ENCODING_PCM_16BIT, AudioTrack.MODE_STREAM, 2048);
        HandlerThread thread = new HandlerThread("marks");
        thread.start();
        CountDownLatch marker = new CountDownLatch(1);
        CountDownLatch periods = new CountDownLatch(COUNT / 3_000);
        track.setPlaybackPositionUpdateListener(new AudioTrack.OnPlaybackPositionUpdateListener() {
            @Override
            public void onMarkerReached(AudioTrack at) {
                say("marker " + (at.getPlaybackHeadPosition() >= 2_000) + " " + marker.getCount());
                marker.countDown();
            }

            @Override
            public void onPeriodicNotification(AudioTrack at) {
                periods.countDown();
            }
        }, new Handler(thread.getLooper()));
        say("set " + track.setNotificationMarkerPosition(2_000) + " " + track.setPositionNotificationPeriod(3_000)
                + " " + track.getNotificationMarkerPosition() + " " + track.getPositionNotificationPeriod());
        say("before " + track.getTimestamp(new AudioTimestamp()));
        track.play();
        track.write(samples(), 0, COUNT);
        AudioTimestamp stamp = new AudioTimestamp();
        say("stamp " + track.getTimestamp(stamp) + " " + (COUNT - 1_100 <= stamp.framePosition)
                + " " + (stamp.framePosition <= COUNT) + " " + (stamp.nanoTime <= System.nanoTime()));
        say("heard " + marker.await(20, TimeUnit.SECONDS) + " " + periods.await(20, TimeUnit.SECONDS));
        track.stop();
        track.release();
        thread.quit();
    }

    /** The file's samples in each way that AudioRecord gives them, until it ends. */
    private static void record() {
        int rate = 48_000;
        say("least " + AudioRecord.getMinBufferSize(rate, AudioFormat.CHANNEL_IN_MONO,
                AudioFormat.ENCODING_PCM_16BIT));
        AudioRecord record = new AudioRecord.Builder().setBufferSizeInBytes(4_096)
                .setAudioFormat(new AudioFormat.Builder().setSampleRate(rate)
                        .setChannelMask(AudioFormat.CHANNEL_IN_MONO)
                        .setEncoding(AudioFormat.ENCODING_PCM_16BIT).build())
                .build();
        say("state " + record.getState() + " " + record.getRecordingState());
        short[] shorts = new short[COUNT];
        say("standing " + record.read(shorts, 0, 64));
        record.startRecording();
        say("recording " + record.getRecordingState() + " " + record.read(shorts, 3, 5_000));
        byte[] bytes = new byte[2 * 5_000];
        say("bytes " + record.read(bytes, 0, bytes.length));
        ByteBuffer direct = ByteBuffer.allocateDirect(2 * 1_000).order(ByteOrder.LITTLE_ENDIAN);
        say("direct " + record.read(direct, 2 * 1_000));
        ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).asShortBuffer().get(shorts, 5_003, 5_000);
        direct.asShortBuffer().get(shorts, 10_003, 1_000);
        boolean isSame = true;
        short[] sent = samples();
        for (int i = 0; i < 11_000; i++) {
            isSame &= shorts[i + 3] == sent[i];
        }
        say("same " + isSame);
        say("rest " + record.read(shorts, 0, COUNT) + " " + record.read(shorts, 0, 1));
        record.stop();
        record.release();
        say("released " + record.getState());
    }

    /** The number of the kernel's policy for this thread: 6 is SCHED_DEADLINE. */
    static String scheduling() throws IOException {
        String stat = Files.readString(Path.of("/proc/thread-self/stat"));
        String[] words = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        return words[38];
    }

    /** Nanoseconds that are left of what is reserved for this thread in each period. */
    static long runtime() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/thread-self/sched"))) {
            if (line.startsWith("dl.runtime")) {
                return Long.parseLong(line.substring(line.indexOf(':') + 1).trim());
            }
        }
        return 0;
    }

    static void burn(long millis) {
        long due = System.nanoTime() + millis * 1_000_000;
        while (System.nanoTime() < due) {
            Thread.onSpinWait();
        }
    }

    private void hints() throws InterruptedException, IOException {
        PerformanceHintManager manager = getSystemService(PerformanceHintManager.class);
        say("rate " + manager.getPreferredUpdateRateNanos());
        try {
            manager.createHintSession(new int[] {1}, 10_000_000);
        } catch (SecurityException e) {
            say(e.getMessage());
        }
        String before = scheduling();
        PerformanceHintManager.Session session =
                manager.createHintSession(new int[] {Process.myTid()}, 20_000_000);
        if (session == null) {
            say("no session " + scheduling().equals(before));
            return;
        }
        say("session " + scheduling() + " " + (9_400_000 < runtime()));
        for (int i = 0; i < 20; i++) {
            burn(2);
            session.reportActualWorkDuration(2_000_000);
            Thread.sleep(18);
        }
        say("learned " + (100_000 < runtime()) + " " + (runtime() < 9_400_000));
        session.updateTargetWorkDuration(40_000_000);
        burn(2);
        session.reportActualWorkDuration(2_000_000);
        say("updated " + scheduling());
        session.close();
        say("closed " + scheduling().equals(before));
    }
}
