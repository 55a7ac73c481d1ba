// SPDX-License-Identifier: Apache-2.0

import java.lang.reflect.Array;
import java.util.Arrays;

/** Arrays by reflection: each kind of access to each kind of array, and what is no array. */
public class Elements {
    private static final String[] KINDS = {
        "boolean", "byte", "char", "short", "int", "long", "float", "double", "Object", "null",
    };

    private static Object[] arrays() {
        return new Object[] {
            new boolean[] {true, false}, new byte[] {-1, 2}, new char[] {'a', '\uffff'}, new short[] {-3, 4},
            new int[] {-5, Integer.MAX_VALUE}, new long[] {-6, Long.MIN_VALUE}, new float[] {-7.5f, Float.MIN_VALUE},
            new double[] {-8.5, Double.MAX_VALUE}, new Object[] {"nine", 10}, new String[] {"eleven", null},
            new int[][] {{12}, null}, new Integer[] {13, null}, "no array", null,
        };
    }

    private static Object get(String kind, Object array, int index) {
        switch (kind) {
            case "boolean":
                return Array.getBoolean(array, index);
            case "byte":
                return Array.getByte(array, index);
            case "char":
                return (int) Array.getChar(array, index);
            case "short":
                return Array.getShort(array, index);
            case "int":
                return Array.getInt(array, index);
            case "long":
                return Array.getLong(array, index);
            case "float":
                return Array.getFloat(array, index);
            case "double":
                return Array.getDouble(array, index);
            default:
                Object element = Array.get(array, index);
                return element instanceof int[] ? Arrays.toString((int[]) element) : element;
        }
    }

    private static void set(String kind, Object array, int index) {
        switch (kind) {
            case "boolean":
                Array.setBoolean(array, index, true);
                break;
            case "byte":
                Array.setByte(array, index, (byte) -128);
                break;
            case "char":
                Array.setChar(array, index, '\ufffe');
                break;
            case "short":
                Array.setShort(array, index, (short) -32768);
                break;
            case "int":
                Array.setInt(array, index, -2_000_000_001);
                break;
            case "long":
                Array.setLong(array, index, -9_000_000_000_000_000_001L);
                break;
            case "float":
                Array.setFloat(array, index, -1.1f);
                break;
            case "double":
                Array.setDouble(array, index, -1.1e200);
                break;
            case "null":
                Array.set(array, index, null);
                break;
            default:
                Array.set(array, index, "text");
                break;
        }
    }

    private static String content(Object array) {
        return array instanceof Object[] || array == null || array instanceof String
                ? Arrays.deepToString(new Object[] {array})
                : Arrays.deepToString(new Object[] {array}).replace("\ufffe", "fffe").replace("\uffff", "ffff");
    }

    private interface Access {
        Object run();
    }

    private static String outcome(Access access) {
        try {
            return String.valueOf(access.run());
        } catch (RuntimeException e) {
            return e.getClass().getSimpleName() + ": " + e.getMessage();
        }
    }

    public static void main(String[] args) {
        for (String kind : KINDS) {
            for (Object array : arrays()) {
                for (int index = -1; index <= 2; index++) {
                    int at = index;
                    System.out.println(kind + " " + index + " " + outcome(() -> get(kind, array, at)) + " | " + outcome(() -> {
                        set(kind, array, at);
                        return content(array);
                    }));
                }
            }
        }
        Class<?>[] elements = {int.class, String.class, int[].class, void.class, null};
        for (Class<?> element : elements) {
            for (int length : new int[] {0, 2, -1}) {
                System.out.println(outcome(() -> Array.newInstance(element, length).getClass() + " " + length));
                System.out.println(outcome(() -> Array.newInstance(element, length, 1).getClass()));
            }
            System.out.println(outcome(() -> Array.newInstance(element, new int[0])));
            System.out.println(outcome(() -> Array.newInstance(element, new int[256])));
            System.out.println(outcome(() -> Array.newInstance(element, (int[]) null)));
        }
        for (Object array : arrays()) {
            System.out.println(outcome(() -> Array.getLength(array)));
        }
        overlaps();
    }

    /**
     * Copies within an array that is longer than what is copied at once, in both directions and by
     * odd distances.
     */
    private static void overlaps() {
        int length = 200_000;
        for (int distance : new int[] {1, 7, 4096, 65_536, 99_999}) {
            byte[] up = new byte[length];
            long[] down = new long[length];
            for (int i = 0; i < length; i++) {
                up[i] = (byte) (i * 31 >> 3);
                down[i] = i * 31L;
            }
            System.arraycopy(up, 0, up, distance, length - distance);
            System.arraycopy(down, distance, down, 0, length - distance);
            System.out.println(distance + " " + Arrays.hashCode(up) + " " + Arrays.hashCode(down.clone()));
        }
    }
}
