// SPDX-License-Identifier: Apache-2.0

/** Who defines a class, and whether the library's own was replaced or has a new neighbour. */
public class Appended {
    public static void main(String[] args) throws Exception {
        for (String name : new String[] {"p.A", "p.q.B", "java.util.Added", "java.extra.Far"}) {
            try {
                Class<?> found = Class.forName(name, false, args.length > 0 ? null : Appended.class.getClassLoader());
                ClassLoader loader = found.getClassLoader();
                System.out.println(found + " of " + (loader == null ? "boot" : loader.getClass().getSimpleName())
                    + " in " + found.getModule().getName() + " with " + found.getPackage());
            } catch (ClassNotFoundException e) {
                System.out.println("no " + name);
            }
        }
        System.out.println(java.util.Optional.empty());
        System.out.println(Object.class.getResource("/p/A.class") != null);
    }
}
