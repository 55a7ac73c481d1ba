// SPDX-License-Identifier: Apache-2.0 On whose behalf a thread acts: subjects through doAs,
// doPrivileged and new threads; and packages of the library.

import java.lang.reflect.Proxy;
import java.security.AccessControlContext;
import java.security.AccessController;
import java.security.DomainCombiner;
import java.security.Principal;
import java.security.PrivilegedAction;
import java.security.PrivilegedExceptionAction;
import java.security.ProtectionDomain;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import javax.security.auth.Subject;

@SuppressWarnings({"removal", "deprecation"})
public class Subjects {
    record Named(String name) implements Principal {
        @Override
        public String getName() {
            return name;
        }
    }

    private static Subject subject(String name) {
        return new Subject(true, Set.of(new Named(name)), Set.of(), Set.of());
    }

    private static String current() {
        Subject subject = Subject.getSubject(AccessController.getContext());
        return subject == null ? "nobody" : subject.getPrincipals().iterator().next().getName();
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("main: " + current());
        String inside = Subject.doAs(subject("a"), (PrivilegedAction<String>) Subjects::current);
        System.out.println("doAs: " + inside + ", after: " + current());
        Subject.doAs(subject("a"), (PrivilegedExceptionAction<Void>) () -> {
            System.out.println("nested: " + Subject.doAs(subject("b"), (PrivilegedAction<String>) Subjects::current));
            System.out.println("back: " + current());
            System.out.println("privileged: " + AccessController.doPrivileged((PrivilegedAction<String>) Subjects::current));
            System.out.println("with combiner: "
                    + AccessController.doPrivilegedWithCombiner((PrivilegedAction<String>) Subjects::current));
            AccessControlContext context = AccessController.getContext();
            System.out.println("handed on: " + handedOn(context));
            Thread child = new Thread(() -> System.out.println("thread: " + current()));
            child.start();
            child.join();
            System.gc();
            Object reflected = Subjects.class.getDeclaredMethod("current").invoke(null);
            System.out.println("by reflection: " + reflected);
            return null;
        });
        combined();
        packages();
    }

    private static String handedOn(AccessControlContext context) throws InterruptedException {
        String[] found = new String[1];
        Thread other = new Thread(() -> found[0] = current() + " then "
                + AccessController.doPrivileged((PrivilegedAction<String>) Subjects::current, context));
        other.start();
        other.join();
        return found[0];
    }

    private static void combined() {
        DomainCombiner combiner = (ProtectionDomain[] current, ProtectionDomain[] assigned) -> {
            System.out.println("combining");
            return current;
        };
        AccessControlContext context = new AccessControlContext(AccessController.getContext(), combiner);
        AccessController.doPrivileged((PrivilegedAction<Void>) () -> {
            System.out.println("own combiner: " + (AccessController.getContext().getDomainCombiner() == combiner));
            return null;
        }, context);
    }

    private static void packages() throws ClassNotFoundException {
        System.out.println(Object.class.getPackage() + ", " + Class.forName("sun.misc.Unsafe").getPackage() + ", "
                + Subjects.class.getPackage() + ", " + int[].class.getPackage());
        System.out.println(Package.getPackage("java.util") + " " + Package.getPackage("no.such"));
        // A proxy of the boot loader's, in a module of its own.
        Object proxy = Proxy.newProxyInstance(null, new Class<?>[] {Runnable.class}, (self, method, arguments) -> null);
        Package own = proxy.getClass().getPackage();
        System.out.println(proxy.getClass().getPackageName() + " " + own + " " + Arrays.asList(Package.getPackages()).contains(own));
        Set<String> names = new TreeSet<>();
        Arrays.stream(Package.getPackages()).forEach(it -> names.add(it.getName()));
        System.out.println(names.containsAll(Set.of("java.lang", "java.util", "java.security")));
        Package language = Object.class.getPackage();
        System.out.println(language.isSealed() + " " + language.getImplementationTitle());
    }
}
