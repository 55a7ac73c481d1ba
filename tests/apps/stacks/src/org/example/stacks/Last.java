// SPDX-License-Identifier: Apache-2.0
package org.example.stacks;

/** At the end. */
public final class Last extends Page {}
