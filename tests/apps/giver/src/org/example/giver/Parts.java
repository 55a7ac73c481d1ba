// SPDX-License-Identifier: Apache-2.0
package org.example.giver;

/** A part of it asks for a permission that others have. */
public final class Parts extends Notes {}
