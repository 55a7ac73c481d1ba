// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.accessibilityservice.AccessibilityServiceInfo;
import android.app.IUiModeManager;
import android.app.IUiModeManagerCallback;
import android.app.UiModeManager;
import android.content.Context;
import android.content.res.Configuration;
import android.content.res.Resources;
import android.hardware.usb.IUsbManager;
import android.location.Criteria;
import android.location.ILocationListener;
import android.location.ILocationManager;
import android.location.LastLocationRequest;
import android.location.Location;
import android.location.LocationManager;
import android.location.LocationRequest;
import android.media.IAudioService;
import android.os.Bundle;
import android.os.IPowerManager;
import android.os.IVibratorManagerService;
import android.view.accessibility.IAccessibilityManager;
import android.view.accessibility.IAccessibilityManagerClient;
import com.android.internal.R;
import java.util.List;

/**
 * What Android answers on a device that has a part not built in: no vibrator, no receiver of
 * satellites, nothing on the USB, no screen to dim.
 *
 * <p>Telephone, Bluetooth and NFC have no service at all on such a device, so none is here either:
 * AOSP's clients have the answers themselves.
 */
@SuppressWarnings("deprecation") // Criteria: applications still ask with it.
final class Devices {
    private Devices() {}

    static void register() {
        ServiceRegistry.add(Context.AUDIO_SERVICE, () -> LocalInterface.binder(IAudioService.class, new Sounds()));
        ServiceRegistry.add(Context.UI_MODE_SERVICE, LocalInterface.binder(IUiModeManager.class, new UiMode()));
        ServiceRegistry.add(Context.LOCATION_SERVICE, LocalInterface.binder(ILocationManager.class, new Places()));
        ServiceRegistry.add(Context.VIBRATOR_MANAGER_SERVICE,
                LocalInterface.binder(IVibratorManagerService.class, new Vibrators()));
        ServiceRegistry.add(Context.USB_SERVICE, LocalInterface.binder(IUsbManager.class, new Usb()));
        ServiceRegistry.add(Context.POWER_SERVICE, LocalInterface.binder(IPowerManager.class, new Power()));
        ServiceRegistry.add(Context.ACCESSIBILITY_SERVICE,
                LocalInterface.binder(IAccessibilityManager.class, new Accessibility()));
    }

    /** IUiModeManager: neither in a car nor in a dock, by day, with the plain contrast. */
    private static final class UiMode {
        /** The contrast is what changes would be told of: it never does. */
        public void addCallback(IUiModeManagerCallback callback) {}

        public float getContrast() {
            return 0;
        }

        public int getCurrentModeType() {
            return Configuration.UI_MODE_TYPE_NORMAL;
        }

        public int getNightMode() {
            return UiModeManager.MODE_NIGHT_NO;
        }

        public boolean isUiModeLocked() {
            return false;
        }

        public boolean isNightModeLocked() {
            return false;
        }
    }

    /** ILocationManager: only the provider that passes on what others found, and nobody finds. */
    private static final class Places {
        public List<String> getAllProviders() {
            return List.of(LocationManager.PASSIVE_PROVIDER);
        }

        /** The passive provider meets no criteria. */
        public List<String> getProviders(Criteria criteria, boolean isEnabled) {
            return criteria == null ? getAllProviders() : List.of();
        }

        /** As getProviders. */
        public String getBestProvider(Criteria criteria, boolean isEnabled) {
            return null;
        }

        public boolean hasProvider(String name) {
            return LocationManager.PASSIVE_PROVIDER.equals(name);
        }

        public boolean isProviderEnabledForUser(String name, int user) {
            return hasProvider(name);
        }

        public boolean isLocationEnabledForUser(int user) {
            return true;
        }

        /** Nothing was found yet. */
        public Location getLastLocation(String provider, LastLocationRequest request, String name, String feature) {
            return null;
        }

        /** Waits for ever, as on Android where nobody else asks for places. */
        public void registerLocationListener(String provider, LocationRequest request, ILocationListener listener,
                String name, String feature, String listenerId) {
            if (!hasProvider(provider)) {
                throw new IllegalArgumentException("provider \"" + provider + "\" does not exist");
            }
        }

        public void unregisterLocationListener(ILocationListener listener) {}
    }

    /** IVibratorManagerService: none, so what should vibrate does not. */
    private static final class Vibrators {
        public int[] getVibratorIds() {
            return new int[0];
        }
    }

    /** IUsbManager: nothing that an application may have is plugged in. */
    private static final class Usb {
        /** Adds each device. */
        public void getDeviceList(Bundle devices) {}
    }

    /** IPowerManager: awake, on mains. */
    private static final class Power {
        public boolean isInteractive() {
            return true;
        }

        public boolean isPowerSaveMode() {
            return false;
        }

        public boolean isDeviceIdleMode() {
            return false;
        }

        public boolean isLightDeviceIdleMode() {
            return false;
        }
    }

    /** IAccessibilityManager: nobody reads a screen to anybody. */
    private static final class Accessibility {
        /** Of the state, no bit is set; it never changes. */
        public long addClient(IAccessibilityManagerClient client, int user) {
            return 0;
        }

        public boolean removeClient(IAccessibilityManagerClient client, int user) {
            return true;
        }

        public List<AccessibilityServiceInfo> getInstalledAccessibilityServiceList(int user) {
            return List.of();
        }

        public List<AccessibilityServiceInfo> getEnabledAccessibilityServiceList(int kinds, int user) {
            return List.of();
        }

        /** What the frame around a focus would look like: as the framework's own resources say. */
        public int getFocusStrokeWidth() {
            return Resources.getSystem().getDimensionPixelSize(
                    R.dimen.accessibility_focus_highlight_stroke_width);
        }

        /** As getFocusStrokeWidth. */
        public int getFocusColor() {
            return Resources.getSystem().getColor(R.color.accessibility_focus_highlight_color, null);
        }

        /** No time that a person has asked for. */
        public long getRecommendedTimeoutMillis() {
            return 0;
        }
    }
}
