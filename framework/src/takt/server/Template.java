// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.content.res.AssetManager;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import takt.framework.HostLibrary;
import takt.framework.Natives;

/**
 * A process that has loaded the framework and is copied for each application: {@code takt system}
 * says when. It runs no code of a package, has one thread and no looper.
 *
 * <p>What a copy must not share with its siblings is made new there. Thread numbers, code, files,
 * the order of identity hashes are so by the machine and its natives; random numbers and
 * the user's properties here.
 */
final class Template {
    /** Classes, in the order in which they are loaded; then methods, whose code copies share. */
    private static final String LIST = "preload.txt";

    private Template() {}

    /**
     * Serves the system server, until that ends and this process with it. Comes back in copies
     * only, with the file that describes what the copy is to be.
     */
    static String serve(String resources) {
        Natives.load();
        closeInherited();
        HostLibrary.load();
        AssetManager.createSystemAssetsInZygoteLocked(true, resources);
        preload();
        Seeds seeds = new Seeds();
        String description = await();
        seeds.renew();
        takeUser();
        return description;
    }

    private static void preload() {
        ClassLoader loader = Template.class.getClassLoader();
        try (InputStream file = Template.class.getResourceAsStream(LIST);
                BufferedReader lines = new BufferedReader(new InputStreamReader(file, StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (!line.startsWith("#")) {
                    preload(line, loader);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void preload(String name, ClassLoader loader) {
        if (name.contains("(")) {
            // One that is not kept is compiled at its first call, as elsewhere.
            load(name);
            return;
        }
        try {
            Class.forName(name, true, loader);
        } catch (ClassNotFoundException | LinkageError e) {
            // The application meets the same where it needs the class, and there it counts.
        }
    }

    /** As the class library makes these properties for a user that no file knows. */
    private static void takeUser() {
        String home = home();
        if (home != null) {
            System.setProperty("user.name", "?");
            System.setProperty("user.home", home);
        }
    }

    /** Closes what this process was started with and does not know of. */
    private static native void closeInherited();

    /** Has a method's code in place that is kept; false if it is not. */
    private static native boolean load(String method);

    /** A copy's home, if it has another user than its template. */
    private static native String home();

    /** See {@link #serve}; an Error where nothing can be served. */
    private static native String await();

    /** What sources of random numbers begin with, in classes that are initialised by now. */
    private static final class Seeds {
        private final AtomicLong random = counter(Random.class, "seedUniquifier");
        private final AtomicLong local = counter(ThreadLocalRandom.class, "seeder");
        private final AtomicLong splittable = counter(SplittableRandom.class, "defaultGen");

        /** What SecureRandom reads by; to ask for one initialises all three. */
        private final Class<?>[] sources = {
            source("NativePRNG"), source("NativePRNG$Blocking"), source("NativePRNG$NonBlocking"),
        };

        private static Class<?> source(String name) {
            try {
                return Class.forName("sun.security.provider." + name);
            } catch (ClassNotFoundException e) {
                throw new IllegalStateException("the class library has another random source", e);
            }
        }

        void renew() {
            random.set(draw());
            local.set(draw());
            splittable.set(draw());
            // The thread begins its own with the next seed.
            forgetSeed(Thread.currentThread());
            for (Class<?> source : sources) {
                Template.renew(source);
            }
        }
    }

    /** A field that the class library keeps to itself. */
    private static native AtomicLong counter(Class<?> type, String name);

    private static native void forgetSeed(Thread thread);

    /** Of one of SecureRandom's own sources: what was read and not given out yet. */
    private static native void renew(Class<?> source);

    /** 64 bits of the system's random source. */
    private static native long draw();
}
