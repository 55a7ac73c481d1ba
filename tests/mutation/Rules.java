// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What must become of a {@link Universe} in DEX code, by the rules alone.
 *
 * <p>"Dalvik bytecode", constraints: "The source of an instance field's object must be
 * assignment-compatible with the field's class", of an argument with the parameter's type, of
 * {@code return-object} with the method's result; what {@code new-instance}, {@code check-cast} and
 * fields give has the type that they name. Interfaces are checked when they are called. Our own
 * (docs/internals/verification.md): a class that is not there is taken for what it is used as, and
 * that must stay true when it comes.
 */
final class Rules {
    /** What inherits from a class that is not there is not found either, by a loader of DEX. */
    static final String ABSENT = "ClassNotFoundException";
    static final String UNFIT = "LinkageError";
    private static final String ACCESS = "IllegalAccessError";
    private static final String CHANGED = "IncompatibleClassChangeError";
    private static final String UNPROVEN = "VerifyError";

    private record Pair(String from, String to) {
    }

    /** A class by one of two loaders and its name. */
    private record Known(boolean isAbroad, String name) {
    }

    private final Universe universe;
    private boolean isReleased;
    /** The loaders and the names by which they have classes. */
    private final Set<Known> had = new HashSet<>();
    private final List<Pair> assumed = new ArrayList<>();

    Rules(Universe universe) {
        this.universe = universe;
    }

    /** What initialising the class under test gives: an error's name, or null. */
    String judge() {
        String error = load(Universe.TEST);
        List<Pair> found = new ArrayList<>();
        String held = null;
        for (Universe.Step step : universe.code) {
            if (error != null) {
                return error;
            }
            String wanted = switch (step.kind()) {
                case FIELD, PASS, RETURN -> step.type();
                default -> null;
            };
            if (held != null && wanted != null) {
                error = compare(held, wanted, found);
            }
            held = switch (step.kind()) {
                case NEW, ARGUMENT -> step.type();
                // Whatever the register held, null as well.
                case CAST -> step.type();
                case FIELD -> universe.types.get(step.type()).fieldType();
                case NULL -> null;
                default -> held;
            };
        }
        if (error == null) {
            assumed.addAll(found);
        }
        return error;
    }

    private String compare(String from, String to, List<Pair> found) {
        if (from.equals(to) || to.equals(Universe.OBJECT)) {
            return null;
        }
        String error = load(to);
        if (error == null && isInterface(to)) {
            return null;
        }
        if (error == null) {
            error = load(from);
        }
        if (ABSENT.equals(error)) {
            found.add(new Pair(from, to));
            return null;
        }
        return error != null ? error : isA(from, to) ? null : UNPROVEN;
    }

    void release() {
        isReleased = true;
    }

    /** What loading a class gives now. */
    String load(String name) {
        if (had.contains(new Known(false, name)) || !universe.types.containsKey(name)) {
            return null;
        }
        if (!isReleased && universe.heldBack.contains(name)) {
            return ABSENT;
        }
        boolean isAbroad = universe.abroad.contains(name);
        String error = isAbroad ? load(true, name) : define(false, name);
        if (error != null) {
            return error;
        }
        Known known = new Known(false, name);
        had.add(known);
        boolean isUnfit = assumed.stream().anyMatch(it -> isKnown(it.from) && isKnown(it.to)
            && !isInterface(it.to) && !isA(it.from, it.to));
        if (isUnfit) {
            had.remove(known);
            return UNFIT;
        }
        return null;
    }

    private String load(boolean isAbroad, String name) {
        if (!isAbroad) {
            return load(name);
        }
        if (!universe.types.containsKey(name) || had.contains(new Known(true, name))) {
            return null;
        }
        String error = define(true, name);
        if (error == null) {
            had.add(new Known(true, name));
        }
        return error;
    }

    /** What a loader's own definition gives. HotSpot has the interfaces loaded first. */
    private String define(boolean isAbroad, String name) {
        Universe.Type type = universe.types.get(name);
        for (String each : type.interfaces()) {
            String error = load(isAbroad, each);
            if (error != null) {
                return error;
            }
            if (!isInterface(each)) {
                return CHANGED;
            }
        }
        String error = load(isAbroad, type.parent());
        if (error != null) {
            return error;
        }
        if (isInterface(type.parent())) {
            return CHANGED;
        }
        if (type.parent().startsWith(Universe.REFLECTION)) {
            return ACCESS;
        }
        return null;
    }

    private boolean isKnown(String name) {
        return had.contains(new Known(false, name)) || !universe.types.containsKey(name);
    }

    private boolean isInterface(String name) {
        Universe.Type type = universe.types.get(name);
        return type == null ? library(name).isInterface() : type.isInterface();
    }

    /** Whether a class is another or has it above it, as the loader means both. */
    private boolean isA(String from, String to) {
        return isA(meant(false, from), meant(false, to));
    }

    /** Who defines the class that a loader means. */
    private Known meant(boolean isAbroad, String name) {
        return new Known(isAbroad || universe.abroad.contains(name), name);
    }

    private boolean isA(Known from, Known to) {
        Universe.Type type = universe.types.get(from.name);
        if (type == null || to.name.equals(Universe.OBJECT)) {
            return !universe.types.containsKey(to.name) && library(to.name).isAssignableFrom(
                type == null ? library(from.name) : Object.class);
        }
        return from.equals(to) || isA(meant(from.isAbroad, type.parent()), to)
            || type.interfaces().stream().anyMatch(it -> isA(meant(from.isAbroad, it), to));
    }

    private static final Map<String, Class<?>> LIBRARY = new HashMap<>();

    private static Class<?> library(String name) {
        return LIBRARY.computeIfAbsent(name, it -> {
            try {
                return Class.forName(it.replace('/', '.'), false, null);
            } catch (ClassNotFoundException e) {
                throw new AssertionError(e);
            }
        });
    }
}
