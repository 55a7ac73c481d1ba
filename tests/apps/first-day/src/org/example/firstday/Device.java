// SPDX-License-Identifier: Apache-2.0
package org.example.firstday;

import android.app.UiModeManager;
import android.bluetooth.BluetoothAdapter;
import android.hardware.usb.UsbManager;
import android.location.LocationManager;
import android.net.ConnectivityManager;
import android.net.wifi.WifiManager;
import android.nfc.NfcAdapter;
import android.os.Build;
import android.os.Environment;
import android.os.PowerManager;
import android.os.UserManager;
import android.os.Vibrator;
import android.os.storage.StorageManager;
import android.os.storage.StorageVolume;
import android.provider.Settings;
import android.telephony.SmsManager;
import android.telephony.SubscriptionManager;
import android.telephony.TelephonyManager;
import android.view.accessibility.AccessibilityManager;
import java.io.File;
import java.io.IOException;

/** What applications ask of a device that lacks most of what a telephone has. */
public final class Device extends Day {
    @Override
    @SuppressWarnings("deprecation")
    void day() {
        telephone();
        sms();
        storage();
        say("contrast", () -> getSystemService(UiModeManager.class).getContrast());
        say("mode type", () -> getSystemService(UiModeManager.class).getCurrentModeType());
        say("night mode", () -> getSystemService(UiModeManager.class).getNightMode());
        say("serial", () -> {
            try {
                return Build.getSerial();
            } catch (SecurityException e) {
                return "refused";
            }
        });
        say("android id", () -> Settings.Secure.getString(getContentResolver(), Settings.Secure.ANDROID_ID)
                .matches("[0-9a-f]{16}"));
        say("bluetooth", BluetoothAdapter::getDefaultAdapter);
        say("nfc", () -> NfcAdapter.getDefaultAdapter(this));
        say("wifi", () -> getSystemService(WifiManager.class));
        say("network", () -> getSystemService(ConnectivityManager.class).getActiveNetworkInfo());
        say("networks", () -> getSystemService(ConnectivityManager.class).getAllNetworks());
        say("metered", () -> getSystemService(ConnectivityManager.class).isActiveNetworkMetered());
        say("providers", () -> getSystemService(LocationManager.class).getAllProviders());
        say("gps", () -> getSystemService(LocationManager.class).isProviderEnabled("gps"));
        say("usb", () -> getSystemService(UsbManager.class).getDeviceList());
        say("vibrator", () -> getSystemService(Vibrator.class).hasVibrator());
        say("interactive", () -> getSystemService(PowerManager.class).isInteractive());
        say("save", () -> getSystemService(PowerManager.class).isPowerSaveMode());
        say("idle", () -> getSystemService(PowerManager.class).isDeviceIdleMode());
        say("unlocked", () -> getSystemService(UserManager.class).isUserUnlocked());
        say("profiles", () -> getSystemService(UserManager.class).getUserProfiles());
        say("touch", () -> getSystemService(AccessibilityManager.class).isTouchExplorationEnabled());
    }

    @SuppressWarnings("deprecation")
    private void telephone() {
        TelephonyManager telephone = getSystemService(TelephonyManager.class);
        say("phone type", telephone::getPhoneType);
        say("network type", telephone::getNetworkType);
        say("data state", telephone::getDataState);
        say("data enabled", telephone::isDataEnabled);
        say("call state", telephone::getCallState);
        say("sim state", telephone::getSimState);
        say("device id", telephone::getDeviceId);
        say("imei", telephone::getImei);
        say("subscriber", telephone::getSubscriberId);
        say("line", telephone::getLine1Number);
        say("sim serial", telephone::getSimSerialNumber);
        say("operator", telephone::getNetworkOperatorName);
        say("operator", telephone::getNetworkOperator);
        say("sim operator", telephone::getSimOperator);
        say("country", telephone::getNetworkCountryIso);
        say("roaming", telephone::isNetworkRoaming);
        say("icc", telephone::hasIccCard);
        say("sms", telephone::isSmsCapable);
        say("voice", telephone::isVoiceCapable);
        say("phones", telephone::getActiveModemCount);
        say("subscriptions", () -> getSystemService(SubscriptionManager.class).getActiveSubscriptionInfoList());
        say("default subscription", SubscriptionManager::getDefaultSubscriptionId);
    }

    @SuppressWarnings("deprecation")
    private void sms() {
        say("default sms", () -> SmsManager.getDefault().getSubscriptionId());
        say("divide", () -> SmsManager.getDefault().divideMessage("hello"));
        say("send", () -> {
            SmsManager.getDefault().sendTextMessage("1", null, "hello", null, null);
            return "sent";
        });
    }

    @SuppressWarnings("deprecation")
    private void storage() {
        StorageManager storage = getSystemService(StorageManager.class);
        say("state", Environment::getExternalStorageState);
        say("emulated", () -> Environment.isExternalStorageEmulated());
        say("removable", () -> Environment.isExternalStorageRemovable());
        say("volumes", () -> storage.getStorageVolumes().size());
        say("primary", () -> {
            StorageVolume volume = storage.getPrimaryStorageVolume();
            return volume.isPrimary() + " " + volume.isEmulated() + " " + volume.isRemovable() + " "
                    + volume.getState() + " " + volume.getUuid() + " " + volume.getDescription(this);
        });
        say("external", () -> getExternalFilesDir(null).isDirectory());
        say("external", () -> getExternalFilesDirs(null).length);
        say("external cache", () -> getExternalCacheDir().isDirectory());
        say("folders", () -> getExternalFilesDir(Environment.DIRECTORY_PICTURES).getPath()
                .startsWith(Environment.getExternalStorageDirectory().getPath()) + " "
                + getExternalMediaDirs().length);
        say("public", () -> Environment.getExternalStoragePublicDirectory(Environment.DIRECTORY_MUSIC).getName());
        say("volume", () -> {
            StorageVolume volume = storage.getStorageVolume(getExternalFilesDir(null));
            return volume.equals(storage.getPrimaryStorageVolume()) + " " + volume.getDirectory().isDirectory() + " "
                    + volume.getMediaStoreVolumeName() + " " + storage.getStorageVolume(new File("/nowhere"));
        });
        say("recent", () -> storage.getRecentStorageVolumes().size());
        say("uuid", () -> storage.getUuidForPath(getFilesDir()).equals(StorageManager.UUID_DEFAULT));
        say("allocatable", () -> storage.getAllocatableBytes(StorageManager.UUID_DEFAULT) > 0);
        say("allocate", () -> {
            storage.allocateBytes(StorageManager.UUID_DEFAULT, 1 << 20);
            return "there is room";
        });
        say("no room", () -> {
            try {
                storage.allocateBytes(StorageManager.UUID_DEFAULT, 1L << 60);
                return "there is room";
            } catch (IOException e) {
                return e.getMessage().replaceAll("only \\d+", "only N");
            }
        });
        say("quota", () -> storage.getCacheQuotaBytes(StorageManager.UUID_DEFAULT) > 0);
        say("obb", () -> getObbDir().isDirectory());
    }
}
