// SPDX-License-Identifier: Apache-2.0
package org.example.twins;

/** In the second. */
public final class Other extends Twin {}
