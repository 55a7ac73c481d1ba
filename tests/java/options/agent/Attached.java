// SPDX-License-Identifier: Apache-2.0
package agent;

import com.sun.tools.attach.AgentInitializationException;
import com.sun.tools.attach.AgentLoadException;
import com.sun.tools.attach.VirtualMachine;

/** Attaches to its own process and has agents loaded while it runs. */
public class Attached {
    public static void main(String[] args) throws Exception {
        VirtualMachine own = VirtualMachine.attach(Long.toString(ProcessHandle.current().pid()));
        System.out.println(Main.Failing.get());
        own.loadAgent(args[0], "hello");
        // What is loaded stays as it is.
        System.out.println(Main.Failing.get() + " " + Main.Word.get());
        for (String jar : new String[] {"nosuch.jar", args[1], args[0]}) {
            try {
                own.loadAgent(jar, "fail");
                System.out.println("loaded");
            } catch (AgentLoadException e) {
                System.out.println(e.getMessage());
            } catch (AgentInitializationException e) {
                System.out.println(e.getMessage() + ": " + e.returnValue());
            }
        }
        own.detach();
    }
}
