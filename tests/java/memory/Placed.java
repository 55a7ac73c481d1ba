// SPDX-License-Identifier: Apache-2.0 Lets go of an array and asks whether the collector still
// finds it, while a frame of the machine's own code is on the stack.

import java.lang.ref.WeakReference;

class Placed {
    static byte[] array = new byte[256 << 10];
    static final WeakReference<byte[]> FOUND = new WeakReference<>(array);

    /** The machine runs this initialiser, called by compiled code. */
    static class Inner {
        static final boolean IS_KEPT;

        static {
            array = null;
            System.gc();
            IS_KEPT = FOUND.get() != null;
        }
    }

    static byte[] array() {
        return array;
    }

    static boolean isKept() {
        return Inner.IS_KEPT;
    }
}
