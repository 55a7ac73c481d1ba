// SPDX-License-Identifier: Apache-2.0
package takt.screen;

import android.hardware.input.IInputDevicesChangedListener;
import android.os.IBinder;
import android.view.InputDevice;
import android.view.KeyCharacterMap;
import android.view.PointerIcon;

/** IInputManager of a machine whose keys and fingers are a script's. */
final class InputDevices {
    /** The one from which a script's keys come. */
    public int[] getInputDeviceIds() {
        return new int[] {KeyCharacterMap.VIRTUAL_KEYBOARD};
    }

    /** Its keys have no characters: text comes as text. */
    public InputDevice getInputDevice(int device) {
        if (device != KeyCharacterMap.VIRTUAL_KEYBOARD) {
            return null;
        }
        return new InputDevice.Builder().setId(device).setName("Takt").setSources(InputDevice.SOURCE_KEYBOARD)
                .setKeyboardType(InputDevice.KEYBOARD_TYPE_NON_ALPHABETIC)
                .setKeyCharacterMap(KeyCharacterMap.obtainEmptyMap(device)).build();
    }

    /** None is plugged in or out. */
    public void registerInputDevicesChangedListener(IInputDevicesChangedListener listener) {}

    /** Of a fling: AOSP's own choice. */
    public String getVelocityTrackerStrategy() {
        return null;
    }

    /** A browser draws its own pointer. */
    public boolean setPointerIcon(PointerIcon icon, int display, int device, int pointer, IBinder token) {
        return false;
    }

    /** As AOSP's pointer without a setting. */
    public int getMousePointerSpeed() {
        return 0;
    }
}
