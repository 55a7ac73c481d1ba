// SPDX-License-Identifier: Apache-2.0
package takt.server;

import java.util.Map;
import java.util.TreeMap;
import org.json.JSONException;
import org.json.JSONObject;
import takt.framework.Natives;
import takt.screen.Screen;

/**
 * Lists the system's services as an application finds them, and which of their calls are answered:
 * for framework/api.
 */
public final class AnsweredCalls implements AppProcess.Owner {
    /** As little as `takt run` can say of a package. */
    private static final String PACKAGE = """
            {"data": "/", "libraries": "/", "apk": "/", "manifest": {"package": "takt.none", "version_code": 1,
             "uses_permissions": [], "permissions": [], "features": [], "instrumentation": [], "min_sdk": 26,
             "target_sdk": 34, "application": {"is_enabled": true, "has_code": false, "is_debuggable": false,
             "libraries": [], "meta_data": [], "extensions": [], "components": []}}}""";

    private AnsweredCalls() {}

    /** Prints {@code SERVICE INTERFACE DECLARED ANSWERED…}, sorted, to standard output. */
    public static void main(String[] arguments) throws JSONException {
        Natives.load();
        AppProcess.start(new InstalledPackage(new JSONObject(PACKAGE)), Long.MAX_VALUE, new AnsweredCalls(),
                SystemLink.host(PACKAGE));
        Screen.register();
        Map<String, String> lines = new TreeMap<>(NamedServices.all());
        lines.replaceAll((service, type) -> type + " " + LocalInterface.callCount(NamedServices.interfaceOf(service)));
        lines.putAll(ServiceRegistry.describe());
        lines.forEach((service, line) -> System.out.println(service + " " + line));
        System.exit(0);
    }

    @Override
    public void onBound(AppProcess process) {}

    @Override
    public void onStarted(AppProcess process, String what) {}

    @Override
    public void onCrash(String text) {}

    @Override
    public void onNotResponding(String what) {}

    @Override
    public void onIdle() {}
}
