// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.os.ConnectionInfo;
import android.os.IBinder;
import android.os.IClientCallback;
import android.os.IServiceCallback;
import android.os.IServiceManager;
import android.os.RemoteException;
import android.os.ServiceDebugInfo;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * What neighbours are given first: services by name that applications themselves have added, here
 * or from a neighbour. A service goes with its process.
 *
 * <p>It stands in for the system server's service manager. The process's own services, such as its
 * activities', are not in it: they answer inside the process alone.
 */
final class NameService extends IServiceManager.Stub {
    /** Services that may have a name at once: as many as a link may name nodes is far more. */
    private static final int SERVICES_MAX = 1024;

    private final Map<String, IBinder> services = new ConcurrentHashMap<>();

    /** Null for one that nobody has added. */
    @Override
    public IBinder getService(String name) {
        return services.get(name);
    }

    @Override
    public IBinder checkService(String name) {
        return services.get(name);
    }

    /** In place of another of the name. */
    @Override
    public void addService(String name, IBinder service, boolean allowIsolated, int dumpFlags) throws RemoteException {
        if (name == null || service == null) {
            throw new IllegalArgumentException("a service needs a name and a binder");
        }
        if (services.size() >= SERVICES_MAX) {
            throw new IllegalStateException("there are " + SERVICES_MAX + " services already");
        }
        services.put(name, service);
        service.linkToDeath(() -> services.remove(name, service), 0);
    }

    @Override
    public String[] listServices(int dumpFlags) {
        return services.keySet().toArray(new String[0]);
    }

    @Override
    public void tryUnregisterService(String name, IBinder service) {
        services.remove(name, service);
    }

    @Override
    public boolean isDeclared(String name) {
        return false;
    }

    @Override
    public String[] getDeclaredInstances(String type) {
        return new String[0];
    }

    @Override
    public void registerForNotifications(String name, IServiceCallback callback) {
        throw unsupported("registerForNotifications");
    }

    @Override
    public void unregisterForNotifications(String name, IServiceCallback callback) {
        throw unsupported("unregisterForNotifications");
    }

    @Override
    public String updatableViaApex(String name) {
        throw unsupported("updatableViaApex");
    }

    @Override
    public String[] getUpdatableNames(String apex) {
        throw unsupported("getUpdatableNames");
    }

    @Override
    public ConnectionInfo getConnectionInfo(String name) {
        throw unsupported("getConnectionInfo");
    }

    @Override
    public void registerClientCallback(String name, IBinder service, IClientCallback callback) {
        throw unsupported("registerClientCallback");
    }

    @Override
    public ServiceDebugInfo[] getServiceDebugInfo() {
        throw unsupported("getServiceDebugInfo");
    }

    private static UnsupportedOperationException unsupported(String call) {
        return new UnsupportedOperationException("IServiceManager." + call + " is not supported by Takt yet");
    }
}
