// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.OutputStream;
import javax.tools.JavaCompiler;
import javax.tools.ToolProvider;

/** A javac that stays: each line of its input is a directory and a source, answered by a word. */
public final class Compile {
    private Compile() {}

    public static void main(String[] ignored) throws Exception {
        JavaCompiler javac = ToolProvider.getSystemJavaCompiler();
        OutputStream nowhere = OutputStream.nullOutputStream();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split("\t");
            String[] arguments = {"-nowarn", "-cp", words[0], "-d", words[0], words[1]};
            boolean isDone = javac.run(null, nowhere, nowhere, arguments) == 0;
            System.out.println(isDone ? "compiled" : "refused");
        }
    }
}
