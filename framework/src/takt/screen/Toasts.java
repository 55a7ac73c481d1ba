// SPDX-License-Identifier: Apache-2.0
package takt.screen;

import android.app.ActivityThread;
import android.app.Application;
import android.app.INotificationManager;
import android.app.ITransientNotification;
import android.app.ITransientNotificationCallback;
import android.content.Context;
import android.os.Binder;
import android.os.Handler;
import android.os.IBinder;
import android.os.Looper;
import android.os.RemoteException;
import android.os.ServiceManager;
import android.view.Gravity;
import android.view.accessibility.IAccessibilityManager;
import android.widget.Toast;
import android.widget.ToastPresenter;
import com.android.internal.R;
import java.util.HashMap;
import java.util.Map;
import takt.server.LocalInterface;
import takt.server.Notifications;

/**
 * The part of INotificationManager that shows toasts, by AOSP's own presenter. On Android the
 * system's process does so; here it is this one.
 */
final class Toasts {
    private static final long SHORT_MILLIS = 2000;
    private static final long LONG_MILLIS = 3500;

    private final INotificationManager manager =
            LocalInterface.of(INotificationManager.class, this, Notifications.current());
    /** What hides each of those that are shown; on the main thread alone. */
    private final Map<IBinder, Runnable> shown = new HashMap<>();

    /** Answers in the place of who has no toasts. */
    static IBinder binder() {
        return new Toasts().manager.asBinder();
    }

    /** A text. */
    public boolean enqueueTextToast(String name, IBinder token, CharSequence text, int duration, boolean isOfUi,
            int display, ITransientNotificationCallback callback) {
        main().post(() -> {
            Application application = ActivityThread.currentApplication();
            IAccessibilityManager accessibility = IAccessibilityManager.Stub.asInterface(
                    ServiceManager.getService(Context.ACCESSIBILITY_SERVICE));
            ToastPresenter presenter = new ToastPresenter(application, accessibility, manager, name);
            int gravity = application.getResources().getInteger(R.integer.config_toastDefaultGravity);
            int offset = application.getResources().getDimensionPixelSize(R.dimen.toast_y_offset);
            presenter.show(ToastPresenter.getTextToastView(application, text), token, new Binder(), duration,
                    Gravity.getAbsoluteGravity(gravity, application.getResources().getConfiguration()
                            .getLayoutDirection()),
                    0, offset, 0, 0, callback);
            hideLater(token, duration, () -> presenter.hide(callback));
        });
        return true;
    }

    /** A view of the application's own, which shows it itself. */
    public boolean enqueueToast(String name, IBinder token, ITransientNotification toast, int duration,
            boolean isOfUi, int display) throws RemoteException {
        toast.show(new Binder());
        main().post(() -> hideLater(token, duration, () -> {
            try {
                toast.hide();
            } catch (RemoteException e) {
                throw e.rethrowFromSystemServer();
            }
        }));
        return true;
    }

    public void cancelToast(String name, IBinder token) {
        main().post(() -> hide(token));
    }

    /** The presenter says that the view is gone. */
    public void finishToken(String name, IBinder token) {}

    /** The service is registered before the process has a main looper. */
    private static Handler main() {
        return new Handler(Looper.getMainLooper());
    }

    private void hideLater(IBinder token, int duration, Runnable hides) {
        shown.put(token, hides);
        main().postDelayed(() -> hide(token), duration == Toast.LENGTH_LONG ? LONG_MILLIS : SHORT_MILLIS);
    }

    private void hide(IBinder token) {
        Runnable hides = shown.remove(token);
        if (hides != null) {
            hides.run();
        }
    }
}
