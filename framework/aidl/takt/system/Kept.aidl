// SPDX-License-Identifier: Apache-2.0
package takt.system;

/** A grant of an address that a package keeps. */
parcelable Kept {
    String address;
    /** For all addresses that begin so. */
    boolean isPrefix;
    /** Intent.FLAG_GRANT_READ_URI_PERMISSION and FLAG_GRANT_WRITE_URI_PERMISSION. */
    int modes;
    /** In ms since 1970. */
    long since;
}
