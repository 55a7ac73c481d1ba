// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import android.content.Intent;
import android.content.IntentFilter;
import android.content.pm.ApplicationInfo;
import android.content.pm.ComponentInfo;
import android.content.pm.PackageManager;
import android.content.pm.ResolveInfo;
import android.content.pm.UserInfo;
import android.net.Uri;
import android.util.ArraySet;
import android.util.SparseArray;
import android.util.SparseBooleanArray;
import com.android.internal.pm.parsing.pkg.AndroidPackageInternal;
import com.android.internal.pm.parsing.pkg.PackageImpl;
import com.android.internal.pm.pkg.component.ParsedActivityImpl;
import com.android.internal.pm.pkg.component.ParsedComponentImpl;
import com.android.internal.pm.pkg.component.ParsedIntentInfoImpl;
import com.android.internal.pm.pkg.component.ParsedMainComponentImpl;
import com.android.internal.pm.pkg.component.ParsedProviderImpl;
import com.android.internal.pm.pkg.component.ParsedServiceImpl;
import com.android.internal.pm.pkg.parsing.ParsingPackage;
import com.android.server.pm.Computer;
import com.android.server.pm.UserManagerService;
import com.android.server.pm.UserNeedsBadgingCache;
import com.android.server.pm.pkg.PackageStateInternal;
import com.android.server.pm.pkg.PackageStateUnserialized;
import com.android.server.pm.pkg.PackageUserStateImpl;
import com.android.server.pm.resolution.ComponentResolver;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * AOSP's own ComponentResolver, asked by lines; tests/e2e/tests/components.rs compares its answers.
 *
 * <p>Fields as in {@link ScriptLines}. A line begins with {@code new}, {@code package}, {@code
 * component}, {@code filter}, {@code add}, {@code remove}, {@code state} or {@code query}; queries
 * are answered by a line.
 */
public final class ComponentScript {
    /** Of the one user. */
    private static final int USER = 0;

    /** One package, and what the user has switched. */
    private static final class Owner {
        final String name;
        final boolean isSystem;
        final ParsingPackage parsing;
        final PackageUserStateImpl state = new PackageUserStateImpl();
        AndroidPackageInternal whole;

        /** As the resolver sees it. */
        PackageStateInternal seen;

        Owner(String name, boolean isSystem, boolean isEnabled) {
            this.name = name;
            this.isSystem = isSystem;
            parsing = PackageImpl.forTesting(name);
            parsing.setEnabled(isEnabled);
            state.setInstalled(true);
        }

        /** All is read. What the resolver does not ask for is nothing. */
        void end() throws ReflectiveOperationException {
            whole = parsing.hideAsParsed().setSystem(isSystem).hideAsFinal();
            PackageStateUnserialized transientState = allocate(PackageStateUnserialized.class);
            set(PackageStateUnserialized.class, "usesLibraryInfos", transientState, List.of());
            set(PackageStateUnserialized.class, "usesLibraryFiles", transientState, List.of());
            seen = proxy(PackageStateInternal.class, Map.of(
                    "getPkg", whole, "getAndroidPackage", whole, "getPackageName", name, "isSystem", isSystem,
                    "isPrivileged", isSystem, "getUserStateOrDefault", state, "getTransientState", transientState,
                    "getFlags", isSystem ? ApplicationInfo.FLAG_SYSTEM : 0));
        }
    }

    private final Map<String, Owner> owners = new HashMap<>();
    private final Computer computer = (Computer) Proxy.newProxyInstance(
            Computer.class.getClassLoader(), new Class<?>[] {Computer.class}, (self, method, arguments) -> {
                if (!method.getName().equals("getPackageStateInternal")) {
                    return nothing(method.getReturnType());
                }
                Owner owner = owners.get((String) arguments[0]);
                return owner == null ? null : owner.seen;
            });
    private ComponentResolver resolver;
    /** What is being read. */
    private Owner last;

    private ParsedMainComponentImpl component;

    private ComponentScript() {}

    /** Answers the lines of standard input. */
    public static void main(String[] args) throws IOException, ReflectiveOperationException {
        Natives.load();
        ComponentScript script = new ComponentScript();
        ScriptLines.answer(script::answer);
    }

    private String answer(String[] fields) throws ReflectiveOperationException {
        switch (fields[0]) {
            case "new" -> {
                owners.clear();
                resolver = resolver();
            }
            case "package" -> last = new Owner(fields[1], fields[2].equals("system"), fields[3].equals("on"));
            case "component" -> component = component(fields[1], fields[2], fields[3].equals("on"));
            case "filter" -> component.addIntent(filter(fields));
            case "add" -> {
                last.end();
                owners.put(last.name, last);
                resolver.addAllComponents(last.whole, false, null, computer);
            }
            case "remove" -> resolver.removeAllComponents(owners.remove(fields[1]).whole, false);
            case "state" -> state(owners.get(fields[1]), ScriptLines.optional(fields[2]), Integer.parseInt(fields[3]));
            case "query" -> {
                return query(fields);
            }
            default -> throw new IllegalArgumentException(Arrays.toString(fields));
        }
        return null;
    }

    private ParsedMainComponentImpl component(String kind, String name, boolean isEnabled) {
        ParsedMainComponentImpl made;
        switch (kind) {
            case "activity", "receiver" -> {
                ParsedActivityImpl activity = new ParsedActivityImpl();
                made = named(activity, name);
                if (kind.equals("activity")) {
                    last.parsing.addActivity(activity);
                } else {
                    last.parsing.addReceiver(activity);
                }
            }
            case "service" -> {
                ParsedServiceImpl service = new ParsedServiceImpl();
                made = named(service, name);
                last.parsing.addService(service);
            }
            default -> {
                ParsedProviderImpl provider = new ParsedProviderImpl();
                made = named(provider, name);
                provider.setAuthority(last.name + "." + name);
                last.parsing.addProvider(provider);
            }
        }
        made.setEnabled(isEnabled);
        return made;
    }

    private <T extends ParsedComponentImpl> T named(T component, String name) {
        component.setPackageName(last.name);
        component.setName(name);
        return component;
    }

    private static ParsedIntentInfoImpl filter(String[] fields) {
        ParsedIntentInfoImpl info = new ParsedIntentInfoImpl();
        IntentFilter filter = info.getIntentFilter();
        filter.setPriority(Integer.parseInt(fields[1]));
        ScriptLines.list(fields[2]).forEach(filter::addAction);
        ScriptLines.list(fields[3]).forEach(filter::addCategory);
        ScriptLines.list(fields[4]).forEach(filter::addDataScheme);
        for (String type : ScriptLines.list(fields[5])) {
            try {
                filter.addDataType(type);
            } catch (IntentFilter.MalformedMimeTypeException e) {
                throw new IllegalArgumentException(type, e);
            }
        }
        // The parser says it of each filter.
        info.setHasDefault(filter.hasCategory(Intent.CATEGORY_DEFAULT));
        return info;
    }

    /** As PackageSetting keeps it: by name what is not as the manifest says. */
    private static void state(Owner owner, String component, int state) {
        if (component == null) {
            owner.state.setEnabledState(state);
            return;
        }
        ArraySet<String> on = new ArraySet<>();
        ArraySet<String> off = new ArraySet<>();
        owner.state.getEnabledComponents().forEach(on::add);
        owner.state.getDisabledComponents().forEach(off::add);
        on.remove(component);
        off.remove(component);
        if (state == PackageManager.COMPONENT_ENABLED_STATE_ENABLED) {
            on.add(component);
        } else if (state == PackageManager.COMPONENT_ENABLED_STATE_DISABLED) {
            off.add(component);
        }
        owner.state.setEnabledComponents(on);
        owner.state.setDisabledComponents(off);
    }

    private String query(String[] fields) {
        Intent intent = new Intent(ScriptLines.optional(fields[3]));
        String data = ScriptLines.optional(fields[5]);
        if (data != null) {
            intent.setData(Uri.parse(data));
        }
        ScriptLines.list(fields[6]).forEach(intent::addCategory);
        intent.setPackage(ScriptLines.optional(fields[7]));
        String type = ScriptLines.optional(fields[4]);
        // What the package manager adds where nobody says which.
        long flags = Long.parseLong(fields[2])
                | PackageManager.MATCH_DIRECT_BOOT_AWARE | PackageManager.MATCH_DIRECT_BOOT_UNAWARE;
        List<ResolveInfo> found = switch (fields[1]) {
            case "activity" -> resolver.queryActivities(computer, intent, type, flags, USER);
            case "receiver" -> resolver.queryReceivers(computer, intent, type, flags, USER);
            case "service" -> resolver.queryServices(computer, intent, type, flags, USER);
            default -> resolver.queryProviders(computer, intent, type, flags, USER);
        };
        List<String> said = new ArrayList<>();
        for (ResolveInfo it : found) {
            ComponentInfo info = it.getComponentInfo();
            said.add(info.packageName + "/" + info.name + ":" + it.priority + ":" + it.isDefault + ":" + it.match);
        }
        return String.valueOf(said);
    }

    private static ComponentResolver resolver() throws ReflectiveOperationException {
        UserManagerService users = allocate(UserManagerService.class);
        Class<?> local = Class.forName("com.android.server.pm.UserManagerService$LocalService");
        Object service = allocate(local);
        set(local, "this$0", service, users);
        set(UserManagerService.class, "mLocalService", users, service);
        SparseArray<Object> all = new SparseArray<>();
        Class<?> data = Class.forName("com.android.server.pm.UserManagerService$UserData");
        Object user = allocate(data);
        set(data, "info", user, new UserInfo(USER, "owner", 0));
        all.put(USER, user);
        set(UserManagerService.class, "mUsers", users, all);
        set(UserManagerService.class, "mUsersLock", users, new Object());
        UserNeedsBadgingCache badges = new UserNeedsBadgingCache(users);
        Field cache = UserNeedsBadgingCache.class.getDeclaredField("mUserCache");
        cache.setAccessible(true);
        ((SparseBooleanArray) cache.get(badges)).put(USER, false);
        ComponentResolver made = new ComponentResolver(users, badges);
        // As behind the start: nobody waits for a set-up wizard.
        made.fixProtectedFilterPriorities(null);
        return made;
    }

    /** Without its constructor, which would start a server of users. */
    private static <T> T allocate(Class<T> type) throws ReflectiveOperationException {
        Class<?> maker = Class.forName("sun.misc.Unsafe");
        Field field = maker.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        Object made = maker.getMethod("allocateInstance", Class.class).invoke(field.get(null), type);
        return type.cast(made);
    }

    private static void set(Class<?> type, String name, Object object, Object value)
            throws ReflectiveOperationException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        field.set(object, value);
    }

    /** An interface that answers these methods, and of all others that there is nothing. */
    private static <T> T proxy(Class<T> type, Map<String, Object> answers) {
        return type.cast(Proxy.newProxyInstance(
                type.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> answers.containsKey(
                                method.getName())
                        ? answers.get(method.getName())
                        : nothing(method.getReturnType())));
    }

    private static Object nothing(Class<?> type) {
        if (type == boolean.class) {
            return false;
        }
        if (type == int.class) {
            return 0;
        }
        if (type == long.class) {
            return 0L;
        }
        return type == float.class ? (Object) 0f : null;
    }
}
