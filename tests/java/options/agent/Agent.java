// SPDX-License-Identifier: Apache-2.0
package agent;

import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.charset.StandardCharsets;
import java.security.ProtectionDomain;
import java.util.Arrays;

/** Writes another word into a class when that is loaded. */
public class Agent implements ClassFileTransformer {
    private final Instrumentation machine;

    Agent(Instrumentation machine) {
        this.machine = machine;
    }

    public static void premain(String told, Instrumentation machine) {
        System.out.println("premain " + told + " by " + Agent.class.getClassLoader().getClass().getSimpleName());
        machine.addTransformer(new Agent(machine));
        System.out.println(Arrays.asList(machine.getAllLoadedClasses()).contains(Agent.class));
        System.out.println(machine.getObjectSize(new long[10]) >= 88);
        System.out.println(Arrays.asList(machine.getInitiatedClasses(Agent.class.getClassLoader())).contains(Agent.class));
        if ("fail".equals(told)) {
            throw new IllegalStateException("told to");
        }
    }

    public static void agentmain(String told, Instrumentation machine) {
        Thread own = Thread.currentThread();
        System.out.println("agentmain " + told + " on " + own.getName() + " " + own.isDaemon());
        machine.addTransformer(new Agent(machine));
        if ("fail".equals(told)) {
            throw new IllegalStateException("told to");
        }
    }

    @Override
    public byte[] transform(Module module, ClassLoader loader, String name, Class<?> redefined,
            ProtectionDomain domain, byte[] bytes) {
        if (name == null || !name.startsWith("agent/")) {
            return null;
        }
        // Others are loaded in an order that machines choose.
        if (!name.endsWith("Main") && !name.endsWith("Getter")) {
            System.out.println("transform " + name + " " + module.isNamed() + " " + (redefined == null)
                + " " + (domain != null));
        }
        if (name.endsWith("Broken")) {
            return new byte[10];
        }
        if (name.endsWith("Failing")) {
            throw new IllegalStateException("nobody sees it");
        }
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        return text.replace("plain", "other").getBytes(StandardCharsets.ISO_8859_1);
    }
}
