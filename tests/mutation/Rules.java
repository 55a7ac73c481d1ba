// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What must become of a {@link Universe} in DEX code, by the rules alone.
 *
 * <p>"Dalvik bytecode", constraints: "The source of an instance field's object must be assignment-compatible with the
 * field's class", of an argument with the parameter's type, of {@code return-object} with the method's result; what
 * {@code new-instance}, {@code check-cast} and fields give has the type that they name. Interfaces are checked when they
 * are called. Our own (docs/vm.md): a class that is not there is taken for what it is used as, and that must stay true
 * when it comes.
 */
final class Rules {
    static final String ABSENT = "NoClassDefFoundError";
    static final String UNFIT = "LinkageError";
    private static final String ACCESS = "IllegalAccessError";
    private static final String CHANGED = "IncompatibleClassChangeError";
    private static final String UNPROVEN = "VerifyError";

    private record Pair(String from, String to) {
    }

    private final Universe universe;
    private boolean isReleased;
    /** Classes that the loader has, with null; classes that it cannot have for good, and why. */
    private final Map<String, String> had = new LinkedHashMap<>();
    private final List<Pair> assumed = new ArrayList<>();

    Rules(Universe universe) {
        this.universe = universe;
    }

    /** What initialising the class under test gives: an error's name, or null. */
    String judge() {
        String error = load(Universe.TEST);
        for (String parent = parentOf(Universe.TEST); error == null && parent != null; parent = parentOf(parent)) {
            // Their code holds by itself: constructors alone.
            error = load(parent);
        }
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
                // Null stays null for the proof whatever it is cast to.
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
        if (had.containsKey(name) || !universe.types.containsKey(name)) {
            return null;
        }
        Universe.Type type = universe.types.get(name);
        if (!isReleased && universe.heldBack.contains(name)) {
            return ABSENT;
        }
        String error = load(type.parent());
        if (error != null) {
            return error;
        }
        if (isInterface(type.parent())) {
            return CHANGED;
        }
        for (String each : type.interfaces()) {
            error = load(each);
            if (error != null) {
                return error;
            }
            if (!isInterface(each)) {
                return CHANGED;
            }
        }
        if (type.parent().startsWith(Universe.REFLECTION)) {
            return ACCESS;
        }
        had.put(name, null);
        boolean isUnfit = assumed.stream().anyMatch(it -> isKnown(it.from) && isKnown(it.to)
            && !isInterface(it.to) && !isA(it.from, it.to));
        if (isUnfit) {
            had.remove(name);
            return UNFIT;
        }
        return null;
    }

    private boolean isKnown(String name) {
        return had.containsKey(name) || !universe.types.containsKey(name);
    }

    private String parentOf(String name) {
        Universe.Type type = universe.types.get(name);
        return type == null ? null : type.parent();
    }

    private boolean isInterface(String name) {
        Universe.Type type = universe.types.get(name);
        return type == null ? library(name).isInterface() : type.isInterface();
    }

    /** Whether a class is another or has it above it. */
    boolean isA(String from, String to) {
        if (from.equals(to) || to.equals(Universe.OBJECT)) {
            return true;
        }
        Universe.Type type = universe.types.get(from);
        if (type == null) {
            return !universe.types.containsKey(to) && library(to).isAssignableFrom(library(from));
        }
        return isA(type.parent(), to) || type.interfaces().stream().anyMatch(it -> isA(it, to));
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
