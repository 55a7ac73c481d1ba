// SPDX-License-Identifier: Apache-2.0

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/** {@code jsr} and {@code ret}: compilers before Java 6 shared the code of {@code finally} so. */
public class Subroutines {
    private static final Map<String, Integer> OPCODES = new HashMap<>();

    static {
        String[] names = {
            "nop 0", "aconst_null 1", "iconst_0 3", "iconst_1 4", "iconst_2 5", "bipush 16", "astore 58", "iload_0 26", "iload_2 28",
            "aload 25", "aload_1 43", "aload_2 44", "aload_3 45", "istore_0 59", "istore_1 60", "istore_2 61", "lstore_1 64", "astore_0 75",
            "astore_1 76", "astore_2 77", "astore_3 78", "pop 87", "dup 89", "swap 95", "iadd 96", "imul 104", "idiv 108",
            "lconst_0 9", "iinc 132", "ifeq 153", "ifne 154", "ifgt 157", "iload 21", "istore 54", "goto 167", "jsr 168", "ret 169", "ireturn 172",
            "athrow 191", "ifnull 198", "wide_ret 50345", "jsr_w 201",
        };
        for (String name : names) {
            String[] parts = name.split(" ");
            OPCODES.put(parts[0], Integer.valueOf(parts[1]));
        }
    }

    /** One instruction with its operands, as many bytes each. */
    private static final class Line {
        final String[] words;
        int at;

        Line(String text) {
            words = text.split(" ");
        }

        boolean jumps() {
            return words[0].matches("if.*|goto|jsr|jsr_w");
        }

        int size() {
            switch (words[0]) {
                case "jsr_w":
                    return 5;
                case "wide_ret":
                    return 4;
                default:
                    return jumps() ? 3 : words.length;
            }
        }
    }

    /** A method {@code int run(int)}: {@code label: instruction; …; try from to handler}. */
    private static byte[] assemble(int version, String source) throws IOException {
        Map<String, Integer> labels = new HashMap<>();
        List<Line> lines = new ArrayList<>();
        List<String[]> handlers = new ArrayList<>();
        int at = 0;
        for (String text : source.split("; *")) {
            if (text.startsWith("try ")) {
                handlers.add(text.split(" "));
                continue;
            }
            String[] halves = text.split(": *", 2);
            if (halves.length == 2) {
                labels.put(halves[0], at);
            }
            Line line = new Line(halves[halves.length - 1]);
            line.at = at;
            lines.add(line);
            at += line.size();
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream code = new DataOutputStream(bytes);
        for (Line line : lines) {
            int opcode = OPCODES.get(line.words[0]);
            if (opcode > 255) {
                code.writeShort(opcode);
                code.writeShort(Integer.parseInt(line.words[1]));
                continue;
            }
            code.writeByte(opcode);
            if (opcode == 201) {
                code.writeInt(labels.get(line.words[1]) - line.at);
            } else if (line.jumps()) {
                code.writeShort(labels.get(line.words[1]) - line.at);
            } else {
                for (int i = 1; i < line.words.length; i++) {
                    code.writeByte(Integer.parseInt(line.words[i]));
                }
            }
        }
        return classFile(version, bytes.toByteArray(), handlers, labels);
    }

    private static byte[] classFile(int version, byte[] code, List<String[]> handlers, Map<String, Integer> labels)
            throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xcafebabe);
        out.writeInt(version);
        out.writeShort(8);
        for (String text : new String[] {"Old", "java/lang/Object", "run", "(I)I", "Code"}) {
            out.writeByte(1);
            out.writeUTF(text);
        }
        for (int name = 1; name <= 2; name++) {
            out.writeByte(7);
            out.writeShort(name);
        }
        // Public, of Object; no interfaces, no fields, one method.
        for (int word : new int[] {0x21, 6, 7, 0, 0, 1, 9, 3, 4, 1, 5}) {
            out.writeShort(word);
        }
        out.writeInt(12 + code.length + 8 * handlers.size());
        out.writeShort(4);
        out.writeShort(255);
        out.writeInt(code.length);
        out.write(code);
        out.writeShort(handlers.size());
        for (String[] handler : handlers) {
            for (int i = 1; i <= 3; i++) {
                out.writeShort(labels.get(handler[i]));
            }
            out.writeShort(0);
        }
        out.writeInt(0);
        return bytes.toByteArray();
    }

    private static final class Loader extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass("Old", bytes, 0, bytes.length);
        }
    }

    /** Random statements as a compiler before Java 6 wrote them. */
    private static final class Writer {
        final Random random;
        final StringBuilder source = new StringBuilder();
        int labels;
        int locals = 1;

        Writer(long seed) {
            random = new Random(seed);
        }

        String label() {
            return "L" + labels++;
        }

        /**
         * Subroutines of the {@code finally} clauses around, outermost first, and the end of the
         * innermost loop.
         */
        void block(int depth, List<String> clauses, String end, int clausesAroundEnd) {
            for (int count = random.nextInt(3); count >= 0; count--) {
                int kind = random.nextInt(depth > 0 ? 9 : 5);
                if (kind < 3 || kind == 4 && clauses == null) {
                    source.append("iinc 0 ").append(random.nextInt(7)).append("; ");
                } else if (kind == 3) {
                    source.append("bipush 12; iload_0; idiv; pop; ");
                } else if (kind == 4) {
                    leave(clauses, end, clausesAroundEnd);
                } else if (kind == 5) {
                    String other = label();
                    String both = label();
                    source.append("iload_0; ifgt ").append(other).append("; ");
                    block(depth - 1, clauses, end, clausesAroundEnd);
                    source.append("goto ").append(both).append("; ").append(other).append(": nop; ");
                    block(depth - 1, clauses, end, clausesAroundEnd);
                    source.append(both).append(": nop; ");
                } else if (kind == 6) {
                    String again = label();
                    String out = label();
                    int counter = locals++;
                    source.append("iconst_2; istore ").append(counter).append("; ").append(again).append(": nop; ");
                    block(depth - 1, clauses, out, clauses == null ? 0 : clauses.size());
                    source.append("iinc ").append(counter).append(" 255; iload ").append(counter).append("; ifgt ");
                    source.append(again).append("; ").append(out).append(": nop; ");
                } else {
                    tryFinally(depth - 1, clauses, end, clausesAroundEnd);
                }
            }
        }

        void leave(List<String> clauses, String end, int clausesAroundEnd) {
            boolean isBreak = end != null && random.nextBoolean();
            String goesOn = label();
            source.append("iload_0; ifeq ").append(goesOn).append("; ");
            for (int i = clauses.size(); i > (isBreak ? clausesAroundEnd : 0); i--) {
                source.append("jsr ").append(clauses.get(i - 1)).append("; ");
            }
            source.append(isBreak ? "goto " + end : "iload_0; ireturn").append("; ").append(goesOn).append(": nop; ");
        }

        void tryFinally(int depth, List<String> clauses, String end, int clausesAroundEnd) {
            String[] labels = {label(), label(), label(), label(), label()};
            int thrown = locals++;
            int address = locals++;
            List<String> inner = clauses == null ? null : new ArrayList<>(clauses);
            if (inner != null) {
                inner.add(labels[3]);
            }
            source.append(labels[0]).append(": nop; ");
            block(depth, inner, end, clausesAroundEnd);
            source.append(labels[1]).append(": jsr ").append(labels[3]).append("; goto ").append(labels[4]).append("; ");
            source.append(labels[2]).append(": astore ").append(thrown).append("; jsr ").append(labels[3]);
            source.append("; aload ").append(thrown).append("; athrow; ");
            source.append(labels[3]).append(": astore ").append(address).append("; ");
            // HotSpot's verifier knows no way out of a subroutine through another one.
            block(depth, null, null, 0);
            source.append("ret ").append(address).append("; ").append(labels[4]).append(": nop; ");
            source.append("try ").append(labels[0]).append(' ').append(labels[1]).append(' ').append(labels[2]).append("; ");
        }

        static String method(long seed) {
            Writer writer = new Writer(seed);
            writer.tryFinally(3, List.of(), null, 0);
            return writer.source.append("iload_0; ireturn").toString();
        }
    }

    private static void run(String name, int version, String source) throws Exception {
        StringBuilder said = new StringBuilder(name);
        Class<?> found = new Loader().define(assemble(version, source));
        for (int argument = -1; argument <= 3; argument++) {
            try {
                Object result = found.getMethod("run", int.class).invoke(null, argument);
                said.append(' ').append(result);
            } catch (InvocationTargetException e) {
                said.append(' ').append(e.getCause().getMessage());
            } catch (LinkageError e) {
                said.append(' ').append(e.getClass().getSimpleName());
            }
        }
        System.out.println(said);
    }

    private static void run(String name, String source) throws Exception {
        run(name, 48, source);
    }

    public static void main(String[] args) throws Exception {
        run("twice", "iload_0; ifeq E; jsr S; jsr S; E: iload_0; ireturn; S: astore_1; iinc 0 5; ret 1");
        run("nested", "jsr A; iinc 0 50; jsr A; iload_0; ireturn; A: astore_1; jsr B; iinc 0 1; jsr B; ret 1;"
                + " B: astore_2; iinc 0 10; ret 2");
        run("finally", "F: bipush 60; iload_0; idiv; istore_2; jsr S; G: iload_2; iload_0; iadd; ireturn;"
                + " H: astore_3; jsr S; aload_3; athrow; S: astore_1; iinc 0 7; ret 1; try F G H");
        run("finally in finally", "F: bipush 60; iload_0; idiv; istore_2; jsr S; G: iload_2; iload_0; iadd; ireturn;"
                + " H: astore_3; jsr S; aload_3; athrow;"
                + " S: astore_1; I: iinc 0 -1; bipush 12; iload_0; idiv; pop; jsr T; J: ret 1;"
                + " K: astore 5; jsr T; aload 5; athrow; T: astore 4; iinc 0 100; ret 4; try F G H; try I J K");
        run("handler of the subroutine", "jsr S; iload_0; ireturn; S: astore_1; F: bipush 10; iload_0; idiv; pop; G: goto R;"
                + " H: pop; iinc 0 50; R: ret 1; try F G H");
        run("left early", "L: iload_0; ifgt E; jsr S; E: iload_0; ireturn; S: astore_1; iinc 0 1; iload_0; ifeq L; goto L");
        run("never returns", "jsr S; nop; S: pop; iload_0; iconst_2; imul; ireturn");
        run("loop", "jsr S; iload_0; ireturn; S: astore_1; iconst_0; istore_2; L: iinc 2 1; iinc 0 2; bipush 10; iload_0;"
                + " iadd; ifgt E; goto L; E: iload_0; ifgt X; iinc 0 3; goto L; X: ret 1");
        run("called in a loop", "iconst_0; istore_2; L: jsr S; iinc 0 -1; iload_0; ifgt L; iload_2; ireturn;"
                + " S: astore_1; iload_2; iload_0; iadd; istore_2; ret 1");
        run("other locals keep their types", "bipush 9; istore_2; jsr S; iinc 2 1; iload_2; iload_0; iadd; istore_0;"
                + " aconst_null; astore_2; jsr S; aload_2; ifnull E; iinc 0 100; E: iload_0; ireturn;"
                + " S: astore_1; iinc 0 3; ret 1");
        run("a local of two types", "iload_0; ifeq A; bipush 9; istore_2; jsr S; goto E; A: aconst_null; astore_2; jsr S;"
                + " E: iload_0; ireturn; S: astore_1; iinc 0 3; ret 1");
        run("over the stack", "iload_0; jsr S; iload_0; iadd; ireturn; S: astore_1; iinc 0 4; ret 1");
        run("shuffled", "iload_0; jsr S; iload_0; iadd; ireturn; S: swap; istore_2; astore_1; iload_2; iinc 0 4; ret 1");
        run("copied", "jsr S; iload_0; ireturn; S: dup; astore_1; astore_2; iinc 0 4; ret 2");
        run("null", "jsr S; aconst_null; athrow; S: astore_1; iload_0; ifeq T; ret 1; T: aconst_null; athrow");
        run("wide", "jsr_w S; iload_0; ireturn; S: astore 4; iinc 0 4; wide_ret 4");
        run("of Java 6", 50, "jsr S; iload_0; ireturn; S: astore_1; iinc 0 5; ret 1");
        run("dead address", "jsr S; jsr S; L: iload_0; ifgt E; iinc 0 1; goto L; E: iload_0; ireturn;"
                + " S: astore_1; iinc 0 1; iload_0; ifeq L; ret 1");
        for (int seed = 0; seed < 100; seed++) {
            run("written " + seed, Writer.method(seed));
        }
        // None of these may run.
        run("of Java 7", 51, "jsr S; iload_0; ireturn; S: astore_1; iinc 0 5; ret 1");
        run("an int", "iload_0; istore_1; ret 1");
        run("nothing", "ret 1");
        run("a parameter", "ret 0");
        run("a reference", "aconst_null; astore_1; ret 1");
        run("as a reference", "jsr S; iload_0; ireturn; S: astore_1; aload_1; pop; ret 1");
        run("as an int", "jsr S; S: ireturn");
        run("thrown", "jsr S; S: athrow");
        run("twice the same", "jsr S; ret 1; S: astore_1; ret 1");
        run("overwritten", "jsr S; iload_0; ireturn; S: astore_1; iload_0; istore_1; ret 1");
        run("half overwritten", "jsr S; iload_0; ireturn; S: astore_2; lconst_0; lstore_1; ret 2");
        run("on one path", "jsr S; iload_0; ireturn; S: astore_1; iload_0; ifeq E; aconst_null; astore_1; E: ret 1");
        run("itself", "jsr S; iload_0; ireturn; S: astore_1; iinc 0 -1; iload_0; ifgt C; ret 1; C: jsr S; ret 1");
        run("at the end", "goto J; S: astore_1; ret 1; J: jsr S");
    }
}
