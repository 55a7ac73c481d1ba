// SPDX-License-Identifier: Apache-2.0
package takt.server;

import android.content.ClipData;
import android.content.ComponentName;
import android.content.Intent;
import android.net.Uri;
import android.os.BadParcelableException;
import android.os.Bundle;
import android.os.IBinder;
import android.os.Parcel;
import android.os.ParcelFileDescriptor;
import android.os.Parcelable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import takt.framework.ParcelContents;
import takt.system.Whole;
import takt.system.Wish;

/** Intents as the system server has them: what it looks at in words, the rest as bytes. */
final class Wishes {
    private static final int GRANTS = Intent.FLAG_GRANT_READ_URI_PERMISSION | Intent.FLAG_GRANT_WRITE_URI_PERMISSION;

    private Wishes() {}

    /** What the server is told of an intent. */
    static Wish of(Intent intent, String type) {
        Wish wish = asked(intent, type);
        Parcel parcel = Parcel.obtain();
        try {
            intent.writeToParcel(parcel, 0);
            wish.whole = taken(parcel);
        } finally {
            parcel.recycle();
        }
        return wish;
    }

    /** What the server keeps of something without a look at it. */
    static Wish kept(Parcelable it) {
        Wish wish = none();
        Parcel parcel = Parcel.obtain();
        try {
            it.writeToParcel(parcel, 0);
            wish.whole = taken(parcel);
        } finally {
            parcel.recycle();
        }
        return wish;
    }

    /** That, as it was. */
    static <T> T read(Wish wish, Parcelable.Creator<T> creator) {
        return whole(wish.whole, creator);
    }

    /** That of a Bundle, as an intent that has nothing else. */
    static Wish of(Bundle extras) {
        return extras == null ? none() : of(new Intent().putExtras(extras), null);
    }

    /** The Bundle of such a wish; null if there was none. */
    static Bundle extras(Wish wish) {
        return wish.whole.bytes.length == 0 ? null : whole(wish.whole).getExtras();
    }

    private static Whole taken(Parcel parcel) {
        Whole whole = new Whole();
        whole.bytes = ParcelContents.bytes(parcel);
        long[] ofBinders = ParcelContents.places(parcel, false);
        long[] ofFiles = ParcelContents.places(parcel, true);
        whole.places = LongStream.concat(Arrays.stream(ofBinders), Arrays.stream(ofFiles)).mapToInt(Math::toIntExact)
                .toArray();
        whole.binders = new IBinder[ofBinders.length];
        for (int index = 0; index < ofBinders.length; index++) {
            parcel.setDataPosition(whole.places[index]);
            whole.binders[index] = parcel.readStrongBinder();
        }
        whole.files = new ParcelFileDescriptor[ofFiles.length];
        for (int index = 0; index < ofFiles.length; index++) {
            parcel.setDataPosition(whole.places[ofBinders.length + index]);
            whole.files[index] = parcel.readFileDescriptor();
        }
        return whole;
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
        wish.addresses = addresses(intent);
        return wish;
    }

    /** What an intent's clip names, and the intents in it, if its flags grant that. */
    private static String[] addresses(Intent intent) {
        if ((intent.getFlags() & GRANTS) == 0 || intent.getClipData() == null) {
            return new String[0];
        }
        ClipData clip = intent.getClipData();
        List<String> found = new ArrayList<>();
        for (int index = 0; index < clip.getItemCount(); index++) {
            ClipData.Item item = clip.getItemAt(index);
            if (item.getUri() != null) {
                found.add(item.getUri().toString());
            }
            if (item.getIntent() != null && item.getIntent().getData() != null) {
                found.add(item.getIntent().getDataString());
            }
        }
        return found.toArray(new String[0]);
    }

    /** That of no intent. */
    static Wish none() {
        Wish wish = new Wish();
        wish.categories = new String[0];
        wish.whole = nothing();
        wish.fill = nothing();
        wish.extras = new String[0];
        wish.addresses = new String[0];
        return wish;
    }

    private static Whole nothing() {
        Whole whole = new Whole();
        whole.bytes = new byte[0];
        whole.places = new int[0];
        whole.binders = new IBinder[0];
        whole.files = new ParcelFileDescriptor[0];
        return whole;
    }

    /** The intent behind a wish, to the component that the server has found. */
    static Intent intent(Wish wish) {
        Intent intent = wish.whole.bytes.length > 0 ? whole(wish.whole) : written(wish);
        if (wish.fill.bytes.length > 0) {
            intent.fillIn(whole(wish.fill), wish.fillFlags);
        }
        if (wish.alarmCount > 0) {
            intent.putExtra(Intent.EXTRA_ALARM_COUNT, wish.alarmCount);
        }
        if (wish.component != null) {
            intent.setComponent(ComponentName.unflattenFromString(wish.component));
        }
        return intent;
    }

    private static Intent whole(Whole whole) {
        return whole(whole, Intent.CREATOR);
    }

    /** What another process has sent: its objects come back to their places among its bytes. */
    private static <T> T whole(Whole whole, Parcelable.Creator<T> creator) {
        Parcel parcel = Parcel.obtain();
        try {
            parcel.unmarshall(whole.bytes, 0, whole.bytes.length);
            int place = 0;
            for (IBinder binder : whole.binders) {
                parcel.setDataPosition(within(whole, place++));
                parcel.writeStrongBinder(binder);
            }
            for (ParcelFileDescriptor file : whole.files) {
                parcel.setDataPosition(within(whole, place++));
                parcel.writeFileDescriptor(file.getFileDescriptor());
            }
            parcel.setDataPosition(0);
            return creator.createFromParcel(parcel);
        } finally {
            parcel.recycle();
        }
    }

    private static int within(Whole whole, int place) {
        int at = place < whole.places.length ? whole.places[place] : -1;
        if (at < 0 || at >= whole.bytes.length) {
            throw new BadParcelableException("an object at no place of " + whole.bytes.length + " bytes");
        }
        return at;
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
