// SPDX-License-Identifier: Apache-2.0

/**
 * An operating system's kernel after Martin Richards: tasks that send packets to each other, by
 * priority.
 */
final class Richards {
    private static final int IDLE = 0;
    private static final int WORKER = 1;
    private static final int HANDLER_A = 2;
    private static final int HANDLER_B = 3;
    private static final int DEVICE_A = 4;
    private static final int DEVICE_B = 5;
    private static final int TASK_COUNT = 6;
    private static final int IDLE_ROUNDS = 3_000;
    private static final int DATA = 4;

    private enum Kind { DEVICE, WORK }

    private static final class Packet {
        Packet next;
        int task;
        final Kind kind;
        int datum;
        final int[] data = new int[DATA];

        Packet(Packet next, int task, Kind kind) {
            this.next = next;
            this.task = task;
            this.kind = kind;
        }
    }

    /** Puts {@code packet} at the end of {@code queue}. */
    private static Packet append(Packet packet, Packet queue) {
        packet.next = null;
        if (queue == null) {
            return packet;
        }
        Packet last = queue;
        while (last.next != null) {
            last = last.next;
        }
        last.next = packet;
        return queue;
    }

    private abstract static class Task {
        final int id;
        final int priority;
        final Task next;
        Packet queue;
        boolean isHeld;
        boolean isWaiting;

        Task(Richards kernel, int id, int priority, Packet queue) {
            this.id = id;
            this.priority = priority;
            this.queue = queue;
            this.isWaiting = id != IDLE;
            this.next = kernel.first;
            kernel.first = this;
            kernel.tasks[id] = this;
        }

        boolean isStopped() {
            return isHeld || (isWaiting && queue == null);
        }

        /** Runs once with the first packet, if any; gives the task to run next. */
        final Task step(Richards kernel) {
            Packet packet = null;
            if (isWaiting && queue != null) {
                packet = queue;
                queue = packet.next;
            }
            isWaiting = false;
            return run(kernel, packet);
        }

        abstract Task run(Richards kernel, Packet packet);

        /**
         * Takes a packet; gives whom to run next: this task if it is more urgent than {@code from}.
         */
        final Task take(Packet packet, Task from) {
            boolean wasEmpty = queue == null;
            queue = append(packet, queue);
            if (wasEmpty) {
                return priority > from.priority ? this : from;
            }
            return from;
        }
    }

    private static final class Idle extends Task {
        int seed = 1;
        int left = IDLE_ROUNDS;

        Idle(Richards kernel) {
            super(kernel, IDLE, 0, null);
        }

        @Override
        Task run(Richards kernel, Packet packet) {
            if (--left == 0) {
                return kernel.hold(this);
            }
            if ((seed & 1) == 0) {
                seed /= 2;
                return kernel.release(this, DEVICE_A);
            }
            seed = (seed / 2) ^ 0xd008;
            return kernel.release(this, DEVICE_B);
        }
    }

    private static final class Worker extends Task {
        int target = HANDLER_A;
        int letter;

        Worker(Richards kernel, Packet queue) {
            super(kernel, WORKER, 1000, queue);
        }

        @Override
        Task run(Richards kernel, Packet packet) {
            if (packet == null) {
                return kernel.sleep(this);
            }
            target = target == HANDLER_A ? HANDLER_B : HANDLER_A;
            packet.task = target;
            packet.datum = 0;
            for (int i = 0; i < DATA; i++) {
                letter = letter == 26 ? 1 : letter + 1;
                packet.data[i] = 'A' + letter - 1;
            }
            return kernel.send(this, packet);
        }
    }

    private static final class Handler extends Task {
        Packet work;
        Packet devices;
        final int device;

        Handler(Richards kernel, int id, int priority, Packet queue, int device) {
            super(kernel, id, priority, queue);
            this.device = device;
        }

        @Override
        Task run(Richards kernel, Packet packet) {
            if (packet != null) {
                if (packet.kind == Kind.WORK) {
                    work = append(packet, work);
                } else {
                    devices = append(packet, devices);
                }
            }
            if (work != null) {
                int done = work.datum;
                if (done >= DATA) {
                    Packet finished = work;
                    work = finished.next;
                    finished.task = WORKER;
                    return kernel.send(this, finished);
                }
                if (devices != null) {
                    Packet free = devices;
                    devices = free.next;
                    free.datum = work.data[done];
                    free.task = device;
                    work.datum = done + 1;
                    return kernel.send(this, free);
                }
            }
            return kernel.sleep(this);
        }
    }

    private static final class Device extends Task {
        Packet pending;
        final int handler;

        Device(Richards kernel, int id, int priority, int handler) {
            super(kernel, id, priority, null);
            this.handler = handler;
        }

        @Override
        Task run(Richards kernel, Packet packet) {
            if (packet == null) {
                if (pending == null) {
                    return kernel.sleep(this);
                }
                Packet ready = pending;
                pending = null;
                ready.task = handler;
                return kernel.send(this, ready);
            }
            pending = packet;
            return kernel.hold(this);
        }
    }

    private final Task[] tasks = new Task[TASK_COUNT];
    private Task first;
    private int sentCount;
    private int heldCount;
    private int stepCount;

    static long run() {
        Richards kernel = new Richards();
        new Idle(kernel);
        Packet queue = new Packet(null, WORKER, Kind.WORK);
        queue = new Packet(queue, WORKER, Kind.WORK);
        new Worker(kernel, queue);
        new Handler(kernel, HANDLER_A, 2000, devices(DEVICE_A), DEVICE_A);
        new Handler(kernel, HANDLER_B, 3000, devices(DEVICE_B), DEVICE_B);
        new Device(kernel, DEVICE_A, 4000, HANDLER_A);
        new Device(kernel, DEVICE_B, 5000, HANDLER_B);
        kernel.schedule();
        return kernel.sentCount * 1_000_000L + kernel.heldCount * 1_000L + kernel.stepCount;
    }

    private static Packet devices(int task) {
        Packet queue = new Packet(null, task, Kind.DEVICE);
        queue = new Packet(queue, task, Kind.DEVICE);
        return new Packet(queue, task, Kind.DEVICE);
    }

    private void schedule() {
        Task current = first;
        while (current != null) {
            if (current.isStopped()) {
                current = current.next;
            } else {
                stepCount++;
                current = current.step(this);
            }
        }
    }

    private Task send(Task from, Packet packet) {
        Task target = tasks[packet.task];
        sentCount++;
        return target.take(packet, from);
    }

    private Task hold(Task task) {
        heldCount++;
        task.isHeld = true;
        return first;
    }

    private Task release(Task from, int id) {
        Task task = tasks[id];
        task.isHeld = false;
        return task.priority > from.priority ? task : from;
    }

    private Task sleep(Task task) {
        task.isWaiting = true;
        return first;
    }
}
