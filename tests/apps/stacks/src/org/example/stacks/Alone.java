// SPDX-License-Identifier: Apache-2.0
package org.example.stacks;

/** singleInstance. */
public final class Alone extends Page {}
