// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.net.LinkProperties;
import android.net.Network;
import android.net.NetworkCapabilities;
import android.net.NetworkInfo;
import android.net.ProxyInfo;

/**
 * IConnectivityManager, as far as it speaks of what is there: no proxy, and no network that Android
 * manages.
 */
@SuppressWarnings("deprecation") // NetworkInfo: applications still ask for it.
final class Connectivity {
    /** None. */
    public ProxyInfo getProxyForNetwork(Network network) {
        return null;
    }

    /** As getActiveNetwork. */
    public NetworkInfo getActiveNetworkInfo() {
        return null;
    }

    /** As getActiveNetwork, of one kind. */
    public NetworkInfo getNetworkInfo(int kind) {
        return null;
    }

    /** As getActiveNetwork. */
    public NetworkInfo[] getAllNetworkInfo() {
        return new NetworkInfo[0];
    }

    /** As getActiveNetwork. */
    public Network[] getAllNetworks() {
        return new Network[0];
    }

    /** No kind is managed. */
    public boolean isNetworkSupported(int kind) {
        return false;
    }

    /** Null for a network that is not there. */
    public NetworkCapabilities getNetworkCapabilities(Network network, String name, String feature) {
        return null;
    }

    /** As getNetworkCapabilities. */
    public LinkProperties getLinkProperties(Network network) {
        return null;
    }

    /** Without a network Android is careful. */
    public boolean isActiveNetworkMetered() {
        return true;
    }

    /** None: sockets work, but nobody manages the machine's networks for applications. */
    public Network getActiveNetwork() {
        return null;
    }
}
