// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;
import java.lang.invoke.MethodHandles;
import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.lang.module.ModuleReader;
import java.lang.module.ModuleReference;
import java.lang.reflect.InvocationTargetException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.Set;

/**
 * Code that names a class of the library's inside: its class file says another name than its
 * source, of the same length.
 */
public class Linked {
    static final String OTHER = "jdk/internal/misc/VM";
    static final String ACCESS = "jdk/internal/access/JavaNetUriAccess";

    static class Calling {
        static Object run() {
            return StandInOfTwentyABCDE.isBooted();
        }
    }

    static class Testing {
        static Object run() {
            return (Object) "" instanceof StandInOfTwentyABCDE;
        }
    }

    static class Naming {
        static Object run() {
            return StandInOfTwentyABCDE.class;
        }
    }

    static class Arrays {
        static Object run() {
            return new StandInOfTwentyABCDE[1][1].length;
        }
    }

    static class Inheriting extends StandInOfTwentyABCDE {
        static Object run() {
            return isBooted();
        }
    }

    static class Implementing implements StandInInterfaceOfThirtySixABCDEFGHI {
        static Object run() {
            return StandInInterfaceOfThirtySixABCDEFGHI.class;
        }
    }

    /** Its class file with the other name, under a name of its own. */
    static byte[] changed(Class<?> source) throws IOException {
        try (var in = Linked.class.getResourceAsStream(source.getName() + ".class")) {
            String text = new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
            String name = source.getName();
            String other = name.replace('$', '_');
            text = text.replace("StandInOfTwentyABCDE", OTHER)
                    .replace("StandInInterfaceOfThirtySixABCDEFGHI", ACCESS)
                    .replace(name, other);
            return text.getBytes(StandardCharsets.ISO_8859_1);
        }
    }

    static void tell(String what, Class<?> changed) throws Exception {
        try {
            var run = changed.getDeclaredMethod("run");
            run.setAccessible(true);
            System.out.println(what + ": " + run.invoke(null));
        } catch (InvocationTargetException e) {
            // Numbers of modules differ from run to run.
            System.out.println(what + ": " + e.getCause().toString().replaceAll("@0x[0-9a-f]+", "@N"));
        }
    }

    /** A module of a layer that reads java.base alone, or java.sql too. */
    static void inModule(boolean reads) throws Exception {
        ModuleDescriptor.Builder builder = ModuleDescriptor.newModule("m").packages(Set.of("p"));
        if (reads) builder.requires("java.logging");
        ModuleDescriptor descriptor = builder.build();
        byte[] bytes = inPackage();
        ModuleReference reference = new ModuleReference(descriptor, URI.create("m:m")) {
            @Override
            public ModuleReader open() {
                return new ModuleReader() {
                    @Override
                    public Optional<URI> find(String name) {
                        return Optional.empty();
                    }

                    @Override
                    public Optional<java.nio.ByteBuffer> read(String name) {
                        return name.equals("p/Logs.class")
                                ? Optional.of(java.nio.ByteBuffer.wrap(bytes))
                                : Optional.empty();
                    }

                    @Override
                    public java.util.stream.Stream<String> list() {
                        return java.util.stream.Stream.of("p/Logs.class");
                    }

                    @Override
                    public void close() {}
                };
            }
        };
        ModuleFinder finder = new ModuleFinder() {
            @Override
            public Optional<ModuleReference> find(String name) {
                return name.equals("m") ? Optional.of(reference) : Optional.empty();
            }

            @Override
            public Set<ModuleReference> findAll() {
                return Set.of(reference);
            }
        };
        ModuleLayer boot = ModuleLayer.boot();
        var configuration = boot.configuration().resolve(finder, ModuleFinder.of(), Set.of("m"));
        var controller = ModuleLayer.defineModulesWithOneLoader(
                configuration, java.util.List.of(boot), ClassLoader.getSystemClassLoader());
        Module module = controller.layer().findModule("m").orElseThrow();
        controller.addOpens(module, "p", Linked.class.getModule());
        tell("reads java.logging " + reads, Class.forName(module, "p.Logs"));
    }

    static byte[] inPackage() throws IOException {
        try (var in = Linked.class.getResourceAsStream("Log_p.class")) {
            String text = new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
            return text.replace("\005Log_p", "\006p/Logs").getBytes(StandardCharsets.ISO_8859_1);
        }
    }

    public static void main(String[] args) throws Exception {
        var lookup = MethodHandles.lookup();
        for (Class<?> source : new Class<?>[] {Calling.class, Testing.class, Naming.class, Arrays.class}) {
            Class<?> changed = lookup.defineClass(changed(source));
            tell(source.getSimpleName(), changed);
            tell(source.getSimpleName() + " again", changed);
        }
        for (Class<?> source : new Class<?>[] {Inheriting.class, Implementing.class}) {
            try {
                tell(source.getSimpleName(), lookup.defineClass(changed(source)));
            } catch (IllegalAccessError e) {
                System.out.println(e.getMessage().replaceAll("@0x[0-9a-f]+", "@N"));
            }
        }
        inModule(true);
        inModule(false);
    }
}

class StandInOfTwentyABCDE {
    static boolean isBooted() {
        return false;
    }
}

class Log_p {
    static Object run() {
        return java.util.logging.Level.INFO.getName();
    }
}

interface StandInInterfaceOfThirtySixABCDEFGHI {}
