// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.os.Binder;
import android.os.IBinder;
import android.os.IInterface;
import android.os.Messenger;
import android.os.RemoteCallback;
import android.os.RemoteException;
import android.os.ResultReceiver;
import android.util.Log;
import com.android.internal.infra.AndroidFuture;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * One of AIDL's interfaces, answered inside the process by a plain object.
 *
 * <p>The object has a public method for each call that it answers, with the interface's own name
 * and parameters. A call that it does not answer says so by name: one without an answer is logged
 * once and passed over, one with an answer throws UnsupportedOperationException, since an invented
 * answer would be a lie. So does one that answers by other ways, a callback or an object to fill
 * in: its caller would wait for ever, or go on with nothing.
 */
public final class LocalInterface implements InvocationHandler {
    private static final String TAG = "Takt";
    /** Calls that fill in an argument, and have not the name of a question. */
    private static final Set<String> FILLS_IN = Set.of("sendExtraCommand");

    private final Class<? extends IInterface> type;
    private final Map<Method, Answer> answers = new HashMap<>();
    private final Set<String> logged = ConcurrentHashMap.newKeySet();
    private final Binder binder = new Binder();

    private record Answer(Object server, Method method) {
        Object give(Object[] arguments) throws Throwable {
            try {
                return method.invoke(server, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        }
    }

    private LocalInterface(Class<? extends IInterface> type, Object... servers) {
        this.type = type;
        for (Object server : servers) {
            for (Method method : server.getClass().getDeclaredMethods()) {
                answer(server, method);
            }
        }
        for (Object server : servers) {
            for (Method method : server.getClass().getDeclaredMethods()) {
                refuseOther(method);
            }
        }
    }

    /**
     * A method with the name of a call and with other parameters would never be called. It may be
     * for another interface if one beside it answers the call.
     */
    private void refuseOther(Method method) {
        String name = method.getName();
        boolean isCall = Modifier.isPublic(method.getModifiers())
                && Arrays.stream(type.getMethods()).anyMatch(it -> it.getName().equals(name));
        if (isCall && answers.keySet().stream().noneMatch(it -> it.getName().equals(name))) {
            throw new IllegalArgumentException(method + " has other parameters than " + type.getName() + "." + name);
        }
    }

    private void answer(Object server, Method method) {
        if (!Modifier.isPublic(method.getModifiers())) {
            return;
        }
        try {
            Method call = type.getMethod(method.getName(), method.getParameterTypes());
            method.setAccessible(true);
            answers.put(call, new Answer(server, method));
        } catch (NoSuchMethodException e) {
            // It belongs to another interface of this server.
            return;
        }
    }

    /** The interface as its clients see it; its calls may be spread over several objects. */
    public static <T extends IInterface> T of(Class<T> type, Object... servers) {
        LocalInterface handler = new LocalInterface(type, servers);
        Object proxy = Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler);
        T client = type.cast(proxy);
        handler.binder.attachInterface(client, type.getName());
        return client;
    }

    /** The same, as the service registry hands it out. */
    public static <T extends IInterface> IBinder binder(Class<T> type, Object... servers) {
        return of(type, servers).asBinder();
    }

    /** Every call that an interface declares; asBinder is none. */
    static int callCount(Class<? extends IInterface> type) {
        return type.getMethods().length - 1;
    }

    /**
     * A service as {@code INTERFACE DECLARED ANSWERED…}: how many calls it declares, and the names
     * of those with an answer.
     */
    static String describe(IBinder service) {
        Object client;
        try {
            client = service.queryLocalInterface(service.getInterfaceDescriptor());
        } catch (RemoteException e) {
            throw e.rethrowFromSystemServer();
        }
        LocalInterface handler = (LocalInterface) Proxy.getInvocationHandler(client);
        StringBuilder text = new StringBuilder(handler.type.getName() + " " + callCount(handler.type));
        handler.answers.keySet().stream().map(Method::getName).sorted().forEach(it -> text.append(' ').append(it));
        return text.toString();
    }

    @Override
    public Object invoke(Object proxy, Method call, Object[] arguments) throws Throwable {
        Answer answer = answers.get(call);
        if (answer != null) {
            return answer.server instanceof Served served
                    ? served.link().in(() -> answer.give(arguments)) : answer.give(arguments);
        }
        return switch (call.getName()) {
            case "asBinder" -> binder;
            case "toString" -> "local " + type.getName();
            case "hashCode" -> System.identityHashCode(proxy);
            case "equals" -> proxy == arguments[0];
            default -> unsupported(call, arguments);
        };
    }

    /** Is the name that of a question, though nothing comes back? Java does not say what is out. */
    private static boolean fillsIn(Method call) {
        String name = call.getName();
        return name.startsWith("get") || name.startsWith("query") || FILLS_IN.contains(name);
    }

    private static boolean hasCallback(Object[] arguments) {
        return arguments != null && Arrays.stream(arguments).anyMatch(LocalInterface::isCallback);
    }

    private static boolean isCallback(Object argument) {
        return argument instanceof IInterface || argument instanceof ResultReceiver
                || argument instanceof RemoteCallback || argument instanceof Messenger
                || argument instanceof AndroidFuture;
    }

    private Object unsupported(Method call, Object[] arguments) {
        String text = type.getSimpleName() + "." + call.getName() + " is not supported by Takt yet";
        if (call.getReturnType() != void.class || fillsIn(call) || hasCallback(arguments)) {
            throw new UnsupportedOperationException(text);
        }
        if (logged.add(call.getName())) {
            Log.w(TAG, text);
        }
        return null;
    }
}
