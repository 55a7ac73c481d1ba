// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A few classes that name each other, drawn at random, and one whose code is judged: {@code
 * p/Test}.
 *
 * <p>Superclasses, interfaces and names are any that make sense; some names are those of the class
 * library's own. Names are internal ones.
 */
final class Universe {
    static final String OBJECT = "java/lang/Object";
    static final String TEST = "p/Test";
    /** Its classes have no heirs but the library's own, no matter who defines them. */
    static final String REFLECTION = "jdk/internal/reflect/";
    private static final String[] NAMES = {
        "p/A", "p/B", "p/C", "p/D", "p/E", "q/A", "q/B", "p/int", "jdk/internal/reflect/MagicAccessorImpl",
        "jdk/internal/reflect/MagicAccessorImpl", "jdk/internal/reflect/MethodAccessorImpl",
        "jdk/internal/loader/ClassLoaders$PlatformClassLoader", "jdk/internal/misc/Unsafe", "sun/misc/Unsafe",
        "javax/realtime/Machine", "dalvik/system/DexCode", "jdk/internal/reflect/DelegatingClassLoader",
    };
    private static final String[] LIBRARY = {OBJECT, "java/lang/Throwable", "java/util/ArrayList", "java/lang/Runnable"};
    private static final int TYPES = 6;

    record Type(String name, boolean isInterface, String parent, List<String> interfaces, String fieldType) {
    }

    enum Kind {
        /** The register gets a new object of the type. */
        NEW,
        /** The register gets null. */
        NULL,
        /** The register gets the argument, which is of the type. */
        ARGUMENT,
        /** The register gets the field of the type's object in the register. */
        FIELD,
        /** The register is passed where the type is expected. */
        PASS,
        /** The register's object is cast to the type. */
        CAST,
        /** The register is returned where the type is expected. */
        RETURN,
    }

    record Step(Kind kind, String type) {
    }

    final Map<String, Type> types = new LinkedHashMap<>();
    /** Classes that the loader does not deliver at first. */
    final Set<String> heldBack = new HashSet<>();
    /** Classes that the loader has from another one, which means the same files by all names. */
    final Set<String> abroad = new HashSet<>();
    final List<Step> code = new ArrayList<>();

    Universe(Random64 draw) {
        List<String> names = new ArrayList<>();
        while (names.size() < TYPES) {
            String name = NAMES[draw.below(NAMES.length)];
            if (!names.contains(name)) {
                names.add(name);
            }
        }
        for (int i = 0; i < TYPES; i++) {
            List<String> before = names.subList(0, i);
            types.put(names.get(i), type(draw, names.get(i), before, names));
            if (draw.below(6) == 0) {
                heldBack.add(names.get(i));
            }
            if (draw.below(5) == 0) {
                abroad.add(names.get(i));
            }
        }
        types.put(TEST, type(draw, TEST, names, names));
        steps(draw, names);
    }

    private Type type(Random64 draw, String name, List<String> before, List<String> names) {
        boolean isInterface = !name.equals(TEST) && draw.below(4) == 0;
        List<String> classes = before.stream().filter(it -> !types.get(it).isInterface()).toList();
        List<String> others = before.stream().filter(it -> types.get(it).isInterface()).toList();
        String parent = OBJECT;
        if (!isInterface && draw.below(4) > 0 && !before.isEmpty()) {
            // Now and then one that may not be inherited from.
            List<String> from = classes.isEmpty() || draw.below(24) == 0 ? before : classes;
            parent = from.get(draw.below(from.size()));
        }
        List<String> interfaces = new ArrayList<>();
        if (!before.isEmpty() && draw.below(3) == 0) {
            List<String> from = others.isEmpty() && draw.below(8) == 0 ? classes : others;
            if (!from.isEmpty()) {
                interfaces.add(from.get(draw.below(from.size())));
            }
        }
        return new Type(name, isInterface, parent, interfaces, any(draw, names));
    }

    private static String any(Random64 draw, List<String> names) {
        return draw.below(8) == 0 ? LIBRARY[draw.below(LIBRARY.length)] : names.get(draw.below(names.size()));
    }

    private void steps(Random64 draw, List<String> names) {
        Kind first = Kind.values()[draw.below(16) == 0 ? 1 : 2 * draw.below(2)];
        List<String> makable = names.stream().filter(it -> !types.get(it).isInterface()).toList();
        if (first == Kind.NEW && makable.isEmpty()) {
            first = Kind.NULL;
        }
        String type = first == Kind.NEW ? makable.get(draw.below(makable.size())) : names.get(draw.below(names.size()));
        code.add(new Step(first, type));
        for (int count = draw.below(4); count > 0; count--) {
            Kind kind = new Kind[] {Kind.FIELD, Kind.PASS, Kind.CAST}[draw.below(3)];
            // A field of an interface would be static.
            List<String> from = kind == Kind.FIELD ? makable : names;
            if (!from.isEmpty()) {
                code.add(new Step(kind, from.get(draw.below(from.size()))));
            }
        }
        code.add(new Step(Kind.RETURN, any(draw, names)));
    }

    String result() {
        return code.get(code.size() - 1).type();
    }

    String argument() {
        return code.get(0).kind() == Kind.ARGUMENT ? code.get(0).type() : OBJECT;
    }
}
