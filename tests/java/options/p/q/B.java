// SPDX-License-Identifier: Apache-2.0

package p.q;

public class B {
    public static boolean isOn() {
        boolean isOn = false;
        assert isOn = true;
        return isOn;
    }
}
