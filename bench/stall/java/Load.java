// SPDX-License-Identifier: Apache-2.0

import android.util.Log;
import java.io.IOException;
import java.lang.reflect.Method;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;

/**
 * What ordinary threads do beside the measured one. Each thread of a load does its step again and
 * again.
 */
enum Load {
    none(0, 0) {
        @Override
        void step() {}
    },
    /** First calls of huge methods. */
    a(2, 1) {
        @Override
        void step() throws ReflectiveOperationException, IOException {
            Method method = Generated.huge(HUGE_BYTES).getMethod("run", Object[].class, int.class);
            method.invoke(null, new Object[Generated.ARRAY_LENGTH], 1);
        }
    },
    /** javac in this process; the code cache knows nothing of it. */
    b(1, 0) {
        @Override
        void step() throws IOException {
            Path folder = Files.createTempDirectory("stall");
            JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
            List<String> options = List.of("-proc:none", "-d", folder.toString());
            boolean isRight = compiler.getTask(null, null, null, options, null, List.of(new Source())).call();
            try (var files = Files.list(folder)) {
                for (Path file : (Iterable<Path>) files::iterator) {
                    Files.delete(file);
                }
            }
            Files.delete(folder);
            if (!isRight) {
                throw new IOException("javac refuses its source");
            }
        }
    },
    /** Classes loaded, defined and proven. */
    c(2, 10) {
        @Override
        void step() throws ReflectiveOperationException, IOException {
            Class<?> made = Generated.plain(METHODS);
            Class.forName(made.getName(), true, made.getClassLoader());
        }
    },
    /** Threads started and ended, 20 at a time. */
    d(1, 1000 / 20) {
        @Override
        void step() throws InterruptedException {
            Thread[] threads = new Thread[TOGETHER];
            for (int index = 0; index < TOGETHER; index++) {
                threads[index] = new Thread(() -> kept = new int[TOGETHER]);
                threads[index].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }
    },
    /** Lines into a pipe that nobody reads: each of these threads ends up waiting. */
    e(4, 0) {
        @Override
        void step() {
            if (Thread.currentThread().getName().endsWith("0")) {
                System.err.println("a line of an ordinary thread, as long as most lines are");
            } else {
                Log.i("load", "a line of an ordinary thread, as long as most lines are");
            }
        }
    },
    /** Large arrays. */
    f(2, 100) {
        @Override
        void step() {
            long number = STEPS.incrementAndGet();
            kept = new byte[(64 << 10) + (int) (number * 37 % 64 << 16)];
        }
    },
    /** Thread dumps and requests of tools. */
    g(2, 4) {
        @Override
        void step() throws IOException, InterruptedException {
            if (Thread.currentThread().getName().endsWith("0")) {
                Thread.getAllStackTraces();
                Tool.dump();
                Thread.sleep(5);
            } else {
                Tool.ask("threaddump");
                Tool.ask("jcmd", "Takt.report");
            }
        }
    },
    /** Full collections. */
    h(3, 3) {
        @Override
        void step() {
            System.gc();
        }
    },
    /** Memory exhausted. */
    i(2, 0) {
        @Override
        void step() {
            Hoard.fill();
        }
    };

    private static final int HUGE_BYTES = 60_000;
    private static final int METHODS = 20;
    private static final int TOGETHER = 20;
    private static final AtomicLong STEPS = new AtomicLong();
    static volatile Object kept;

    /** Threads that do it, and how many steps a window has at least. */
    final int threads;
    final int stepsMin;

    Load(int threads, int stepsMin) {
        this.threads = threads;
        this.stepsMin = stepsMin;
    }

    abstract void step() throws Exception;

    /** A source for javac. */
    private static final class Source extends SimpleJavaFileObject {
        Source() {
            super(URI.create("string:///Compiled.java"), JavaFileObject.Kind.SOURCE);
        }

        @Override
        public CharSequence getCharContent(boolean ignored) {
            StringBuilder text = new StringBuilder("import java.util.*;\nfinal class Compiled {\n");
            for (int number = 0; number < 50; number++) {
                text.append("static List<String> m").append(number).append("(Map<String, Integer> map) {\n");
                text.append("List<String> list = new ArrayList<>();\n");
                text.append("for (var entry : map.entrySet()) { if (entry.getValue() > ").append(number);
                text.append(") { list.add(entry.getKey() + \": \" + entry.getValue()); } }\n");
                text.append("list.sort(Comparator.comparing(it -> it.length()));\nreturn list;\n}\n");
            }
            return text.append("}\n");
        }
    }
}
