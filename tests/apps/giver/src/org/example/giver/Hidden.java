// SPDX-License-Identifier: Apache-2.0
package org.example.giver;

/** For its own package alone. */
public final class Hidden extends Notes {}
