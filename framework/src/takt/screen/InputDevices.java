// SPDX-License-Identifier: Apache-2.0
package takt.screen;

import android.hardware.input.IInputDevicesChangedListener;
import android.hardware.input.InputDeviceIdentifier;
import android.view.InputDevice;
import android.view.KeyCharacterMap;

/** IInputManager of a machine whose keys and fingers are a script's. */
final class InputDevices {
    /** None that is plugged in. */
    public int[] getInputDeviceIds() {
        return new int[0];
    }

    /** The one from which keys come; its keys have no characters: text comes as text. */
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

    /** As AOSP's pointer without a setting. */
    public int getMousePointerSpeed() {
        return 0;
    }
}
