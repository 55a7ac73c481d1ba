// SPDX-License-Identifier: Apache-2.0
package org.example.twins;

/** In the first process. */
public final class One extends Twin {}
