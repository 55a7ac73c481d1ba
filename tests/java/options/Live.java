// SPDX-License-Identifier: Apache-2.0

import java.lang.reflect.InvocationTargetException;

/** Asks for the local variables of frames, which the library can, but does not offer. */
public class Live {
    public static void main(String[] args) throws Exception {
        var make = Class.forName("java.lang.LiveStackFrame").getDeclaredMethod("getStackWalker");
        make.setAccessible(true);
        StackWalker walker = (StackWalker) make.invoke(null);
        try {
            System.out.println(walker.walk(frames -> frames.count()) > 0);
        } catch (UnsupportedOperationException e) {
            System.out.println(e.getMessage());
        }
    }
}
