// SPDX-License-Identifier: Apache-2.0
//! [`Machine`]: a guest as QEMU's command line and an initramfs.
//!
//! Four serial ports: the kernel's console, control, standard output, standard error. Two are ISA
//! ports with interrupts of their own, two sit on a PCI card and share one; four ISA ports would
//! share edge-triggered interrupts and lose some.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::closure::{Closure, find_command};
use crate::determinism::{Digest, start_delay_us};
use crate::error::LabError;
use crate::initramfs::Initramfs;
use crate::job::{Job, Mode, RtcSource};
use crate::kernel::Kernel;
use crate::lab::Lab;
use crate::module::{ModuleIndex, ModuleRequest};
use crate::outcome::Fingerprint;
use crate::share;
use crate::shell::quote;

/// What the guest's kernel and tools use beside the initramfs.
const KERNEL_MIB: u64 = 256;

/// Fits everything that is small; more is taken when the initramfs is large.
const MEMORY_MIB_DEFAULT: u64 = 1024;

const INIT: &str = include_str!("../guest/init.sh");
const RUN: &str = include_str!("../guest/run.sh");

/// No address randomisation, no boot-time benchmarks, and entropy from the emulated RDRAND, which
/// follows QEMU's `-seed`.
const KERNEL_ARGUMENTS: &str = "console=ttyS0 quiet panic=-1 nokaslr tsc=reliable random.trust_cpu=on mitigations=off \
                                cryptomgr.notests";

/// PATH in the guest. The applets of busybox come last, and only where the host's own tools are
/// not.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The files behind the four ports.
#[derive(Debug)]
pub(crate) struct Ports {
    pub(crate) console: PathBuf,
    pub(crate) control: PathBuf,
    pub(crate) stdout: PathBuf,
    pub(crate) stderr: PathBuf,
}

/// Ready to start.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) arguments: Vec<OsString>,
    pub(crate) ports: Ports,
    pub(crate) fingerprint: Fingerprint,
}

impl Machine {
    /// Packs the initramfs into `directory` and composes the command line.
    pub(crate) fn build(
        lab: &Lab,
        job: &Job,
        kernel: &Kernel,
        has_kvm: bool,
        directory: &Path,
    ) -> Result<Machine, LabError> {
        if job.mode == Mode::Deterministic && job.cpu_count != 1 {
            return Err(LabError::CpuCount(job.cpu_count));
        }
        let archive = directory.join("initramfs");
        let (image_digest, image_bytes) = pack(lab, job, kernel)?.write(&archive)?;
        let memory_mib = memory_mib(job, image_bytes)?;
        let ports = Ports::create(directory)?;
        let machine_words = machine_words(job, has_kvm, memory_mib);
        let mut digest = Digest::default();
        for word in [&lab.qemu_version, &kernel.digest, &image_digest] {
            digest.add(word.as_bytes());
        }
        machine_words
            .iter()
            .for_each(|it| digest.add(it.as_bytes()));
        digest.add(KERNEL_ARGUMENTS.as_bytes());
        let mut arguments: Vec<OsString> = machine_words.into_iter().map(OsString::from).collect();
        arguments.extend(["-seed".into(), job.seed.to_string().into()]);
        arguments.extend(ports.arguments());
        if job.mode == Mode::HostRoot {
            arguments.extend(share::root_arguments());
            arguments.extend(job.out.iter().flat_map(|it| share::out_arguments(it)));
        }
        arguments.extend(["-kernel".into(), kernel.vmlinux.clone().into()]);
        arguments.extend(["-initrd".into(), archive.into()]);
        arguments.extend(["-append".into(), KERNEL_ARGUMENTS.into()]);
        Ok(Machine {
            arguments,
            ports,
            fingerprint: Fingerprint {
                mode: job.mode,
                kernel: kernel.release.clone(),
                qemu: lab.qemu_version.clone(),
                accelerator: if has_kvm { "kvm" } else { "tcg" },
                machine: digest.finish(),
                seed: job.seed,
            },
        })
    }
}

impl Ports {
    fn create(directory: &Path) -> Result<Ports, LabError> {
        let create = |name: &str| {
            let path = directory.join(name);
            File::create(&path).map_err(LabError::io("create", &path))?;
            Ok(path)
        };
        Ok(Ports {
            console: create("console")?,
            control: create("control")?,
            stdout: create("stdout")?,
            stderr: create("stderr")?,
        })
    }

    /// The order makes the names in the guest: ttyS0, ttyS1, ttyS2, ttyS3.
    fn arguments(&self) -> Vec<OsString> {
        let named = [
            ("console", &self.console),
            ("control", &self.control),
            ("stdout", &self.stdout),
            ("stderr", &self.stderr),
        ];
        let mut words = Vec::new();
        for (id, path) in named {
            words.push("-chardev".to_owned());
            words.push(format!("file,id={id},path={}", share::escape(path)));
        }
        for device in [
            "isa-serial,chardev=console",
            "isa-serial,chardev=control",
            "pci-serial-2x,chardev1=stdout,chardev2=stderr",
        ] {
            words.extend(["-device".to_owned(), device.to_owned()]);
        }
        words.into_iter().map(OsString::from).collect()
    }
}

/// Everything of the command line that decides how the machine behaves, host paths and the seed
/// left out.
fn machine_words(job: &Job, has_kvm: bool, memory_mib: u64) -> Vec<String> {
    let mut words: Vec<&str> = "-machine pc -nodefaults -no-user-config -display none -no-reboot"
        .split(' ')
        .collect();
    let rtc = match (job.mode, job.rtc) {
        (Mode::Deterministic, RtcSource::Virtual) => "base=2026-01-01T00:00:00,clock=vm",
        (Mode::Deterministic, RtcSource::Host) | (Mode::HostRoot, _) => "base=utc,clock=host",
    };
    words.extend(["-rtc", rtc]);
    if has_kvm {
        words.extend(["-accel", "kvm", "-cpu", "host"]);
    } else {
        words.extend(["-accel", "tcg", "-cpu", "max"]);
    }
    if job.mode == Mode::Deterministic {
        words.extend(["-icount", "shift=0,sleep=off,align=off"]);
    }
    let (cpu_count, memory) = (job.cpu_count.to_string(), format!("{memory_mib}M"));
    words.extend(["-smp", &cpu_count, "-m", &memory]);
    words.into_iter().map(str::to_owned).collect()
}

fn memory_mib(job: &Job, image_bytes: u64) -> Result<u64, LabError> {
    let image_mib = image_bytes.div_ceil(1 << 20);
    // The archive and what it unpacks to lie in memory together for a moment.
    let need_mib = 2 * image_mib + KERNEL_MIB;
    match job.memory_mib.map(u64::from) {
        Some(given) if given < need_mib => Err(LabError::MemoryTooSmall {
            image_mib,
            need_mib,
        }),
        Some(given) => Ok(given),
        // A step of 256 MiB: a byte more in the command does not make it another machine.
        None => Ok(MEMORY_MIB_DEFAULT.max((need_mib + 512).next_multiple_of(256))),
    }
}

fn pack(lab: &Lab, job: &Job, kernel: &Kernel) -> Result<Initramfs, LabError> {
    let mut image = Initramfs::default();
    for directory in ["/dev", "/proc", "/sys", "/run", "/tmp", "/root", "/takt"] {
        image.directory(Path::new(directory));
    }
    image.copy(Path::new("/takt/busybox"), &lab.busybox)?;
    image.text(Path::new("/init"), 0o755, INIT);
    image.text(Path::new("/takt/run.sh"), 0o755, RUN);
    image.text(Path::new("/takt/config"), 0o644, config(job));
    let program = find_command(job)?;
    image.text(Path::new("/takt/command"), 0o755, command(job, &program));
    let mut requests: Vec<ModuleRequest> = Vec::new();
    if job.mode == Mode::HostRoot {
        requests.extend(share::modules());
    }
    requests.extend(job.modules.iter().cloned());
    let mut list = String::new();
    if !requests.is_empty() {
        for module in ModuleIndex::read(kernel, &lab.cache)?.plan(&requests)? {
            let place = format!("/takt/modules/{}.ko", module.name);
            image.copy(Path::new(&place), &module.file)?;
            list.push_str(&format!("{place} {}\n", module.parameters));
        }
    }
    image.text(Path::new("/takt/modules.list"), 0o644, list);
    if job.mode == Mode::Deterministic {
        for (path, text) in ETC {
            image.text(Path::new(path), 0o644, text);
        }
        Closure::new(&mut image, &lab.cache).add_job(job)?;
    }
    Ok(image)
}

/// The least that C libraries look for. None of it is the host's: that would be a leak.
const ETC: [(&str, &str); 4] = [
    ("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"),
    ("/etc/group", "root:x:0:\n"),
    ("/etc/hosts", "127.0.0.1 localhost takt-lab\n"),
    (
        "/etc/nsswitch.conf",
        "passwd: files\ngroup: files\nhosts: files\n",
    ),
];

/// Variables for the guest's shell.
fn config(job: &Job) -> String {
    let out = match (job.mode, &job.out) {
        (_, None) => "none",
        (Mode::Deterministic, Some(_)) => "archive",
        (Mode::HostRoot, Some(_)) => "share",
    };
    let delay_us = start_delay_us(job.seed);
    format!(
        "MODE={}\nOUT={out}\nSTART_DELAY_US={delay_us}\nCONTROL_PORT=/dev/ttyS1\nSTDOUT_PORT=/dev/ttyS2\nSTDERR_PORT=/dev/ttyS3\n",
        job.mode.name()
    )
}

/// A script that becomes the command, in its directory and in an environment that owes nothing to
/// the host's.
fn command(job: &Job, program: &Path) -> Vec<u8> {
    let path = match job.mode {
        Mode::Deterministic => format!("{PATH}:/takt/bin"),
        Mode::HostRoot => PATH.to_owned(),
    };
    let given = [
        ("PATH", path),
        ("HOME", "/root".to_owned()),
        ("LANG", "C.UTF-8".to_owned()),
        ("TAKT_LAB", job.mode.name().to_owned()),
        ("TAKT_SEED", job.seed.to_string()),
        ("TAKT_OUT", "/takt/out".to_owned()),
    ];
    let mut script = b"cd ".to_vec();
    script.extend(quote(job.directory.as_os_str().as_bytes()));
    script.extend(b" || exit 125\nexec /takt/bin/env -i");
    let given = given.iter().map(|(name, value)| (*name, value.as_str()));
    let asked = job
        .environment
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in given.chain(asked) {
        script.push(b' ');
        script.extend(quote(format!("{name}={value}").as_bytes()));
    }
    script.push(b' ');
    script.extend(quote(program.as_os_str().as_bytes()));
    for word in &job.command[1..] {
        script.push(b' ');
        script.extend(quote(&word.clone().into_vec()));
    }
    script.push(b'\n');
    script
}
