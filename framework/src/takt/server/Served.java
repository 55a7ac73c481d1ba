// SPDX-License-Identifier: Apache-2.0
package takt.server;

/** Answers calls by asking the system server: each call goes through the link with that. */
interface Served {
    SystemLink link();
}
