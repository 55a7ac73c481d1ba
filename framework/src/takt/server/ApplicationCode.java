// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.app.ApplicationLoaders;
import dalvik.system.PathClassLoader;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.json.JSONException;
import org.json.JSONObject;

/**
 * The package's class loader. On Android the framework lies on the boot class path, which is every
 * loader's parent; here it lies on the class path, so the loader is made here, with the class
 * path's own as its parent.
 *
 * <p>ApplicationLoaders keeps one loader for each package path; ours is put there before AOSP's
 * LoadedApk looks. An {@code ApplicationCode} itself takes class files in place of the package's
 * DEX: {@code takt run --classes}.
 */
final class ApplicationCode extends PathClassLoader {
    private final Path classes;

    private ApplicationCode(Path classes) {
        super("", ApplicationCode.class.getClassLoader());
        this.classes = classes;
    }

    static void install(JSONObject run) throws JSONException, ReflectiveOperationException {
        Field loaders = ApplicationLoaders.class.getDeclaredField("mLoaders");
        loaders.setAccessible(true);
        @SuppressWarnings("unchecked")
        Map<String, ClassLoader> byPath = (Map<String, ClassLoader>) loaders.get(ApplicationLoaders.getDefault());
        ClassLoader framework = ApplicationCode.class.getClassLoader();
        if (!run.getJSONObject("manifest").getJSONObject("application").getBoolean("has_code")) {
            // AOSP looks in no file at all for classes of a package without code.
            byPath.put("", new PathClassLoader("", framework));
            return;
        }
        String apk = run.getString("apk");
        byPath.put(apk, run.isNull("classes")
                ? new PathClassLoader(apk, framework)
                : new ApplicationCode(Path.of(run.getString("classes"))));
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        Path file = classes.resolve(name.replace('.', '/') + ".class");
        try {
            byte[] bytes = Files.readAllBytes(file);
            return defineClass(name, bytes, 0, bytes.length);
        } catch (IOException e) {
            throw new ClassNotFoundException(name + " in " + classes, e);
        }
    }
}
