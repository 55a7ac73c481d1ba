// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.content.AttributionSourceState;
import android.content.pm.PackageManager;
import android.os.RemoteException;
import android.permission.PermissionCheckerManager;

/** IPermissionChecker: has everybody through whom data goes the permission for it? */
final class PermissionChecks {
    private final AppProcess process;

    PermissionChecks(AppProcess process) {
        this.process = process;
    }

    /** As PermissionCheckerManager's numbers say. Who has the data itself is not asked about. */
    public int checkPermission(String permission, AttributionSourceState source, String message,
            boolean isForDelivery, boolean startsDelivery, boolean isFromDataSource, int operation)
            throws RemoteException {
        AttributionSourceState asked = isFromDataSource ? next(source) : source;
        while (asked != null) {
            if (process.checkPermission(permission, asked.pid, asked.uid) != PackageManager.PERMISSION_GRANTED) {
                return PermissionCheckerManager.PERMISSION_HARD_DENIED;
            }
            asked = next(asked);
        }
        return PermissionCheckerManager.PERMISSION_GRANTED;
    }

    private static AttributionSourceState next(AttributionSourceState of) {
        return of.next == null || of.next.length == 0 ? null : of.next[0];
    }
}
