// SPDX-License-Identifier: Apache-2.0
package org.example.firstday;

import android.content.res.AssetFileDescriptor;
import android.os.ParcelFileDescriptor;
import android.system.Os;
import android.system.OsConstants;
import android.system.StructPollfd;
import android.system.StructTimeval;
import android.system.UnixSocketAddress;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** Connections and direct buffers below java.net, and descriptors that are handed on. */
public final class Sockets extends Day {
    private static final byte[] TEXT = "hello".getBytes(StandardCharsets.UTF_8);

    @Override
    void day() throws Exception {
        // As on Android: the main thread must not wait for the network.
        say("main thread", () -> connectTo(1));
        elsewhere(Sockets::connected);
        elsewhere(Sockets::datagrams);
        elsewhere(Sockets::local);
        buffers();
        handed();
        say("asset", () -> {
            try (AssetFileDescriptor asset = getAssets().openFd("stored.png")) {
                byte[] bytes = new byte[6];
                int count = asset.createInputStream().read(bytes);
                return asset.getLength() + " " + (asset.getStartOffset() > 0) + " " + count + " "
                        + new String(bytes, StandardCharsets.UTF_8) + " " + asset.getFileDescriptor().valid();
            }
        });
        say("compressed", () -> getAssets().openFd("long.txt"));
        say("no asset", () -> getAssets().openFd("nothing"));
    }

    private static String connectTo(int port) throws Exception {
        FileDescriptor socket = Os.socket(OsConstants.AF_INET, OsConstants.SOCK_STREAM, 0);
        try {
            Os.connect(socket, InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), port);
            return "connected";
        } finally {
            Os.close(socket);
        }
    }

    private static void connected() {
        say("tcp", () -> {
            InetAddress here = InetAddress.getByAddress(new byte[] {127, 0, 0, 1});
            FileDescriptor server = Os.socket(OsConstants.AF_INET, OsConstants.SOCK_STREAM, 0);
            Os.bind(server, here, 0);
            Os.listen(server, 1);
            InetSocketAddress place = (InetSocketAddress) Os.getsockname(server);
            FileDescriptor client = Os.socket(OsConstants.AF_INET, OsConstants.SOCK_STREAM, 0);
            Os.connect(client, here, place.getPort());
            InetSocketAddress from = new InetSocketAddress(0);
            FileDescriptor peer = Os.accept(server, from);
            Os.write(client, TEXT, 0, 5);
            StructPollfd wait = new StructPollfd();
            wait.fd = peer;
            wait.events = (short) OsConstants.POLLIN;
            int ready = Os.poll(new StructPollfd[] {wait}, 10_000);
            byte[] bytes = new byte[9];
            int count = Os.read(peer, bytes, 0, 9);
            boolean isSame = ((InetSocketAddress) Os.getpeername(peer)).equals(Os.getsockname(client));
            Os.shutdown(client, OsConstants.SHUT_WR);
            int end = Os.read(peer, bytes, 0, 9);
            String text = place.getAddress().getHostAddress() + " " + ready + " " + wait.revents + " " + count + " "
                    + isSame + " " + end + " " + (from.getPort() > 0);
            for (FileDescriptor each : new FileDescriptor[] {server, client, peer}) {
                Os.close(each);
            }
            return text;
        });
        say("options", () -> {
            FileDescriptor socket = Os.socket(OsConstants.AF_INET, OsConstants.SOCK_STREAM, 0);
            Os.setsockoptInt(socket, OsConstants.SOL_SOCKET, OsConstants.SO_REUSEADDR, 1);
            Os.setsockoptTimeval(socket, OsConstants.SOL_SOCKET, OsConstants.SO_RCVTIMEO,
                    StructTimeval.fromMillis(1500));
            int reuse = Os.getsockoptInt(socket, OsConstants.SOL_SOCKET, OsConstants.SO_REUSEADDR);
            long wait = Os.getsockoptTimeval(socket, OsConstants.SOL_SOCKET, OsConstants.SO_RCVTIMEO).toMillis();
            Os.close(socket);
            return reuse + " " + wait;
        });
        say("refused", () -> connectTo(1));
        say("no socket", () -> Os.socket(99, 99, 99));
    }

    private static void local() {
        say("unix", () -> {
            FileDescriptor server = Os.socket(OsConstants.AF_UNIX, OsConstants.SOCK_STREAM, 0);
            UnixSocketAddress name = UnixSocketAddress.createAbstract("first-day-" + Os.getpid());
            Os.bind(server, name);
            Os.listen(server, 1);
            FileDescriptor client = Os.socket(OsConstants.AF_UNIX, OsConstants.SOCK_STREAM, 0);
            Os.connect(client, name);
            boolean isSame = Os.getsockname(server).equals(name);
            Os.close(client);
            Os.close(server);
            return isSame;
        });
    }

    private static void datagrams() {
        say("udp", () -> {
            InetAddress here = Inet4Address.getByAddress(new byte[] {127, 0, 0, 1});
            FileDescriptor receiver = Os.socket(OsConstants.AF_INET, OsConstants.SOCK_DGRAM, 0);
            Os.bind(receiver, new InetSocketAddress(here, 0));
            int port = ((InetSocketAddress) Os.getsockname(receiver)).getPort();
            FileDescriptor sender = Os.socket(OsConstants.AF_INET, OsConstants.SOCK_DGRAM, 0);
            int sent = Os.sendto(sender, TEXT, 1, 3, 0, here, port);
            byte[] bytes = new byte[9];
            InetSocketAddress from = new InetSocketAddress(0);
            int count = Os.recvfrom(receiver, bytes, 2, 7, 0, from);
            Os.close(sender);
            Os.close(receiver);
            return sent + " " + count + " " + new String(bytes, 2, 3, StandardCharsets.UTF_8) + " "
                    + from.getAddress().getHostAddress();
        });
        say("ipv6", () -> {
            InetAddress here = InetAddress.getByName("::1");
            if (NetworkInterface.getByInetAddress(here) == null) {
                return here.getHostAddress();
            }
            FileDescriptor socket = Os.socket(OsConstants.AF_INET6, OsConstants.SOCK_DGRAM, 0);
            Os.bind(socket, here, 0);
            String text = ((InetSocketAddress) Os.getsockname(socket)).getAddress().getHostAddress();
            Os.close(socket);
            return text;
        });
    }

    private void buffers() {
        say("direct", () -> {
            File file = new File(getFilesDir(), "direct");
            FileDescriptor opened = Os.open(file.getPath(), OsConstants.O_RDWR | OsConstants.O_CREAT, 0600);
            ByteBuffer out = ByteBuffer.allocateDirect(8);
            out.put(TEXT).flip().position(1);
            int written = Os.write(opened, out);
            Os.lseek(opened, 0, OsConstants.SEEK_SET);
            ByteBuffer in = ByteBuffer.allocateDirect(8);
            in.position(2);
            int count = Os.read(opened, in);
            String text = written + " " + out.position() + " " + count + " " + in.position() + " " + (char) in.get(2);
            int again = Os.pread(opened, in, 3);
            Os.pwrite(opened, ByteBuffer.wrap(TEXT), 0);
            long size = Os.fstat(opened).st_size;
            Os.close(opened);
            return text + " " + again + " " + size;
        });
        say("copied", () -> {
            FileDescriptor[] ends = Os.pipe();
            int number = Os.fcntlInt(ends[1], OsConstants.F_DUPFD, 100);
            FileDescriptor copy = Os.dup2(ends[1], number);
            Os.write(copy, TEXT, 0, 5);
            Os.close(copy);
            Os.close(ends[1]);
            int count = Os.read(ends[0], new byte[9], 0, 9);
            int end = Os.read(ends[0], new byte[9], 0, 9);
            Os.close(ends[0]);
            return count + " " + end;
        });
    }

    private void handed() throws Exception {
        File file = new File(getFilesDir(), "handed");
        say("parcel", () -> {
            try (ParcelFileDescriptor own = ParcelFileDescriptor.open(file,
                    ParcelFileDescriptor.parseMode("rwt"))) {
                Os.write(own.getFileDescriptor(), TEXT, 0, 5);
                ParcelFileDescriptor copy = own.dup();
                copy.close();
                return own.getStatSize() + " " + (own.getFd() > 2) + " " + own.getFileDescriptor().valid() + " "
                        + copy.getFileDescriptor().valid();
            }
        });
        say("streams", () -> {
            ParcelFileDescriptor[] ends = ParcelFileDescriptor.createPipe();
            try (ParcelFileDescriptor.AutoCloseOutputStream out =
                    new ParcelFileDescriptor.AutoCloseOutputStream(ends[1])) {
                out.write(TEXT);
            }
            try (ParcelFileDescriptor.AutoCloseInputStream in =
                    new ParcelFileDescriptor.AutoCloseInputStream(ends[0])) {
                byte[] bytes = new byte[9];
                return in.read(bytes) + " " + in.read(bytes);
            }
        });
        say("closed", () -> {
            ParcelFileDescriptor closed = ParcelFileDescriptor.open(file, ParcelFileDescriptor.MODE_READ_ONLY);
            closed.close();
            return closed.getFd();
        });
        say("detached", () -> {
            int number = ParcelFileDescriptor.open(file, ParcelFileDescriptor.MODE_READ_ONLY).detachFd();
            try (ParcelFileDescriptor adopted = ParcelFileDescriptor.adoptFd(number);
                    FileInputStream in = new FileInputStream(adopted.getFileDescriptor())) {
                return (char) in.read();
            }
        });
        say("reliable", () -> {
            ParcelFileDescriptor[] ends = ParcelFileDescriptor.createReliablePipe();
            ends[1].closeWithError("broken");
            try {
                ends[0].checkError();
                return "none";
            } finally {
                ends[0].close();
            }
        });
        say("resolved", () -> {
            try (ParcelFileDescriptor opened = getContentResolver()
                    .openFileDescriptor(android.net.Uri.fromFile(file), "r")) {
                return opened.getStatSize();
            }
        });
        say("no file", () -> ParcelFileDescriptor.open(new File("/nowhere/file"), ParcelFileDescriptor.MODE_READ_ONLY));
    }
}
