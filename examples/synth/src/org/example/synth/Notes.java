// SPDX-License-Identifier: Apache-2.0
package org.example.synth;

/**
 * Notes as a person writes them: {@code c4 e4 c4+e4+g4}; {@code #} is a half tone up, {@code -} a
 * rest.
 */
final class Notes {
    private static final String NAMES = "c d ef g a b";
    private static final int KEYS_OF_OCTAVE = 12;
    private static final int OCTAVE_MIN = 2;

    private Notes() {}

    /** A bit for each key of a chord, for each word. */
    static long[] parse(String text) {
        String[] words = text.trim().split("\\s+");
        long[] chords = new long[words.length];
        for (int i = 0; i < words.length; i++) {
            if (!words[i].equals("-")) {
                for (String note : words[i].split("\\+")) {
                    chords[i] |= 1L << key(note);
                }
            }
        }
        return chords;
    }

    private static int key(String note) {
        boolean isSharp = note.length() == 3 && note.charAt(1) == '#';
        int name = note.isEmpty() || note.charAt(0) == ' ' ? -1 : NAMES.indexOf(note.charAt(0));
        int octave = note.length() == (isSharp ? 3 : 2) ? note.charAt(note.length() - 1) - '0' : -1;
        int key = (octave - OCTAVE_MIN) * KEYS_OF_OCTAVE + name + (isSharp ? 1 : 0);
        if (name < 0 || octave < OCTAVE_MIN || key >= Organ.KEYS) {
            throw new IllegalArgumentException("no note: '" + note + "'; such as c4, f#3 or b6 are");
        }
        return key;
    }
}
