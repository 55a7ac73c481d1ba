// SPDX-License-Identifier: Apache-2.0

import android.os.Process;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** What the JDK's tools do to ask a machine, done by the machine itself. */
final class Tool {
    private static final int ARGUMENTS = 3;
    private static final int QUIT = 3;
    private static final long PID = ProcessHandle.current().pid();
    private static final Path SOCKET = Path.of("/tmp/.java_pid" + PID);
    private static final Path WISH = Path.of("/tmp/.attach_pid" + PID);

    private Tool() {}

    /** A thread dump on standard output. */
    static void dump() {
        Process.sendSignal((int) PID, QUIT);
    }

    /** A request, and all of its answer. */
    static void ask(String... words) throws IOException, InterruptedException {
        open();
        StringBuilder request = new StringBuilder("1\0");
        for (int index = 0; index <= ARGUMENTS; index++) {
            request.append(index < words.length ? words[index] : "").append('\0');
        }
        try (SocketChannel channel = SocketChannel.open(StandardProtocolFamily.UNIX)) {
            channel.connect(UnixDomainSocketAddress.of(SOCKET));
            channel.write(ByteBuffer.wrap(request.toString().getBytes(StandardCharsets.UTF_8)));
            ByteBuffer answer = ByteBuffer.allocate(1 << 14);
            while (channel.read(answer) >= 0) {
                answer.clear();
            }
        }
    }

    /** Has the machine listen. */
    private static void open() throws IOException, InterruptedException {
        if (Files.exists(SOCKET)) {
            return;
        }
        Files.createFile(WISH);
        dump();
        while (!Files.exists(SOCKET)) {
            Thread.sleep(1);
        }
        Files.delete(WISH);
    }
}
