// SPDX-License-Identifier: Apache-2.0 Whom a method that looks for its caller finds: directly, by
// reflection, through method handles, in a lambda, in a hidden class; and what a stack walk and a
// security manager's context show.

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Collectors;

public class Callers {
    private static final StackWalker WALKER =
            StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

    /** Its class context. */
    static final class Context extends SecurityManager {
        List<String> names() {
            return List.of(getClassContext()).stream().map(Class::getName)
                    .map(name -> name.startsWith("Callers") ? name.replaceAll("Lambda.*", "Lambda") : "library")
                    .distinct().collect(Collectors.toList());
        }
    }

    static String caller() {
        return WALKER.getCallerClass().getName().replaceAll("Lambda.*", "Lambda");
    }

    public static void main(String[] arguments) throws Throwable {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        System.out.println("direct: " + caller());
        Supplier<String> lambda = () -> caller();
        System.out.println("lambda: " + lambda.get());
        Supplier<String> reference = Callers::caller;
        System.out.println("reference: " + reference.get());
        MethodHandle handle = lookup.findStatic(Callers.class, "caller", MethodType.methodType(String.class));
        System.out.println("handle: " + (String) handle.invokeExact());
        Method method = Callers.class.getDeclaredMethod("caller");
        for (int time = 0; time < 20; time++) {
            String found = (String) method.invoke(null);
            if (time == 0 || time == 19) {
                System.out.println("reflection: " + found);
            }
        }
        // Methods of the library that look for their caller, by name.
        MethodHandle forName = lookup.findStatic(Class.class, "forName",
                MethodType.methodType(Class.class, String.class));
        System.out.println("forName: " + ((Class<?>) forName.invokeExact("Callers")).getName());
        MethodHandle own = lookup.findStatic(MethodHandles.class, "lookup",
                MethodType.methodType(MethodHandles.Lookup.class));
        System.out.println("lookup: " + ((MethodHandles.Lookup) own.invokeExact()).lookupClass().getName()
                .replaceAll("/0x.*", ""));
        Class<?> viaMethod = (Class<?>) Class.class.getMethod("forName", String.class).invoke(null, "Callers");
        System.out.println("forName by reflection: " + viaMethod.getName());
        System.out.println("context: " + new Context().names());
        Supplier<List<String>> context = () -> new Context().names();
        System.out.println("context in a lambda: " + context.get());
        MethodHandle inHandle = lookup.findVirtual(Context.class, "names", MethodType.methodType(List.class));
        System.out.println("context by handle: " + inHandle.invoke(new Context()));
        System.out.println("walk: " + WALKER.walk(frames -> frames.map(StackWalker.StackFrame::getMethodName)
                .collect(Collectors.toList())));
    }
}
