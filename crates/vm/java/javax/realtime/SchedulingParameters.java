// SPDX-License-Identifier: Apache-2.0
package javax.realtime;

/** How urgent something is: see {@link PriorityParameters}. */
public abstract class SchedulingParameters implements Cloneable {
    private Users users = new Users();

    SchedulingParameters() {}

    final Users users() {
        return users;
    }

    /** The same values, used by nobody yet. */
    @Override
    public Object clone() {
        try {
            SchedulingParameters copy = (SchedulingParameters) super.clone();
            copy.users = new Users();
            return copy;
        } catch (CloneNotSupportedException e) {
            throw new AssertionError(e);
        }
    }
}
