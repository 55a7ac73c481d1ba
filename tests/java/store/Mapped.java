// SPDX-License-Identifier: Apache-2.0

import java.nio.file.Files;
import java.nio.file.Path;

/** Shows the mappings that code may run in, beside those of libraries. */
final class Mapped {
    public static void main(String[] args) throws Exception {
        for (String line : Files.readAllLines(Path.of("/proc/self/maps"))) {
            if (line.split(" ")[1].contains("x") && !line.contains(".so") && !line.endsWith("]") && !line.endsWith("/java")) {
                System.out.println(line);
            }
        }
    }
}
