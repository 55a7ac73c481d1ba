// SPDX-License-Identifier: Apache-2.0 A method of AOSP's has an object that it needs no more, while
// it still calls what it got from it: does it keep the object?

import java.util.Iterator;
import java.util.List;

class Joined {
    /** Its iterator knows nothing of it. */
    static final class Tokens implements Iterable<String> {
        final Scopes.Canvas own = new Scopes.Canvas();

        @Override
        public Iterator<String> iterator() {
            return new Asking(own.number);
        }
    }

    static final class Asking implements Iterator<String> {
        final Iterator<String> texts = List.of("one", "two").iterator();
        final int number;

        Asking(int number) {
            this.number = number;
        }

        @Override
        public boolean hasNext() {
            return texts.hasNext();
        }

        @Override
        public String next() {
            String state = Scopes.isFreedInUse(number) ? "freed in use" : "kept";
            return texts.next() + ": " + state;
        }
    }

    public static void main(String[] arguments) {
        System.out.println(android.text.TextUtils.join("\n", new Tokens()));
    }
}
