// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.nio.channels.SocketChannel;

/** A writer to one that has gone gets an exception, and goes on. */
public class Gone {
    interface Writer {
        void write() throws IOException;
    }

    /** The first write may still be taken, for all that the writer knows. */
    private static void writeOn(String name, Writer writer) throws InterruptedException {
        try {
            for (int i = 0; i < 500; i++) {
                writer.write();
                Thread.sleep(10);
            }
            System.out.println(name + ": nobody minds");
        } catch (IOException e) {
            System.out.println(name + ": " + e.getMessage());
        }
    }

    public static void main(String[] args) throws Exception {
        try (ServerSocket server = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
                Socket socket = new Socket(server.getInetAddress(), server.getLocalPort())) {
            server.accept().close();
            // The end has come here: a write before it would meet a reset instead.
            socket.getInputStream().read();
            OutputStream out = socket.getOutputStream();
            writeOn("socket", () -> out.write(1));
            try (SocketChannel channel = SocketChannel.open(server.getLocalSocketAddress())) {
                server.accept().close();
                channel.read(ByteBuffer.allocate(1));
                writeOn("channel", () -> channel.write(ByteBuffer.allocate(10)));
            }
        }
        Pipe pipe = Pipe.open();
        pipe.source().close();
        writeOn("pipe", () -> pipe.sink().write(ByteBuffer.allocate(10)));
        Process process = new ProcessBuilder("sh", "-c", "exec <&-; echo closed; sleep 10").start();
        process.getInputStream().read();
        OutputStream input = process.getOutputStream();
        writeOn("process", () -> {
            input.write(1);
            input.flush();
        });
        // What Java starts dies of it as ever: 128 and the signal's number.
        process.destroyForcibly();
        Process other = new ProcessBuilder("sh", "-c", "kill -PIPE $$; echo alive").start();
        System.out.println("child: " + other.waitFor());
    }
}
