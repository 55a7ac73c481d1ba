// SPDX-License-Identifier: Apache-2.0
package takt.test;

import takt.test.IGoldenCallback;

/** Each kind of type, direction and call that our own interfaces use, once. */
interface IGolden {
    const int VERSION = 1;

    boolean not(boolean value);
    int negative(int value);
    long twice(long value);
    double half(double value);
    @nullable String greet(@nullable String name);
    byte[] reversed(in byte[] bytes);
    void fill(out int[] numbers);
    void sort(inout int[] numbers);
    List<String> words(String text);
    @nullable String[] joined(in @nullable String[] left, in @nullable String[] right);
    android.os.Bundle with(in android.os.Bundle bundle, String key, String value);
    IBinder same(IBinder binder);
    void watch(IGoldenCallback callback);
    oneway void tell(int number);
    void refuse(String why);
}
