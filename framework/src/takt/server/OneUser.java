// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.Manifest;
import android.app.AppOpsManager;
import android.content.Context;
import android.content.IClipboard;
import android.os.Build;
import android.os.Bundle;
import android.os.Environment;
import android.os.IDeviceIdentifiersPolicyService;
import android.os.IUserManager;
import android.os.ParcelableException;
import android.os.Process;
import android.os.RemoteException;
import android.os.UserHandle;
import android.os.storage.IStorageEventListener;
import android.os.storage.IStorageManager;
import android.os.storage.StorageManager;
import android.os.storage.StorageVolume;
import android.os.storage.VolumeInfo;
import com.android.internal.app.IAppOpsService;
import java.io.File;
import java.io.IOException;

/** A device with one user, who is there, and one volume: the user's part of the data folder. */
final class OneUser {
    private OneUser() {}

    static void register(InstalledPackage installed, OtherPackages others) {
        ServiceRegistry.add(Context.USER_SERVICE, LocalInterface.binder(IUserManager.class, new User()));
        ServiceRegistry.add("mount", LocalInterface.binder(IStorageManager.class, new Storage(installed)));
        ServiceRegistry.add(Context.CLIPBOARD_SERVICE, LocalInterface.binder(IClipboard.class, new Clipboard()));
        ServiceRegistry.add(Context.APP_OPS_SERVICE, LocalInterface.binder(IAppOpsService.class,
                new Operations(installed, others)));
        ServiceRegistry.add(Context.DEVICE_IDENTIFIERS_SERVICE,
                LocalInterface.binder(IDeviceIdentifiersPolicyService.class, new Identifiers(installed)));
    }

    /** IUserManager: who starts an application has unlocked what is the user's. */
    private static final class User {
        public boolean isUserUnlockingOrUnlocked(int user) {
            return isUserRunning(user);
        }

        public boolean isUserUnlocked(int user) {
            return isUserRunning(user);
        }

        public boolean isUserRunning(int user) {
            return user == AppProcess.USER;
        }

        public boolean isUserForeground(int user) {
            return isUserRunning(user);
        }

        /** The user has no profile but the own. */
        public int[] getProfileIds(int user, boolean onlyEnabled) {
            return new int[] {AppProcess.USER};
        }

        /** Empty: of an ordinary user. */
        public String getProfileType(int user) {
            return "";
        }

        public boolean isQuietModeEnabled(int user) {
            return false;
        }

        public boolean isDemoUser(int user) {
            return false;
        }

        public int getUserSerialNumber(int user) {
            return isUserRunning(user) ? 0 : -1;
        }

        public int getUserHandle(int serial) {
            return serial == 0 ? AppProcess.USER : UserHandle.USER_NULL;
        }

        /** Nobody restricts the user. */
        public boolean hasUserRestriction(String restriction, int user) {
            return false;
        }

        public Bundle getUserRestrictions(int user) {
            return new Bundle();
        }

        public Bundle getApplicationRestrictions(String name) {
            return new Bundle();
        }
    }

    /** IStorageManager: the volume that Android emulates on every device. */
    private static final class Storage {
        private static final String FOLDER = "external";

        private static final long CACHE_QUOTA_BYTES = 64 << 20;

        private final File data;
        private final StorageVolume volume;

        Storage(InstalledPackage installed) {
            data = new File(installed.application.dataDir);
            File folder = new File(data, FOLDER);
            volume = new StorageVolume("emulated;0", folder, folder, "Internal shared storage", true, false, true,
                    false, false, 0, UserHandle.of(AppProcess.USER), StorageManager.UUID_DEFAULT, null,
                    Environment.MEDIA_MOUNTED);
        }

        public StorageVolume[] getVolumeList(int user, String name, int flags) {
            // Who asks goes on by making a folder in it.
            volume.getPathFile().mkdir();
            return new StorageVolume[] {volume};
        }

        /** For the application, which has no right to the volume's upper folders on Android. */
        public void mkdirs(String name, String path) throws IOException {
            File folder = new File(path).getCanonicalFile();
            if (!folder.toPath().startsWith(volume.getPathFile().getCanonicalFile().toPath())) {
                throw new SecurityException("not on a volume: " + path);
            }
            if (!folder.isDirectory() && !folder.mkdirs()) {
                throw new IllegalStateException("cannot make " + path);
            }
        }

        /** The data folder, which belongs to the device, and what is emulated in it. */
        public VolumeInfo[] getVolumes(int flags) {
            return new VolumeInfo[] {
                mounted(VolumeInfo.ID_PRIVATE_INTERNAL, VolumeInfo.TYPE_PRIVATE, data),
                mounted(VolumeInfo.ID_EMULATED_INTERNAL, VolumeInfo.TYPE_EMULATED, volume.getPathFile()),
            };
        }

        private static VolumeInfo mounted(String id, int type, File folder) {
            VolumeInfo info = new VolumeInfo(id, type, null, null);
            info.state = VolumeInfo.STATE_MOUNTED;
            info.path = folder.getPath();
            info.mountUserId = AppProcess.USER;
            return info;
        }

        /** What the file system has left for this process: no caches of others are cleared. */
        public long getAllocatableBytes(String uuid, int flags, String name) {
            return data.getUsableSpace();
        }

        /** Is there so much? It is the file that takes it. */
        public void allocateBytes(String uuid, long bytes, int flags, String name) {
            long left = getAllocatableBytes(uuid, flags, name);
            if (bytes > left) {
                throw new ParcelableException(new IOException(
                        "Failed to allocate " + bytes + " because only " + left + " allocatable"));
            }
        }

        /** As Android says before it has counted. */
        public long getCacheQuotaBytes(String uuid, int uid) {
            return CACHE_QUOTA_BYTES;
        }

        /** None: the first one belongs to the device. */
        public String getPrimaryStorageUuid() {
            return StorageManager.UUID_PRIVATE_INTERNAL;
        }

        public boolean isCeStorageUnlocked(int user) {
            return true;
        }

        /** The volume stays as it is: there is nothing to tell of. */
        public void registerListener(IStorageEventListener listener) {}

        public void unregisterListener(IStorageEventListener listener) {}
    }

    /** IAppOpsService: the user has forbidden nothing and allowed nothing of their own accord. */
    private static final class Operations {
        private final InstalledPackage installed;
        private final OtherPackages others;

        Operations(InstalledPackage installed, OtherPackages others) {
            this.installed = installed;
            this.others = others;
        }

        /** What Android begins with; for many operations that is what the permission says. */
        public int checkOperation(int operation, int uid, String name) {
            return AppOpsManager.opToDefaultMode(operation);
        }

        /** Is the package this user's? Where packages have no user of their own, each may be. */
        public int checkPackage(int uid, String name) throws RemoteException {
            boolean isOwn = uid == Process.myUid() && name.equals(installed.info.packageName);
            InstalledPackage found = isOwn ? null : others.named(name);
            boolean isIts = found != null && (found.application.uid == uid || uid == Process.myUid());
            return isOwn || isIts ? AppOpsManager.MODE_ALLOWED : AppOpsManager.MODE_ERRORED;
        }
    }

    /** IDeviceIdentifiersPolicyService: from Android 10 on, no application may ask. */
    private static final class Identifiers {
        private final InstalledPackage installed;

        Identifiers(InstalledPackage installed) {
            this.installed = installed;
        }

        public String getSerialForPackage(String name, String feature) {
            boolean mayAsk = installed.application.targetSdkVersion < Build.VERSION_CODES.Q
                    && installed.asksFor(Manifest.permission.READ_PHONE_STATE);
            if (!mayAsk) {
                throw new SecurityException("getSerial: the user " + installed.application.uid
                        + " does not meet the requirements to access device identifiers.");
            }
            return Build.UNKNOWN;
        }
    }
}
