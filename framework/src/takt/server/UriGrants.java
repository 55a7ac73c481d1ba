// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.app.IApplicationThread;
import android.content.Intent;
import android.content.UriPermission;
import android.content.pm.PackageManager;
import android.content.pm.ParceledListSlice;
import android.net.Uri;
import android.os.IBinder;
import android.os.RemoteException;
import java.util.ArrayList;
import java.util.List;
import takt.system.ISystem;
import takt.system.Kept;

/**
 * Grants of single addresses: IUriGrantsManager, and IActivityManager's part of it. The system
 * server has them. A hosted one knows no other package: nobody is granted anything.
 */
final class UriGrants {
    private static final int MODES = Intent.FLAG_GRANT_READ_URI_PERMISSION | Intent.FLAG_GRANT_WRITE_URI_PERMISSION;
    private static final int FLAGS =
            MODES | Intent.FLAG_GRANT_PERSISTABLE_URI_PERMISSION | Intent.FLAG_GRANT_PREFIX_URI_PERMISSION;

    private final InstalledPackage installed;
    private final ISystem system;

    UriGrants(InstalledPackage installed, ISystem system) {
        this.installed = installed;
        this.system = system;
    }

    /** A provider asks for each address that its permissions keep from a caller. */
    public int checkUriPermission(Uri uri, int pid, int uid, int mode, int user, IBinder token)
            throws RemoteException {
        boolean isGranted = system.hasAddress(uri.toString(), pid, uid, mode);
        return isGranted ? PackageManager.PERMISSION_GRANTED : PackageManager.PERMISSION_DENIED;
    }

    /** The same, of several. */
    public int[] checkUriPermissions(List<Uri> uris, int pid, int uid, int mode, int user, IBinder token)
            throws RemoteException {
        int[] found = new int[uris.size()];
        for (int index = 0; index < found.length; index++) {
            found[index] = checkUriPermission(uris.get(index), pid, uid, mode, user, token);
        }
        return found;
    }

    /** Until it is taken back. */
    public void grantUriPermission(IApplicationThread caller, String target, Uri uri, int flags, int user)
            throws RemoteException {
        checkGiven(target, "target");
        checkGiven(uri, "uri");
        checkFlags(flags, FLAGS);
        system.grantAddress(target, uri.toString(), flags);
    }

    /** From one package, or from all. */
    public void revokeUriPermission(IApplicationThread caller, String target, Uri uri, int flags, int user)
            throws RemoteException {
        checkGiven(uri, "uri");
        if ((flags & MODES) != 0) {
            system.revokeAddress(target, uri.toString(), flags & MODES);
        }
    }

    /** It is there after a restart. */
    public void takePersistableUriPermission(Uri uri, int modes, String target, int user) throws RemoteException {
        checkFlags(modes, MODES);
        checkOwn(target);
        system.keepAddress(uri.toString(), modes);
    }

    /** It is not kept any more. */
    public void releasePersistableUriPermission(Uri uri, int modes, String target, int user) throws RemoteException {
        checkFlags(modes, MODES);
        checkOwn(target);
        if (!system.releaseAddress(uri.toString(), modes)) {
            throw new SecurityException("no permission grants found for " + uri);
        }
    }

    /** What this package keeps, or others keep of it. */
    public ParceledListSlice<UriPermission> getUriPermissions(String name, boolean isIncoming, boolean isPersistedOnly)
            throws RemoteException {
        checkOwn(name);
        if (!isPersistedOnly) {
            throw new UnsupportedOperationException("getUriPermissions of what is not kept is not supported by Takt yet");
        }
        List<UriPermission> found = new ArrayList<>();
        for (Kept kept : system.keptAddresses(isIncoming)) {
            found.add(new UriPermission(Uri.parse(kept.address), kept.modes, kept.since));
        }
        return new ParceledListSlice<>(found);
    }

    private void checkOwn(String name) {
        if (name != null && !name.equals(installed.info.packageName)) {
            throw new SecurityException("package " + name + " does not belong to this process");
        }
    }

    private static void checkGiven(Object value, String name) {
        if (value == null) {
            throw new IllegalArgumentException("null " + name);
        }
    }

    private static void checkFlags(int flags, int allowed) {
        if ((flags & ~allowed) != 0) {
            throw new IllegalArgumentException("flags 0x" + Integer.toHexString(flags) + ", allowed 0x"
                    + Integer.toHexString(allowed));
        }
    }
}
