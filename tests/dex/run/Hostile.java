// SPDX-License-Identifier: Apache-2.0 Runs changed versions of Victim. The arguments are its DEX
// file, a seed and how many. No version may end the machine.
import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.zip.Adler32;

class Hostile {
    /** How many versions may run for ever. */
    private static final int STUCK_MAX = 3;

    public static void main(String[] args) throws Exception {
        byte[] code = Files.readAllBytes(new File(args[0]).toPath());
        Random random = new Random(Long.parseLong(args[1]));
        Map<String, Integer> outcomes = new TreeMap<>();
        int stuck = 0;
        for (int round = 0; round < Integer.parseInt(args[2]) && stuck < STUCK_MAX; round++) {
            String[] outcome = new String[1];
            byte[] changed = change(code.clone(), random);
            Thread thread = new Thread(() -> outcome[0] = outcome(changed));
            thread.setDaemon(true);
            thread.start();
            thread.join(5000);
            if (outcome[0] == null) {
                stuck++;
            }
            outcomes.merge(outcome[0] == null ? "stuck" : outcome[0], 1, Integer::sum);
        }
        System.out.println(outcomes);
    }

    /** Changes bytes of the data section, where the code is, and makes the checksum good. */
    static byte[] change(byte[] code, Random random) {
        ByteBuffer buffer = ByteBuffer.wrap(code).order(ByteOrder.LITTLE_ENDIAN);
        int size = buffer.getInt(0x68);
        int start = buffer.getInt(0x6c);
        for (int count = 1 + random.nextInt(3); count > 0; count--) {
            int at = start + random.nextInt(Math.min(size, 1400));
            code[at] = (byte) (random.nextBoolean() ? code[at] ^ 1 << random.nextInt(8) : random.nextInt(random.nextBoolean() ? 256 : 10));
        }
        Adler32 sum = new Adler32();
        sum.update(code, 12, code.length - 12);
        buffer.putInt(8, (int) sum.getValue());
        return code;
    }

    static String outcome(byte[] code) {
        try {
            Object loader = Class.forName("dalvik.system.InMemoryDexClassLoader")
                .getConstructor(ByteBuffer.class, ClassLoader.class)
                .newInstance(ByteBuffer.wrap(code), ClassLoader.getPlatformClassLoader());
            Method run = Class.forName("Victim", true, (ClassLoader) loader).getDeclaredMethod("run");
            run.setAccessible(true);
            run.invoke(null);
            return "ran";
        } catch (InvocationTargetException e) {
            return e.getCause().getClass().getSimpleName();
        } catch (ClassNotFoundException e) {
            return "refused";
        } catch (Throwable e) {
            return e.getClass().getSimpleName();
        }
    }
}
