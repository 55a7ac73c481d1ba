// SPDX-License-Identifier: Apache-2.0
package takt.server;

import com.android.internal.os.RuntimeInit;
import java.lang.reflect.Constructor;
import takt.framework.Natives;

/**
 * AOSP's own end of a process: "FATAL EXCEPTION" in the log, then the activity manager hears of it.
 * When there is no memory left to write that with, the same lines come without the stack from a
 * native method, and the process ends at once.
 */
final class UncaughtExceptions implements Thread.UncaughtExceptionHandler {
    static {
        Natives.load();
    }

    private final String packageName;
    private final Thread.UncaughtExceptionHandler aosp;
    private boolean isRehearsed;

    private UncaughtExceptions(String packageName, Thread.UncaughtExceptionHandler aosp) {
        this.packageName = packageName;
        this.aosp = aosp;
    }

    static void install(String packageName) throws ReflectiveOperationException {
        Class<?> logging = Class.forName(RuntimeInit.class.getName() + "$LoggingHandler");
        Class<?> killing = Class.forName(RuntimeInit.class.getName() + "$KillApplicationHandler");
        Constructor<?> log = logging.getDeclaredConstructor();
        Constructor<?> kill = killing.getDeclaredConstructor(logging);
        log.setAccessible(true);
        kill.setAccessible(true);
        UncaughtExceptions handler = new UncaughtExceptions(packageName,
                (Thread.UncaughtExceptionHandler) kill.newInstance(log.newInstance()));
        handler.uncaughtException(Thread.currentThread(), new OutOfMemoryError());
        Thread.setDefaultUncaughtExceptionHandler(handler);
    }

    @Override
    public void uncaughtException(Thread thread, Throwable e) {
        if (e instanceof OutOfMemoryError) {
            withoutMemory(thread, e);
            return;
        }
        try {
            aosp.uncaughtException(thread, e);
        } catch (OutOfMemoryError none) {
            withoutMemory(thread, none);
        }
    }

    /**
     * The first call only rehearses: a machine needs memory to find classes and native methods for
     * the first time. For the same reason {@code Runtime.halt} is not the one who ends the process.
     */
    private void withoutMemory(Thread thread, Throwable e) {
        String name = isRehearsed ? thread.getName() : null;
        isRehearsed = true;
        endWithoutMemory(name, packageName, e.getMessage(), Launcher.EXIT_CRASHED);
    }

    /** Logs and ends the process, with nothing of the heap. Does nothing if the thread is null. */
    private static native void endWithoutMemory(String thread, String packageName, String message,
            int status);
}
