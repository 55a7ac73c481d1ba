// SPDX-License-Identifier: Apache-2.0
// Runs classes of tests/dex/smali: the arguments are the DEX file with all of them, and names.
import java.lang.reflect.InvocationTargetException;
import java.util.Collections;
import java.util.List;

class Assembled {
    private static ClassLoader loader(String file) throws Exception {
        return (ClassLoader) Class.forName("dalvik.system.DexClassLoader")
            .getConstructor(String.class, String.class, String.class, ClassLoader.class)
            .newInstance(file, null, null, Assembled.class.getClassLoader());
    }

    interface Call {
        Object run() throws Throwable;
    }

    static String outcome(Call call) {
        try {
            return String.valueOf(call.run());
        } catch (InvocationTargetException e) {
            return e.getCause().toString();
        } catch (ClassNotFoundException e) {
            // The message names the path.
            return e.getClass().getName() + " " + List.of(e.getSuppressed());
        } catch (Throwable e) {
            // Where in the file it is depends on what else is in there.
            return e.toString().replaceAll("instruction at 0x[0-9a-f]+", "instruction");
        }
    }

    public static void main(String[] args) throws Exception {
        ClassLoader loader = loader(args[0]);
        for (int index = 1; index < args.length; index++) {
            String name = args[index];
            Call run = () -> Class.forName(name, true, loader).getMethod("run").invoke(null);
            System.out.println(name + ": " + outcome(run));
        }
        members(Class.forName("Members", true, loader));
        files(args[0], loader);
    }

    private static void members(Class<?> members) {
        System.out.println("one method: " + outcome(() -> members.getDeclaredMethod("run")));
        System.out.println("all methods: " + outcome(() -> members.getDeclaredMethods().length));
        System.out.println("all public methods: " + outcome(() -> members.getMethods().length));
        System.out.println("one field: " + outcome(() -> members.getField("plain")));
        System.out.println("all fields: " + outcome(() -> members.getFields().length));
        System.out.println("one constructor: " + outcome(() -> members.getConstructor()));
        System.out.println("all constructors: " + outcome(() -> members.getConstructors().length));
        System.out.println("what is not there: " + outcome(() -> members.getMethod("none")));
    }

    @SuppressWarnings("unchecked")
    private static void files(String name, ClassLoader loader) throws Exception {
        Class<?> type = Class.forName("dalvik.system.DexFile");
        Object file = type.getMethod("loadDex", String.class, String.class, int.class).invoke(null, name, null, 0);
        List<String> names = Collections.list((java.util.Enumeration<String>) type.getMethod("entries").invoke(file));
        System.out.println("entries: " + names.subList(0, 3) + " " + names.contains("Orphan"));
        var load = type.getMethod("loadClass", String.class, ClassLoader.class);
        ClassLoader other = new ClassLoader(Assembled.class.getClassLoader()) { };
        Class<?> upper = (Class<?>) load.invoke(file, "Upper", other);
        System.out.println(upper + " " + (upper.getClassLoader() == other) + (upper == load.invoke(file, "Upper", other)));
        System.out.println("of the loader: " + (load.invoke(file, "Refine", loader) == loader.loadClass("Refine")));
        System.out.println("not there: " + load.invoke(file, "None", other) + " " + load.invoke(file, "Orphan", other));
        System.out.println("for the class library: " + outcome(() -> load.invoke(file, "Lower", null)));
        System.out.println("for its loader: " + outcome(() -> load.invoke(file, "Lower", ClassLoader.getPlatformClassLoader())));
        type.getMethod("close").invoke(file);
        System.out.println("closed: " + outcome(() -> load.invoke(file, "Lower", other)).split(":")[0]);
    }
}
