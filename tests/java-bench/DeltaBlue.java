// SPDX-License-Identifier: Apache-2.0

import java.util.ArrayList;
import java.util.List;

/**
 * A solver for one-way constraints of different strength, kept satisfied step by step
 * (Freeman-Benson and Maloney).
 */
final class DeltaBlue {
    private static final int COUNT = 150;
    /** Strengths: smaller is stronger. */
    private static final int REQUIRED = 0;
    private static final int PREFERRED = 2;
    private static final int DEFAULT = 4;
    private static final int WEAKEST = 6;

    private static final class Variable {
        int value;
        final List<Constraint> constraints = new ArrayList<>();
        Constraint determinedBy;
        int mark;
        int walkStrength = WEAKEST;
        boolean isStay = true;

        Variable(int value) {
            this.value = value;
        }
    }

    private abstract static class Constraint {
        final int strength;

        Constraint(int strength) {
            this.strength = strength;
        }

        abstract boolean isSatisfied();

        abstract void addToGraph();

        abstract void removeFromGraph();

        abstract void chooseMethod(int mark);

        abstract void markInputs(int mark);

        abstract boolean areInputsKnown(int mark);

        abstract Variable output();

        abstract void markUnsatisfied();

        abstract void recalculate();

        abstract void execute();

        boolean isInput() {
            return false;
        }

        final void add(DeltaBlue planner) {
            addToGraph();
            planner.incrementalAdd(this);
        }

        final void destroy(DeltaBlue planner) {
            if (isSatisfied()) {
                planner.incrementalRemove(this);
            }
            removeFromGraph();
        }

        /** Tries to enforce this; gives the constraint that it overrides. */
        final Constraint satisfy(int mark, DeltaBlue planner) {
            chooseMethod(mark);
            if (!isSatisfied()) {
                if (strength == REQUIRED) {
                    throw new IllegalStateException("a required constraint cannot be satisfied");
                }
                return null;
            }
            markInputs(mark);
            Variable out = output();
            Constraint overridden = out.determinedBy;
            if (overridden != null) {
                overridden.markUnsatisfied();
            }
            out.determinedBy = this;
            if (!planner.propagate(this, mark)) {
                throw new IllegalStateException("a cycle");
            }
            out.mark = mark;
            return overridden;
        }
    }

    private abstract static class Unary extends Constraint {
        final Variable output;
        boolean isSatisfied;

        Unary(Variable output, int strength, DeltaBlue planner) {
            super(strength);
            this.output = output;
            add(planner);
        }

        @Override
        boolean isSatisfied() {
            return isSatisfied;
        }

        @Override
        void addToGraph() {
            output.constraints.add(this);
            isSatisfied = false;
        }

        @Override
        void removeFromGraph() {
            output.constraints.remove(this);
            isSatisfied = false;
        }

        @Override
        void chooseMethod(int mark) {
            isSatisfied = output.mark != mark && strength < output.walkStrength;
        }

        @Override
        void markInputs(int mark) {
        }

        @Override
        boolean areInputsKnown(int mark) {
            return true;
        }

        @Override
        Variable output() {
            return output;
        }

        @Override
        void markUnsatisfied() {
            isSatisfied = false;
        }

        @Override
        void recalculate() {
            output.walkStrength = strength;
            output.isStay = !isInput();
            if (output.isStay) {
                execute();
            }
        }
    }

    private static final class Stay extends Unary {
        Stay(Variable variable, int strength, DeltaBlue planner) {
            super(variable, strength, planner);
        }

        @Override
        void execute() {
        }
    }

    private static final class Edit extends Unary {
        Edit(Variable variable, int strength, DeltaBlue planner) {
            super(variable, strength, planner);
        }

        @Override
        boolean isInput() {
            return true;
        }

        @Override
        void execute() {
        }
    }

    private abstract static class Binary extends Constraint {
        static final int NONE = 0;
        static final int FORWARD = 1;
        static final int BACKWARD = -1;

        final Variable first;
        final Variable second;
        int direction;

        Binary(Variable first, Variable second, int strength) {
            super(strength);
            this.first = first;
            this.second = second;
        }

        @Override
        boolean isSatisfied() {
            return direction != NONE;
        }

        @Override
        void addToGraph() {
            first.constraints.add(this);
            second.constraints.add(this);
            direction = NONE;
        }

        @Override
        void removeFromGraph() {
            first.constraints.remove(this);
            second.constraints.remove(this);
            direction = NONE;
        }

        @Override
        void chooseMethod(int mark) {
            boolean canForward = strength < second.walkStrength;
            boolean canBackward = strength < first.walkStrength;
            if (first.mark == mark) {
                direction = second.mark != mark && canForward ? FORWARD : NONE;
            } else if (second.mark == mark) {
                direction = canBackward ? BACKWARD : NONE;
            } else if (first.walkStrength > second.walkStrength) {
                direction = canBackward ? BACKWARD : NONE;
            } else {
                direction = canForward ? FORWARD : NONE;
            }
        }

        @Override
        void markInputs(int mark) {
            input().mark = mark;
        }

        @Override
        boolean areInputsKnown(int mark) {
            Variable in = input();
            return in.mark == mark || in.isStay || in.determinedBy == null;
        }

        final Variable input() {
            return direction == FORWARD ? first : second;
        }

        @Override
        Variable output() {
            return direction == FORWARD ? second : first;
        }

        @Override
        void markUnsatisfied() {
            direction = NONE;
        }

        @Override
        void recalculate() {
            Variable in = input();
            Variable out = output();
            out.walkStrength = Math.max(strength, in.walkStrength);
            out.isStay = in.isStay;
            if (out.isStay) {
                execute();
            }
        }
    }

    private static final class Equal extends Binary {
        Equal(Variable first, Variable second, int strength, DeltaBlue planner) {
            super(first, second, strength);
            add(planner);
        }

        @Override
        void execute() {
            output().value = input().value;
        }
    }

    private static final class Scale extends Binary {
        final Variable factor;
        final Variable offset;

        Scale(Variable from, Variable factor, Variable offset, Variable to, int strength, DeltaBlue planner) {
            super(from, to, strength);
            this.factor = factor;
            this.offset = offset;
            add(planner);
        }

        @Override
        void addToGraph() {
            super.addToGraph();
            factor.constraints.add(this);
            offset.constraints.add(this);
        }

        @Override
        void removeFromGraph() {
            super.removeFromGraph();
            factor.constraints.remove(this);
            offset.constraints.remove(this);
        }

        @Override
        void markInputs(int mark) {
            super.markInputs(mark);
            factor.mark = mark;
            offset.mark = mark;
        }

        @Override
        void execute() {
            if (direction == FORWARD) {
                second.value = first.value * factor.value + offset.value;
            } else {
                first.value = (second.value - offset.value) / factor.value;
            }
        }

        @Override
        void recalculate() {
            Variable in = input();
            Variable out = output();
            out.walkStrength = Math.max(strength, in.walkStrength);
            out.isStay = in.isStay && factor.isStay && offset.isStay;
            if (out.isStay) {
                execute();
            }
        }
    }

    private int currentMark;

    private int nextMark() {
        return ++currentMark;
    }

    private void incrementalAdd(Constraint constraint) {
        int mark = nextMark();
        Constraint overridden = constraint.satisfy(mark, this);
        while (overridden != null) {
            overridden = overridden.satisfy(mark, this);
        }
    }

    private void incrementalRemove(Constraint constraint) {
        Variable out = constraint.output();
        constraint.markUnsatisfied();
        constraint.removeFromGraph();
        out.determinedBy = null;
        out.walkStrength = WEAKEST;
        out.isStay = true;
        List<Constraint> unsatisfied = new ArrayList<>();
        List<Variable> work = new ArrayList<>();
        work.add(out);
        while (!work.isEmpty()) {
            Variable variable = work.remove(work.size() - 1);
            for (Constraint other : variable.constraints) {
                if (!other.isSatisfied()) {
                    unsatisfied.add(other);
                }
            }
            for (Constraint next : variable.constraints) {
                if (next != variable.determinedBy && next.isSatisfied()) {
                    next.recalculate();
                    work.add(next.output());
                }
            }
        }
        for (int strength = REQUIRED; strength < WEAKEST; strength++) {
            for (Constraint other : unsatisfied) {
                if (other.strength == strength) {
                    incrementalAdd(other);
                }
            }
        }
    }

    private boolean propagate(Constraint constraint, int mark) {
        List<Constraint> work = new ArrayList<>();
        work.add(constraint);
        while (!work.isEmpty()) {
            Constraint next = work.remove(work.size() - 1);
            if (next.output().mark == mark) {
                incrementalRemove(constraint);
                return false;
            }
            next.recalculate();
            addConsumers(next.output(), work);
        }
        return true;
    }

    private static void addConsumers(Variable variable, List<Constraint> work) {
        Constraint determining = variable.determinedBy;
        for (Constraint constraint : variable.constraints) {
            if (constraint != determining && constraint.isSatisfied()) {
                work.add(constraint);
            }
        }
    }

    private List<Constraint> plan(Constraint source) {
        int mark = nextMark();
        List<Constraint> plan = new ArrayList<>();
        List<Constraint> work = new ArrayList<>();
        if (source.isInput() && source.isSatisfied()) {
            work.add(source);
        }
        while (!work.isEmpty()) {
            Constraint next = work.remove(work.size() - 1);
            if (next.output().mark != mark && next.areInputsKnown(mark)) {
                plan.add(next);
                next.output().mark = mark;
                addConsumers(next.output(), work);
            }
        }
        return plan;
    }

    private void change(Variable variable, int value) {
        Edit edit = new Edit(variable, PREFERRED, this);
        List<Constraint> plan = plan(edit);
        for (int i = 0; i < 10; i++) {
            variable.value = value;
            for (Constraint constraint : plan) {
                constraint.execute();
            }
        }
        edit.destroy(this);
    }

    static long run() {
        return chain() * 31 + projection();
    }

    private static long chain() {
        DeltaBlue planner = new DeltaBlue();
        Variable first = new Variable(0);
        Variable previous = first;
        for (int i = 0; i < COUNT; i++) {
            Variable next = new Variable(0);
            new Equal(previous, next, REQUIRED, planner);
            previous = next;
        }
        new Stay(previous, DEFAULT, planner);
        Edit edit = new Edit(first, PREFERRED, planner);
        List<Constraint> plan = planner.plan(edit);
        long sum = 0;
        for (int i = 0; i < 50; i++) {
            first.value = i;
            for (Constraint constraint : plan) {
                constraint.execute();
            }
            sum = sum * 31 + previous.value;
        }
        edit.destroy(planner);
        return sum;
    }

    private static long projection() {
        DeltaBlue planner = new DeltaBlue();
        Variable factor = new Variable(10);
        Variable offset = new Variable(1000);
        List<Variable> targets = new ArrayList<>();
        Variable source = null;
        Variable target = null;
        for (int i = 0; i < COUNT; i++) {
            source = new Variable(i);
            target = new Variable(i);
            targets.add(target);
            new Stay(source, DEFAULT, planner);
            new Scale(source, factor, offset, target, REQUIRED, planner);
        }
        planner.change(source, 17);
        long sum = target.value;
        planner.change(target, 1050);
        sum = sum * 31 + source.value;
        planner.change(factor, 5);
        for (Variable variable : targets) {
            sum = sum * 31 + variable.value;
        }
        planner.change(offset, 2000);
        for (Variable variable : targets) {
            sum = sum * 31 + variable.value;
        }
        return sum;
    }

    private DeltaBlue() {
    }
}
