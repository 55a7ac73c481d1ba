// SPDX-License-Identifier: Apache-2.0
package takt.system;

/** What a parcel has, for who does not read it. */
parcelable Whole {
    byte[] bytes;
    /** Where its binders lie, and then its files. */
    int[] places;
    IBinder[] binders;
    ParcelFileDescriptor[] files;
}
