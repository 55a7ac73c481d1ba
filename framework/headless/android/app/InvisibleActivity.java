// SPDX-License-Identifier: Apache-2.0
package android.app;

/**
 * Makes ActivityThread ask the server whether an activity will be visible, and so not make its
 * views: it will not be.
 */
public final class InvisibleActivity {
    private InvisibleActivity() {}

    /** An activity that has started another one asks; so does this one from now on. */
    public static void mark(Activity activity) {
        activity.mStartedActivity = true;
    }
}
