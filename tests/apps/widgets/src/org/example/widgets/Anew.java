// SPDX-License-Identifier: Apache-2.0
package org.example.widgets;

/** The same, but its manifest names a part of that: it is made anew. */
public final class Anew extends Steady {}
