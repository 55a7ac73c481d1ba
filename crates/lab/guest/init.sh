#!/takt/busybox sh
# SPDX-License-Identifier: Apache-2.0
# The guest's first program. Gives the command a root file system, then hands over to run.sh.
# The host wrote /takt/config (shell variables), /takt/modules.list and /takt/command.
export PATH=/takt/bin
/takt/busybox mkdir -p /takt/bin /dev /proc /sys
# Busybox finds itself through /proc: the guest's own, never the host's, where /proc/self/exe is the emulator.
/takt/busybox mount -t proc proc /proc
/takt/busybox --install -s /takt/bin
. /takt/config
mount -t devtmpfs devtmpfs /dev
exec </dev/null >/dev/console 2>&1 4>"$CONTROL_PORT"
stty raw -echo <"$CONTROL_PORT"

fail() {
    echo "FAIL $*" >&4
    poweroff -f
}

while read -r file parameters; do
    # Unquoted: parameters are words.
    insmod "$file" $parameters || fail "insmod ${file##*/} $parameters"
done </takt/modules.list

mkdir /takt/root
if [ "$MODE" = 9p ]; then
    mkdir /takt/lower /takt/upper
    mount -t 9p -o trans=virtio,version=9p2000.L,ro,cache=loose,msize=1048576 host /takt/lower ||
        fail "cannot mount the host's root by 9p"
    mount -t tmpfs upper /takt/upper && mkdir /takt/upper/files /takt/upper/work
    mount -t overlay -o lowerdir=/takt/lower,upperdir=/takt/upper/files,workdir=/takt/upper/work root /takt/root ||
        fail "cannot lay an overlay over the host's root"
    mkdir -p /takt/root/takt /takt/root/dev /takt/root/proc /takt/root/sys
    mount -t tmpfs takt /takt/root/takt
    cp -a /takt/busybox /takt/bin /takt/config /takt/command /takt/run.sh /takt/root/takt
    mount -o move /dev /takt/root/dev
    mount -o move /proc /takt/root/proc
    exec switch_root /takt/root /takt/busybox sh /takt/run.sh
fi

# A root that is a mount of its own: the initial one cannot be pivoted, and sandboxes pivot.
mount -o bind / /takt/root
mount -o move /dev /takt/root/dev
mount -o move /proc /takt/root/proc
cd /takt/root
mount -o move . /
exec chroot . /takt/busybox sh /takt/run.sh
