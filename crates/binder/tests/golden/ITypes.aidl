// SPDX-License-Identifier: Apache-2.0
package takt.test;

/** What IGolden does not have: each kind of type that the stubs know, in each direction. */
interface ITypes {
    const int MASK = 0xffffffff;
    const String NAME = "types";
    const boolean IS_SMALL = true;

    char letter(char letter, byte small, float real);
    void numbers(in boolean[] truths, in char[] letters, in float[] reals, in double[] wide, inout long[] longs);
    @nullable Point moved(in @nullable Point point, int by);
    void grow(inout Point point, out Point copy);
    Point[] reversed(in Point[] points);
    void listed(in List<Point> points, out List<String> names, inout List<String> more);
    Colour next(Colour colour, in Colour[] colours, out Colour[] all);
    ParcelFileDescriptor kept(in ParcelFileDescriptor fd);
    @nullable ParcelFileDescriptor none(in @nullable ParcelFileDescriptor fd);
    List<IBinder> binders(in List<IBinder> binders, in @nullable IBinder[] more);
    @nullable ITypes self(@nullable ITypes types);
    @nullable int[] maybe(in @nullable int[] numbers);
    oneway void type(in @nullable String type);
    void specific(int number);
}

parcelable Point {
    const int DIMENSIONS = 2;
    int x;
    long y = -1;
    @nullable String name;
    String unit = "mm";
    Colour colour = Colour.GREEN;
    @nullable IBinder owner;
    int[] tail;
    Size size;
    float scale = 1.5f;
    byte[] bytes;
}

parcelable Size {
    double width;
    List<String> labels;
}

@Backing(type="int")
enum Colour { RED, GREEN = 5, BLUE }
