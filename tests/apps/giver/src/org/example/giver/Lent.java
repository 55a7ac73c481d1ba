// SPDX-License-Identifier: Apache-2.0
package org.example.giver;

/** For those to whom its own package grants an address. */
public final class Lent extends Notes {}
