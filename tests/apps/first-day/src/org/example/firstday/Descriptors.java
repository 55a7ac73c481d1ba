// SPDX-License-Identifier: Apache-2.0
package org.example.firstday;

import android.os.FileObserver;
import android.os.ParcelFileDescriptor;
import android.os.StatFs;
import android.system.Os;
import android.system.OsConstants;
import android.system.StructStat;
import android.system.StructStatVfs;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Files below java.io: by number, as the kernel has them. */
public final class Descriptors extends Day {
    private static final byte[] TEXT = "hello".getBytes(StandardCharsets.UTF_8);
    private static final int PAGE = 4096;

    @Override
    void day() throws Exception {
        File file = new File(getFilesDir(), "file");
        open(file.getPath());
        names(file);
        pairs();
        say("mapped", () -> {
            FileDescriptor memory = Os.memfd_create("memory", 0);
            Os.ftruncate(memory, PAGE);
            long place = Os.mmap(0, PAGE, OsConstants.PROT_READ | OsConstants.PROT_WRITE, OsConstants.MAP_SHARED,
                    memory, 0);
            Os.msync(place, PAGE, OsConstants.MS_SYNC);
            Os.munmap(place, PAGE);
            Os.close(memory);
            return place % PAGE == 0 && place != 0;
        });
        say("space", () -> {
            StatFs space = new StatFs(getFilesDir().getPath());
            return space.getTotalBytes() >= space.getAvailableBytes() && space.getBlockSizeLong() > 0;
        });
        say("no space", () -> new StatFs("/nowhere"));
        observe();
        say("asset", () -> {
            try (InputStream asset = getAssets().open("text.txt")) {
                return asset.read(new byte[0]) + " " + asset.read(new byte[3], 1, 2) + " " + (char) asset.read()
                        + " " + asset.read(new byte[9]) + " " + asset.read(new byte[9]) + " "
                        + asset.read(new byte[0]);
            }
        });
    }

    private static void open(String name) throws Exception {
        FileDescriptor file = Os.open(name, OsConstants.O_RDWR | OsConstants.O_CREAT | OsConstants.O_TRUNC, 0600);
        say("valid", file::valid);
        say("write", () -> Os.write(file, TEXT, 1, 3));
        say("pwrite", () -> Os.pwrite(file, TEXT, 4, 1, 3));
        say("seek", () -> Os.lseek(file, 1, OsConstants.SEEK_SET));
        byte[] bytes = new byte[8];
        say("read", () -> Os.read(file, bytes, 0, 8) + " " + new String(bytes, 0, 3, StandardCharsets.UTF_8));
        say("pread", () -> Os.pread(file, bytes, 0, 1, 0) + " " + (char) bytes[0]);
        say("end", () -> Os.read(file, bytes, 0, 8));
        say("outside", () -> Os.read(file, bytes, 4, 8));
        say("allocate", () -> {
            Os.posix_fallocate(file, 0, 100);
            Os.fsync(file);
            StructStat stat = Os.fstat(file);
            return stat.st_size + " " + Integer.toOctalString(stat.st_mode);
        });
        say("terminal", () -> Os.isatty(file));
        say("flags", () -> Os.fcntlInt(file, OsConstants.F_GETFL, 0) & OsConstants.O_ACCMODE);
        say("copy", () -> {
            FileDescriptor copy = Os.dup(file);
            Os.ftruncate(copy, 2);
            Os.close(copy);
            return copy.valid() + " " + Os.fstat(file).st_size;
        });
        say("stream", () -> {
            Os.lseek(file, 0, OsConstants.SEEK_SET);
            return (char) new FileInputStream(file).read();
        });
        Os.close(file);
        say("closed", file::valid);
        say("closed", () -> Os.read(file, bytes, 0, 8));
        say("nowhere", () -> Os.open("/nowhere/file", OsConstants.O_RDONLY, 0));
    }

    private void names(File file) {
        File link = new File(getFilesDir(), "link");
        say("link", () -> {
            Os.symlink("file", link.getPath());
            return Os.readlink(link.getPath()) + " " + Os.lstat(link.getPath()).st_size + " "
                    + Os.stat(link.getPath()).st_size + " " + new File(Os.realpath(link.getPath())).getName();
        });
        say("renamed", () -> {
            Os.rename(file.getPath(), file.getPath() + "2");
            Os.remove(file.getPath() + "2");
            Os.remove(link.getPath());
            return getFilesDir().list();
        });
        say("system", () -> {
            StructStatVfs system = Os.statvfs(getFilesDir().getPath());
            return system.f_blocks >= system.f_bfree && system.f_namemax >= 255;
        });
    }

    private static void pairs() {
        say("pipe", () -> {
            FileDescriptor[] ends = Os.pipe();
            Os.write(ends[1], TEXT, 0, 5);
            Os.close(ends[1]);
            byte[] bytes = new byte[9];
            String text = Os.read(ends[0], bytes, 0, 9) + " " + Os.read(ends[0], bytes, 0, 9);
            Os.close(ends[0]);
            return text;
        });
        say("sockets", () -> {
            FileDescriptor one = new FileDescriptor();
            FileDescriptor other = new FileDescriptor();
            Os.socketpair(OsConstants.AF_UNIX, OsConstants.SOCK_STREAM, 0, one, other);
            Os.write(one, TEXT, 0, 5);
            int count = Os.read(other, new byte[9], 0, 9);
            Os.close(one);
            Os.close(other);
            return count;
        });
        say("woken reader", () -> {
            ParcelFileDescriptor[] ends = ParcelFileDescriptor.createPipe();
            FileDescriptor reader = ends[0].getFileDescriptor();
            Waiting waiting = new Waiting(() -> Os.read(reader, new byte[9], 0, 9));
            return waiting.outcomeAfter(ends[0]::close);
        });
        say("woken receiver", () -> {
            ParcelFileDescriptor[] ends = ParcelFileDescriptor.createSocketPair();
            FileDescriptor socket = ends[0].getFileDescriptor();
            Waiting waiting = new Waiting(() -> Os.recvfrom(socket, new byte[9], 0, 9, 0, null));
            return waiting.outcomeAfter(ends[0]::close);
        });
    }

    /** A thread that waits in the kernel, and what became of its call. */
    private static final class Waiting extends Thread {
        private final Step call;
        private final CompletableFuture<Integer> number = new CompletableFuture<>();
        private Object outcome;

        Waiting(Step call) {
            this.call = call;
            start();
        }

        @Override
        public void run() {
            number.complete(Os.gettid());
            try {
                outcome = call.run();
            } catch (Exception e) {
                outcome = e;
            }
        }

        interface Closing {
            void close() throws IOException;
        }

        /** Has it closed once the thread waits there, and waits for the thread's end. */
        Object outcomeAfter(Closing closing) throws Exception {
            Path state = Path.of("/proc/self/task/" + number.get() + "/syscall");
            // Elsewhere it waits in a futex, if it waits at all.
            String futex = "202 ";
            for (String now = futex; now.startsWith(futex) || now.startsWith("running");) {
                Thread.sleep(1);
                now = Files.readString(state);
            }
            closing.close();
            join();
            return outcome;
        }
    }

    /** Events come on a thread of their own; each is waited for. */
    private void observe() throws Exception {
        BlockingQueue<String> events = new LinkedBlockingQueue<>();
        int mask = FileObserver.CREATE | FileObserver.CLOSE_WRITE | FileObserver.DELETE;
        FileObserver observer = new FileObserver(getFilesDir(), mask) {
            @Override
            public void onEvent(int event, String path) {
                events.add(Integer.toHexString(event) + " " + path);
            }
        };
        observer.startWatching();
        File file = new File(getFilesDir(), "watched");
        try (FileOutputStream out = new FileOutputStream(file)) {
            out.write(TEXT);
        }
        say("deleted", file::delete);
        for (int count = 0; count < 3; count++) {
            say("event", () -> events.poll(20, TimeUnit.SECONDS));
        }
        observer.stopWatching();
    }
}
