// SPDX-License-Identifier: Apache-2.0
//! Does KVM work here? Asked with a time limit, because a machine inside a machine may offer
//! /dev/kvm and then hang.
//!
//! The question is the real kernel with an init that says one word: smaller questions (a ROM of a
//! few instructions) are answered well by hosts where a kernel then hangs. The answer holds until
//! the next boot and is kept in the cache.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use rt::clock::{Clock, Monotonic};

use crate::determinism::digest;
use crate::error::LabError;
use crate::initramfs::Initramfs;
use crate::kernel::Kernel;
use crate::lab::Lab;
use crate::share;

/// A working KVM needs about a second for this.
const PROBE_NS_MAX: u64 = 8_000_000_000;
const PROBE_STEP_NS: u64 = 20_000_000;

const INIT: &str = "#!/busybox sh\n/busybox mount -t devtmpfs dev /dev\n/busybox echo works >/dev/ttyS1\n/busybox poweroff -f\n";

/// Whether guests may use KVM.
pub(crate) fn kvm_works(lab: &Lab, kernel: &Kernel) -> bool {
    if fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/kvm")
        .is_err()
    {
        return false;
    }
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let key = digest(format!("{boot} {} {}", lab.qemu_version, kernel.digest).as_bytes());
    let answer = lab.cache.find_or_build("kvm", &key, |made| {
        let word = if probe(lab, kernel)? {
            "works"
        } else {
            "fails"
        };
        fs::write(made, word).map_err(LabError::io("write", made))
    });
    answer.is_ok_and(|it| fs::read(it).is_ok_and(|word| word == b"works"))
}

fn probe(lab: &Lab, kernel: &Kernel) -> Result<bool, LabError> {
    let directory = tempfile::tempdir()
        .map_err(LabError::io("create a directory in", &std::env::temp_dir()))?;
    let (archive, said) = (
        directory.path().join("initramfs"),
        directory.path().join("said"),
    );
    let mut image = Initramfs::default();
    image.directory(Path::new("/dev"));
    image.copy(Path::new("/busybox"), &lab.busybox)?;
    image.text(Path::new("/init"), 0o755, INIT);
    image.write(&archive)?;
    let mut child = Command::new(&lab.qemu)
        .args("-machine pc -accel kvm -cpu host -m 256 -nodefaults -no-user-config -display none -no-reboot".split(' '))
        .args(["-serial", "null", "-serial"])
        .arg(format!("file:{}", share::escape(&said)))
        .args(["-append", "console=ttyS0 quiet panic=-1"])
        .arg("-kernel")
        .arg(&kernel.vmlinux)
        .arg("-initrd")
        .arg(&archive)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(LabError::io("start", &lab.qemu))?;
    let gone = LabError::io("wait for", &lab.qemu);
    let clock = Monotonic;
    let due_ns = clock.now_ns() + PROBE_NS_MAX;
    while clock.now_ns() < due_ns && !lab.is_stopped() {
        if child
            .try_wait()
            .map_err(LabError::io("wait for", &lab.qemu))?
            .is_some()
        {
            return Ok(fs::read(&said).is_ok_and(|it| it.starts_with(b"works")));
        }
        clock.sleep_until(clock.now_ns() + PROBE_STEP_NS);
    }
    // It may hang inside the kernel, where no signal reaches it: asked to go, not waited for.
    child.kill().map_err(gone)?;
    clock.sleep_until(clock.now_ns() + PROBE_STEP_NS);
    let _ = child.try_wait();
    if lab.is_stopped() {
        return Err(LabError::Interrupted);
    }
    Ok(false)
}
