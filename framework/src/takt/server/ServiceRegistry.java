// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.os.IBinder;
import android.os.IInterface;
import android.os.IServiceManager;
import android.os.RemoteException;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import takt.framework.Neighbours;

/**
 * The system's services by name: what android.os.ServiceManager asks. What applications add is in a
 * {@link NameService}: of this process, or of the neighbour that it joins.
 */
public final class ServiceRegistry {
    private static final ServiceRegistry INSTANCE = new ServiceRegistry();

    private final Map<String, IBinder> services = new ConcurrentHashMap<>();
    /** Made when somebody asks: an interface of hundreds of calls takes megabytes. */
    private final Map<String, Supplier<IBinder>> late = new ConcurrentHashMap<>();
    private final IBinder binder = LocalInterface.binder(IServiceManager.class, this);

    /** What applications add. */
    private final IServiceManager added;

    private ServiceRegistry() {
        IBinder joined = Neighbours.join();
        if (joined == null) {
            NameService own = new NameService();
            Neighbours.listen(own);
            added = own;
        } else {
            added = IServiceManager.Stub.asInterface(joined);
        }
    }

    /**
     * Called by BinderInternal.getContextObject: the registry is every process's context object.
     */
    static IBinder contextObject() {
        return INSTANCE.binder;
    }

    /** Of each service that is there: {@link LocalInterface#describe}. */
    static Map<String, String> describe() {
        Map<String, String> lines = new HashMap<>();
        INSTANCE.late.keySet().forEach(INSTANCE::own);
        INSTANCE.services.forEach((name, service) -> lines.put(name, LocalInterface.describe(service)));
        return lines;
    }

    /** A service of the system's; one of the same name gives way to it. */
    public static void add(String name, IBinder service) {
        INSTANCE.services.put(name, service);
    }

    /** The same, made by {@code service} when it is asked for first. */
    static void add(String name, Supplier<IBinder> service) {
        INSTANCE.late.put(name, service);
    }

    private IBinder own(String name) {
        Supplier<IBinder> maker = late.get(name);
        return maker == null ? services.get(name) : services.computeIfAbsent(name, it -> maker.get());
    }

    /** Null for a service that does not exist, as on Android. */
    public IBinder getService(String name) throws RemoteException {
        IBinder own = own(name);
        if (own != null) {
            return own;
        }
        IBinder found = added.getService(name);
        return found != null ? found : services.computeIfAbsent(name, ServiceRegistry::unanswered);
    }

    /** As getService: nothing here starts later. */
    public IBinder checkService(String name) throws RemoteException {
        return getService(name);
    }

    /** One that says its name at each call. */
    private static IBinder unanswered(String name) {
        Class<? extends IInterface> type = NamedServices.interfaceOf(name);
        return type == null ? null : LocalInterface.binder(type);
    }

    /** An application's own service, for itself and its neighbours. */
    public void addService(String name, IBinder service, boolean allowIsolated, int dumpFlags) throws RemoteException {
        added.addService(name, service, allowIsolated, dumpFlags);
    }

    /** All names. */
    public String[] listServices(int dumpFlags) throws RemoteException {
        Set<String> names = new TreeSet<>(services.keySet());
        names.addAll(late.keySet());
        Collections.addAll(names, added.listServices(dumpFlags));
        return names.toArray(new String[0]);
    }

    /** Is it there? */
    public boolean isDeclared(String name) {
        return services.containsKey(name) || late.containsKey(name);
    }
}
