// SPDX-License-Identifier: Apache-2.0
package org.example.taker;

import android.app.Activity;

/** Lies above another one. */
public final class Above extends Activity {}
