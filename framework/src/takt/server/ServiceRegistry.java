// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.os.IBinder;
import android.os.IInterface;
import android.os.IServiceManager;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The system's services by name: what android.os.ServiceManager asks. */
public final class ServiceRegistry {
    private static final ServiceRegistry INSTANCE = new ServiceRegistry();

    private final Map<String, IBinder> services = new ConcurrentHashMap<>();
    private final IBinder binder = LocalInterface.binder(IServiceManager.class, this);

    private ServiceRegistry() {}

    /**
     * Called by BinderInternal.getContextObject: the registry is every process's context object.
     */
    static IBinder contextObject() {
        return INSTANCE.binder;
    }

    /** Of each service that is there: {@link LocalInterface#describe}. */
    static Map<String, String> describe() {
        Map<String, String> lines = new HashMap<>();
        INSTANCE.services.forEach((name, service) -> lines.put(name, LocalInterface.describe(service)));
        return lines;
    }

    static void add(String name, IBinder service) {
        INSTANCE.services.put(name, service);
    }

    /** Null for a service that does not exist, as on Android. */
    public IBinder getService(String name) {
        return services.computeIfAbsent(name, ServiceRegistry::unanswered);
    }

    /** As getService: nothing here starts later. */
    public IBinder checkService(String name) {
        return getService(name);
    }

    /** One that says its name at each call. */
    private static IBinder unanswered(String name) {
        Class<? extends IInterface> type = NamedServices.interfaceOf(name);
        return type == null ? null : LocalInterface.binder(type);
    }

    /** An application's own service, for itself. */
    public void addService(String name, IBinder service, boolean allowIsolated, int dumpFlags) {
        services.put(name, service);
    }

    /** All names. */
    public String[] listServices(int dumpFlags) {
        return services.keySet().toArray(new String[0]);
    }

    /** Is it there? */
    public boolean isDeclared(String name) {
        return services.containsKey(name);
    }
}
