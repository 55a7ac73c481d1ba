// SPDX-License-Identifier: Apache-2.0
package org.example.stacks;

/** Where the script begins, and ends. */
public final class Root extends Page {}
