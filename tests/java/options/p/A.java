// SPDX-License-Identifier: Apache-2.0

package p;

public class A {
    public static boolean isOn() {
        boolean isOn = false;
        assert isOn = true;
        return isOn;
    }
}
