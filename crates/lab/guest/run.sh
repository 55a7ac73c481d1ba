# SPDX-License-Identifier: Apache-2.0
# The guest's second program: mounts what a Linux has, runs the command, sends back its exit code and its files.
# File descriptor 4 is the control port. It carries lines: RUN, EXIT n, then FILES and a cpio archive if the host asked for one, then END.
export PATH=/takt/bin
. /takt/config
mount -t sysfs sysfs /sys

fail() {
    echo "FAIL $*" >&4
    poweroff -f
}

mkdir -p /dev/pts /dev/shm /run /tmp /root
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 shm /dev/shm
[ "$MODE" = 9p ] && mount -t tmpfs -o mode=755 run /run
chmod 1777 /tmp
for link in fd:/proc/self/fd stdin:/proc/self/fd/0 stdout:/proc/self/fd/1 stderr:/proc/self/fd/2; do
    [ -e "/dev/${link%%:*}" ] || ln -s "${link#*:}" "/dev/${link%%:*}"
done
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
mount -t debugfs debugfs /sys/kernel/debug 2>/dev/null
ifconfig lo 127.0.0.1 up
hostname takt-lab
ulimit -l unlimited
ulimit -n 65536
ulimit -r 99

mkdir -p /takt/out
if [ "$OUT" = share ]; then
    mount -t 9p -o trans=virtio,version=9p2000.L,msize=1048576 out /takt/out || fail "cannot mount the directory for --out"
fi

# Pipes, so that the command sees no terminal; a pump each, so that the two streams stay apart.
mkfifo /takt/stdout /takt/stderr
stty raw -echo <"$STDOUT_PORT"
stty raw -echo <"$STDERR_PORT"
cat /takt/stdout >"$STDOUT_PORT" &
stdout_pump=$!
cat /takt/stderr >"$STDERR_PORT" &
stderr_pump=$!

mkdir /sys/fs/cgroup/command
usleep "$START_DELAY_US"
echo RUN >&4
(
    exec 4>&-
    echo 0 >/sys/fs/cgroup/command/cgroup.procs
    exec setsid /takt/busybox sh /takt/command
) </dev/null >/takt/stdout 2>/takt/stderr &
wait $!
status=$?

# What the command left running would hold its streams open.
echo 1 >/sys/fs/cgroup/command/cgroup.kill
wait $stdout_pump $stderr_pump
echo "EXIT $status" >&4
if [ "$OUT" = archive ]; then
    echo FILES >&4
    cd /takt/out && find . -mindepth 1 | sort | cpio -o -H newc >&4 2>/dev/null
    echo END >&4
else
    [ "$OUT" = share ] && umount /takt/out
    echo END >&4
fi
exec 4>&-
poweroff -f
