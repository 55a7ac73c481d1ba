// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.content.ComponentName;
import android.content.Intent;
import android.net.Uri;
import android.os.Parcel;
import takt.system.Wish;

/** Intents as the system server has them: what it looks at in words, the rest as bytes. */
final class Wishes {
    private Wishes() {}

    /**
     * What the server is told of an intent. One with binders or files in its extras is not
     * supported.
     */
    static Wish of(Intent intent, String type) {
        Wish wish = asked(intent, type);
        Parcel parcel = Parcel.obtain();
        try {
            intent.writeToParcel(parcel, 0);
            if (parcel.hasBinders() || parcel.hasFileDescriptors()) {
                throw new UnsupportedOperationException(
                        "binders and files in an intent to the system server are not supported by Takt yet: " + intent);
            }
            wish.whole = parcel.marshall();
        } finally {
            parcel.recycle();
        }
        return wish;
    }

    /** What the server looks at, for a question: the rest stays here. */
    static Wish asked(Intent intent, String type) {
        Wish wish = none();
        wish.action = intent.getAction();
        wish.data = intent.getDataString();
        wish.type = type == null ? intent.getType() : type;
        wish.identifier = intent.getIdentifier();
        wish.target = intent.getPackage();
        wish.component = intent.getComponent() == null ? null : intent.getComponent().flattenToString();
        if (intent.getCategories() != null) {
            wish.categories = intent.getCategories().toArray(new String[0]);
        }
        wish.flags = intent.getFlags();
        return wish;
    }

    /** That of no intent. */
    static Wish none() {
        Wish wish = new Wish();
        wish.categories = new String[0];
        wish.whole = new byte[0];
        wish.extras = new String[0];
        return wish;
    }

    /** The intent behind a wish, to the component that the server has found. */
    static Intent intent(Wish wish) {
        Intent intent = wish.whole.length > 0 ? whole(wish.whole) : written(wish);
        if (wish.component != null) {
            intent.setComponent(ComponentName.unflattenFromString(wish.component));
        }
        return intent;
    }

    private static Intent whole(byte[] bytes) {
        Parcel parcel = Parcel.obtain();
        try {
            parcel.unmarshall(bytes, 0, bytes.length);
            parcel.setDataPosition(0);
            return Intent.CREATOR.createFromParcel(parcel);
        } finally {
            parcel.recycle();
        }
    }

    private static Intent written(Wish wish) {
        Intent intent = new Intent(wish.action);
        intent.setDataAndType(wish.data == null ? null : Uri.parse(wish.data), wish.type);
        intent.setPackage(wish.target);
        intent.setFlags(wish.flags);
        for (String category : wish.categories) {
            intent.addCategory(category);
        }
        for (int index = 0; index + 1 < wish.extras.length; index += 2) {
            intent.putExtra(wish.extras[index], wish.extras[index + 1]);
        }
        return intent;
    }
}
