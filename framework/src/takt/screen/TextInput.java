// SPDX-License-Identifier: Apache-2.0
package takt.screen;

import android.os.Binder;
import android.os.Bundle;
import android.os.IBinder;
import android.os.RemoteException;
import android.os.ResultReceiver;
import android.view.inputmethod.EditorInfo;
import android.view.inputmethod.ImeTracker;
import android.view.inputmethod.InputMethodInfo;
import android.view.inputmethod.InputMethodManager;
import android.view.inputmethod.InputMethodSubtype;
import android.window.ImeOnBackInvokedDispatcher;
import com.android.internal.inputmethod.IImeTracker;
import com.android.internal.inputmethod.IInputMethodClient;
import com.android.internal.inputmethod.IRemoteAccessibilityInputConnection;
import com.android.internal.inputmethod.IRemoteInputConnection;
import com.android.internal.inputmethod.InputBindResult;
import com.android.internal.inputmethod.InputConnectionCommandHeader;
import com.android.internal.inputmethod.InputMethodInfoSafeList;
import java.util.List;
import takt.server.LocalInterface;

/**
 * IInputMethodManager without an input method that is seen: text goes to the view that has the
 * focus, by its own connection, as from a soft keyboard.
 */
final class TextInput {
    static final TextInput INSTANCE = new TextInput();

    private final IImeTracker tracker = LocalInterface.of(IImeTracker.class, new Tracker());

    /** The one that takes text; null if none does. */
    private volatile IRemoteInputConnection connection;

    private TextInput() {}

    /** False if no view takes text. */
    boolean commit(String text) throws RemoteException {
        IRemoteInputConnection taker = connection;
        if (taker == null) {
            return false;
        }
        taker.commitText(new InputConnectionCommandHeader(0), text, 1);
        return true;
    }

    /** Characters around the cursor; false if no view takes text. */
    boolean delete(int before, int after) throws RemoteException {
        IRemoteInputConnection taker = connection;
        if (taker == null) {
            return false;
        }
        taker.deleteSurroundingText(new InputConnectionCommandHeader(0), before, after);
        return true;
    }

    public void addClient(IInputMethodClient client, IRemoteInputConnection fallback, int display) {}

    public InputBindResult startInputOrWindowGainedFocus(int reason, IInputMethodClient client, IBinder window,
            int flags, int softInputMode, int windowFlags, EditorInfo editor, IRemoteInputConnection taker,
            IRemoteAccessibilityInputConnection accessible, int targetSdk, int user,
            ImeOnBackInvokedDispatcher back) {
        boolean takesText = editor != null && editor.inputType != EditorInfo.TYPE_NULL;
        connection = takesText ? taker : null;
        return InputBindResult.NO_IME;
    }

    public void startInputOrWindowGainedFocusAsync(int reason, IInputMethodClient client, IBinder window, int flags,
            int softInputMode, int windowFlags, EditorInfo editor, IRemoteInputConnection taker,
            IRemoteAccessibilityInputConnection accessible, int targetSdk, int user, ImeOnBackInvokedDispatcher back,
            int sequence) {
        startInputOrWindowGainedFocus(reason, client, window, flags, softInputMode, windowFlags, editor, taker,
                accessible, targetSdk, user, back);
    }

    /** There is none to be seen: as Android without an input method. */
    public boolean showSoftInput(IInputMethodClient client, IBinder window, ImeTracker.Token token, int flags,
            int tool, ResultReceiver result, int reason) {
        answer(result);
        return false;
    }

    public boolean hideSoftInput(IInputMethodClient client, IBinder window, ImeTracker.Token token, int flags,
            ResultReceiver result, int reason) {
        answer(result);
        return false;
    }

    private static void answer(ResultReceiver result) {
        if (result != null) {
            result.send(InputMethodManager.RESULT_UNCHANGED_HIDDEN, Bundle.EMPTY);
        }
    }

    public IImeTracker getImeTrackerService() {
        return tracker;
    }

    /** IImeTracker: for statistics of how long a keyboard takes to come. */
    private static final class Tracker {
        public ImeTracker.Token onStart(String tag, int uid, int type, int origin, int reason, boolean fromUser) {
            return new ImeTracker.Token(new Binder(), tag);
        }

        public void onProgress(IBinder token, int phase) {}

        public void onFailed(ImeTracker.Token token, int phase) {}

        public void onCancelled(ImeTracker.Token token, int phase) {}

        public void onShown(ImeTracker.Token token) {}

        public void onHidden(ImeTracker.Token token) {}

        public void onDispatched(ImeTracker.Token token) {}

        public boolean hasPendingImeVisibilityRequests() {
            return false;
        }
    }

    public InputMethodInfo getCurrentInputMethodInfoAsUser(int user) {
        return null;
    }

    public InputMethodInfoSafeList getInputMethodList(int user, int direct) {
        return InputMethodInfoSafeList.create(List.of());
    }

    public InputMethodInfoSafeList getEnabledInputMethodList(int user) {
        return InputMethodInfoSafeList.create(List.of());
    }

    public List<InputMethodSubtype> getEnabledInputMethodSubtypeList(String method, boolean implicit, int user) {
        return List.of();
    }

    public InputMethodSubtype getCurrentInputMethodSubtype(int user) {
        return null;
    }

    public int getInputMethodWindowVisibleHeight(IInputMethodClient client) {
        return 0;
    }

    public void reportPerceptibleAsync(IBinder window, boolean isPerceptible) {}

    public void removeImeSurface() {}

    public void removeImeSurfaceFromWindowAsync(IBinder window) {}

    public boolean isImeTraceEnabled() {
        return false;
    }

    public boolean isStylusHandwritingAvailableAsUser(int user, boolean connectionless) {
        return false;
    }
}
