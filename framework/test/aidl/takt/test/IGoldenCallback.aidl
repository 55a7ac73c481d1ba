// SPDX-License-Identifier: Apache-2.0
package takt.test;

/** Told by IGolden. */
oneway interface IGoldenCallback {
    void told(int number);
}
