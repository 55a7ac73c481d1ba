// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.net.Network;
import android.net.ProxyInfo;

/**
 * IConnectivityManager, as far as a process asks when it starts: no proxy, and no network that
 * Android manages.
 */
final class Connectivity {
    /** None. */
    public ProxyInfo getProxyForNetwork(Network network) {
        return null;
    }

    /** None: sockets work, but nobody manages the machine's networks for applications. */
    public Network getActiveNetwork() {
        return null;
    }
}
