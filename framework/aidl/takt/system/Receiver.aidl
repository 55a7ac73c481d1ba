// SPDX-License-Identifier: Apache-2.0
package takt.system;

/** A receiver that code has registered, and one filter of it. */
parcelable Receiver {
    /** The process's own number. */
    long number;
    boolean isExported;
    @nullable String permission;
    int priority;
    String[] actions;
    String[] categories;
    String[] schemes;
    String[] types;
    /** Who may stand in an address; a port below nought is any. */
    String[] hosts;
    int[] ports;
    /** Paths, and what follows a scheme: texts with their kinds, as PatternMatcher has them. */
    String[] paths;
    int[] pathKinds;
    String[] parts;
    int[] partKinds;
}
