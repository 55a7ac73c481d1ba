// SPDX-License-Identifier: Apache-2.0
package org.example.stacks;

/** In the middle. */
public final class Middle extends Page {}
