// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.content.ComponentName;
import android.content.Intent;
import java.util.ArrayList;
import java.util.List;
import takt.framework.Natives;

/** Which PendingIntents there are, and which are the same: decided in Rust. */
final class PendingStore {
    static {
        Natives.load();
    }

    private PendingStore() {}

    /** Its number; 0 if it is not there and FLAG_NO_CREATE is given. */
    static long get(int kind, int request, Intent intent, String type, int flags) {
        ComponentName component = intent.getComponent();
        List<String> texts = new ArrayList<>();
        texts.add(intent.getAction());
        texts.add(intent.getDataString());
        texts.add(type);
        texts.add(intent.getIdentifier());
        texts.add(intent.getPackage());
        texts.add(component == null ? null : component.getPackageName());
        texts.add(component == null ? null : component.getClassName());
        if (intent.getCategories() != null) {
            texts.addAll(intent.getCategories());
        }
        return get(kind, request, flags, texts.toArray(new String[0]));
    }

    private static native long get(int kind, int request, int flags, String[] texts);

    static native boolean send(long id);

    static native boolean cancel(long id);

    static native boolean isThere(long id);
}
