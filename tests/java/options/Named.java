// SPDX-License-Identifier: Apache-2.0

import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Says its process's number, and whether what its code lies in is to perf no file: a mapping's name
 * is its sixth word.
 */
class Named {
    public static void main(String[] args) throws Exception {
        boolean isAnonymous = Files.readAllLines(Path.of("/proc/self/maps")).stream()
                .map(line -> line.split(" +"))
                .filter(words -> words[1].equals("r-xs"))
                .allMatch(words -> words[5].startsWith("/dev/zero"));
        System.out.println(ProcessHandle.current().pid() + " " + isAnonymous);
    }
}
