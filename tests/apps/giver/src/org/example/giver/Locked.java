// SPDX-License-Identifier: Apache-2.0
package org.example.giver;

/** Asks for a permission of who reads it. */
public final class Locked extends Notes {}
