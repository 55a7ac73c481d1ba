// SPDX-License-Identifier: Apache-2.0
package takt.server;

import com.android.internal.os.RuntimeInit;
import java.lang.reflect.Constructor;

/** AOSP's own end of a process: "FATAL EXCEPTION" in the log, then the activity manager hears of it. */
final class UncaughtExceptions {
    private UncaughtExceptions() {}

    static void install() throws ReflectiveOperationException {
        Class<?> logging = Class.forName(RuntimeInit.class.getName() + "$LoggingHandler");
        Class<?> killing = Class.forName(RuntimeInit.class.getName() + "$KillApplicationHandler");
        Constructor<?> log = logging.getDeclaredConstructor();
        Constructor<?> kill = killing.getDeclaredConstructor(logging);
        log.setAccessible(true);
        kill.setAccessible(true);
        Thread.setDefaultUncaughtExceptionHandler(
                (Thread.UncaughtExceptionHandler) kill.newInstance(log.newInstance()));
    }
}
