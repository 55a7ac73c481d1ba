// SPDX-License-Identifier: Apache-2.0

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** What handles refuse, and in which words. */
public class Handles {
    interface Shape {
        int corners();

        default String name() {
            return "shape";
        }

        private String secret() {
            return "secret";
        }

        static int count() {
            return 7;
        }

        static MethodHandles.Lookup lookup() {
            return MethodHandles.lookup();
        }
    }

    static class Square implements Shape {
        int number = 4;
        final int fixed = 5;
        String text = "square";
        final String last = "last";
        boolean flag;
        float ratio = 0.5f;
        byte small = 3;
        static long total = 6;
        volatile double wide = 1.5;

        public int corners() {
            return 4;
        }

        static int sides() {
            return 4;
        }

        private int hidden() {
            return 8;
        }

        static MethodHandles.Lookup lookup() {
            return MethodHandles.lookup();
        }
    }

    abstract static class Solid {
        abstract int faces();

        int edges() {
            return 12;
        }
    }

    static class Cube extends Solid implements Shape {
        int faces() {
            return 6;
        }

        public int corners() {
            return 8;
        }

        static MethodHandles.Lookup lookup() {
            return MethodHandles.lookup();
        }
    }

    interface Answer {
        Object call() throws Throwable;
    }

    static void show(String what, Answer answer) {
        String text;
        try {
            text = String.valueOf(answer.call());
        } catch (InvocationTargetException e) {
            text = "target: " + e.getCause();
        } catch (Throwable e) {
            text = e + (e.getCause() == null ? "" : " because of " + e.getCause());
        }
        System.out.println(what + ": " + text.replaceAll("module @[0-9a-f]+", "module @…"));
    }

    /** HotSpot says UnsatisfiedLinkError, the documentation UnsupportedOperationException. */
    static boolean refused(java.lang.reflect.Method method, Object on, Object... arguments) throws Exception {
        try {
            return method.invoke(on, arguments) == on;
        } catch (InvocationTargetException e) {
            return e.getCause() instanceof UnsupportedOperationException || e.getCause() instanceof UnsatisfiedLinkError;
        }
    }

    static void modes(String what, VarHandle handle) {
        var supported = new StringBuilder();
        for (VarHandle.AccessMode mode : VarHandle.AccessMode.values()) {
            supported.append(handle.isAccessModeSupported(mode) ? '+' : '-');
        }
        System.out.println(what + ": " + supported);
    }

    static void variables() throws Exception {
        var lookup = Square.lookup();
        VarHandle number = lookup.findVarHandle(Square.class, "number", int.class);
        VarHandle fixed = lookup.findVarHandle(Square.class, "fixed", int.class);
        VarHandle text = lookup.findVarHandle(Square.class, "text", String.class);
        VarHandle last = lookup.findVarHandle(Square.class, "last", String.class);
        VarHandle flag = lookup.findVarHandle(Square.class, "flag", boolean.class);
        VarHandle ratio = lookup.findVarHandle(Square.class, "ratio", float.class);
        VarHandle small = lookup.findVarHandle(Square.class, "small", byte.class);
        VarHandle total = lookup.findStaticVarHandle(Square.class, "total", long.class);
        VarHandle elements = MethodHandles.arrayElementVarHandle(int[].class);
        VarHandle view = MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.LITTLE_ENDIAN);
        VarHandle buffer = MethodHandles.byteBufferViewVarHandle(double[].class, ByteOrder.BIG_ENDIAN);
        modes("number", number);
        modes("fixed", fixed);
        modes("text", text);
        modes("last", last);
        modes("flag", flag);
        modes("ratio", ratio);
        modes("small", small);
        modes("total", total);
        modes("elements", elements);
        modes("view", view);
        modes("buffer", buffer);
        var square = new Square();
        show("fixed is read", () -> (int) fixed.get(square));
        show("fixed is written", () -> {
            fixed.set(square, 1);
            return square.fixed;
        });
        show("text is added to", () -> (String) text.getAndAdd(square, "more"));
        show("text is swapped", () -> (String) text.getAndSet(square, "circle") + square.text);
        show("ratio has bits", () -> (float) ratio.getAndBitwiseOr(square, 1f));
        show("ratio is added to", () -> (float) ratio.getAndAdd(square, 1f) + square.ratio);
        show("view is swapped", () -> (boolean) view.compareAndSet(new byte[4], 0, (short) 0, (short) 1));
        show("buffer is added to", () -> (double) buffer.getAndAdd(ByteBuffer.allocate(8), 0, 1d));
        show("number as a handle", () -> number.toMethodHandle(VarHandle.AccessMode.GET_AND_ADD).type());
        show("text as a handle", () -> text.toMethodHandle(VarHandle.AccessMode.GET_AND_ADD).invoke(square, "x"));
    }

    static void methods() {
        var lookup = Square.lookup();
        var far = MethodHandles.publicLookup();
        MethodType toInt = MethodType.methodType(int.class);
        MethodType toText = MethodType.methodType(String.class);
        show("virtual of a static", () -> lookup.findVirtual(Square.class, "sides", toInt));
        show("static of a virtual", () -> lookup.findStatic(Square.class, "corners", toInt));
        show("virtual of an interface's static", () -> lookup.findVirtual(Shape.class, "count", toInt));
        show("static of an interface's method", () -> lookup.findStatic(Shape.class, "name", toText));
        show("nothing virtual", () -> lookup.findVirtual(Square.class, "nothing", toInt));
        show("nothing static", () -> lookup.findStatic(Square.class, "nothing", toInt));
        show("nothing of an interface", () -> lookup.findVirtual(Shape.class, "nothing", toInt));
        show("no constructor", () -> lookup.findConstructor(Square.class, MethodType.methodType(void.class, int.class)));
        show("special of an abstract", () -> Cube.lookup().findSpecial(Solid.class, "faces", toInt, Cube.class));
        show("special of a superclass", () ->
                (int) Cube.lookup().findSpecial(Solid.class, "edges", toInt, Cube.class).invoke(new Cube()));
        show("special of an abstract interface", () -> Cube.lookup().findSpecial(Shape.class, "corners", toInt, Cube.class));
        show("special of a default", () ->
                (String) Cube.lookup().findSpecial(Shape.class, "name", toText, Cube.class).invoke(new Cube()));
        show("special of a static", () -> lookup.findSpecial(Square.class, "sides", toInt, Square.class));
        show("special of a private", () ->
                (int) lookup.findSpecial(Square.class, "hidden", toInt, Square.class).invoke(new Square()));
        show("a class's default", () -> (String) lookup.findVirtual(Square.class, "name", toText).invoke(new Square()));
        show("a class's default, its type", () -> lookup.findVirtual(Square.class, "name", toText).type());
        show("a class's default, revealed", () ->
                lookup.revealDirect(lookup.findVirtual(Square.class, "name", toText)));
        show("an interface's default, revealed", () ->
                lookup.revealDirect(lookup.findVirtual(Shape.class, "name", toText)));
        show("a class's default, bound", () -> (String) lookup.bind(new Square(), "name", toText).invoke());
        show("a class's default, exactly", () ->
                (String) lookup.findVirtual(Square.class, "name", toText).invokeExact(new Square()));
        show("a private of an interface", () -> (String) Shape.lookup().findVirtual(Shape.class, "secret", toText).invoke(new Cube()));
        show("private from afar", () -> far.findVirtual(Square.class, "hidden", toInt));
        show("package's from afar", () -> far.findVirtual(Square.class, "sides", toInt));
        show("public of a hidden class from afar", () -> far.findVirtual(Square.class, "corners", toInt));
        show("library's private", () -> lookup.findVirtual(String.class, "isLatin1", MethodType.methodType(boolean.class)));
        show("library's package's", () -> lookup.findVirtual(String.class, "coder", MethodType.methodType(byte.class)));
        show("library's protected", () -> lookup.findVirtual(Object.class, "clone", MethodType.methodType(Object.class)));
        show("library's protected for us", () -> lookup.findVirtual(Square.class, "clone", MethodType.methodType(Object.class)).type());
        show("another's field", () -> lookup.findGetter(String.class, "hash", int.class));
        show("no field", () -> lookup.findGetter(Square.class, "nothing", int.class));
        show("a static field of an object", () -> lookup.findGetter(Square.class, "total", long.class));
        show("an object's field of none", () -> lookup.findStaticGetter(Square.class, "number", int.class));
        show("a field of another type", () -> lookup.findGetter(Square.class, "number", long.class));
        show("a final field is set", () -> lookup.findSetter(Square.class, "fixed", int.class));
    }

    static void polymorphic() throws Exception {
        MethodHandle corners = Square.lookup().findVirtual(Square.class, "corners", MethodType.methodType(int.class));
        VarHandle number = Square.lookup().findVarHandle(Square.class, "number", int.class);
        Object[] arguments = {new Object[] {new Square()}};
        for (String name : new String[] {"invokeExact", "invoke"}) {
            var method = MethodHandle.class.getMethod(name, Object[].class);
            show(name + " reflected", () -> method.invoke(corners, arguments));
            show(name + " reflected on nothing", () -> method.invoke(null, arguments));
            show(name + " unreflected", () -> (int) (Object) MethodHandles.lookup().unreflect(method).invoke(corners, new Object[] {new Square()}));
            show(name + " found with an array", () ->
                    (Object) MethodHandles.lookup().findVirtual(MethodHandle.class, name,
                            MethodType.methodType(Object.class, Object[].class)).invoke(corners, new Object[] {new Square()}));
            show(name + " found", () ->
                    (int) MethodHandles.lookup().findVirtual(MethodHandle.class, name,
                            MethodType.methodType(int.class, Square.class)).invoke(corners, new Square()));
        }
        for (String name : new String[] {"get", "set", "compareAndSet", "getAndAdd", "weakCompareAndSetPlain"}) {
            var method = VarHandle.class.getMethod(name, Object[].class);
            show(name + " reflected", () -> refused(method, number, arguments));
        }
        show("get found", () -> (int) MethodHandles.lookup().findVirtual(VarHandle.class, "get",
                MethodType.methodType(int.class, Square.class)).invoke(number, new Square()));
        show("a static of the kind", () -> MethodHandles.lookup().findStatic(MethodHandle.class, "invoke",
                MethodType.methodType(int.class, Square.class)));
        show("a static of variables", () -> MethodHandles.lookup().findStatic(VarHandle.class, "get",
                MethodType.methodType(int.class, Square.class)));
        show("inherited", () -> MethodHandles.lookup().findVirtual(corners.getClass(), "invokeExact",
                MethodType.methodType(int.class, Square.class)));
        show("own of the library", () -> MethodHandles.lookup().findStatic(MethodHandle.class, "linkToStatic",
                MethodType.methodType(int.class, Object.class)));
    }

    public static void main(String[] args) throws Exception {
        variables();
        methods();
        polymorphic();
    }
}
