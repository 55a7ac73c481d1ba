// SPDX-License-Identifier: Apache-2.0
package takt.framework;

import android.os.Parcel;

/** What a parcel has, for who keeps it without reading it: bytes, and where objects lie in them. */
public final class ParcelContents {
    static {
        Natives.load();
    }

    private ParcelContents() {}

    /** All bytes; those of objects say nothing about them. */
    public static native byte[] bytes(Parcel parcel);

    /** Where its binders lie, or its files. */
    public static native long[] places(Parcel parcel, boolean ofFiles);
}
