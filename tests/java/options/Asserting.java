// SPDX-License-Identifier: Apache-2.0 For which classes assertions are enabled: by the command
// line, then by what a class loader is told, then by nothing.

public class Asserting {
    static class Inner {
        static boolean isOn() {
            boolean isOn = false;
            assert isOn = true;
            return isOn;
        }
    }

    public static void main(String[] arguments) {
        boolean isOn = false;
        assert isOn = true;
        System.out.println("own " + isOn + ", inner " + Inner.isOn() + ", p " + p.A.isOn() + ", p.q " + p.q.B.isOn());
        System.out.println("library " + Object.class.desiredAssertionStatus() + ", platform "
                + java.sql.Date.class.desiredAssertionStatus());
        ClassLoader loader = Asserting.class.getClassLoader();
        loader.setPackageAssertionStatus("p.q", false);
        loader.setClassAssertionStatus("p.A", true);
        show("told");
        loader.clearAssertionStatus();
        show("cleared");
    }

    private static void show(String when) {
        System.out.println(when + ": " + Asserting.class.desiredAssertionStatus() + " "
                + p.A.class.desiredAssertionStatus() + " " + p.q.B.class.desiredAssertionStatus());
    }
}
