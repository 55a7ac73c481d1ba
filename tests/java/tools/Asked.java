// SPDX-License-Identifier: Apache-2.0

import java.io.IOException;

/** Waits until its input ends, so that tools can ask it something. */
public class Asked {
    private static void waitForTheEnd() throws IOException {
        while (System.in.read() >= 0) {
        }
    }

    public static void main(String[] args) throws IOException {
        System.out.println("ready");
        waitForTheEnd();
        System.out.println("done");
    }
}
