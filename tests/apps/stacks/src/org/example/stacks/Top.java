// SPDX-License-Identifier: Apache-2.0
package org.example.stacks;

/** singleTop. */
public final class Top extends Page {}
