// SPDX-License-Identifier: Apache-2.0
//! Real guests. Each takes seconds, so a test asks one guest for everything that it can tell.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;

use lab::{
    Cache, Captured, Difference, Discard, Flavour, JAVA_MODULES_DEFAULT, Job, Lab, LabError, Mode,
    RtcSource, Sweep,
};
use rt::stop::StopFlag;

/// The lab of this machine, where `make setup` has been.
fn lab() -> Lab {
    let cache = Cache::of_user().expect("a home directory");
    let lab = Lab::open(cache, StopFlag::default());
    let lab = lab.unwrap_or_else(|error| panic!("{error}: run `make setup`"));
    if let Err(error) = lab.find_kernel(Flavour::Rt) {
        panic!("{error}: run `make setup`");
    }
    lab
}

fn shell(mode: Mode, directory: &Path, script: &str) -> Job {
    Job {
        command: ["sh", "-c", script].map(OsString::from).to_vec(),
        directory: directory.to_owned(),
        mode,
        kernel: Flavour::Rt,
        cpu_count: 1,
        memory_mib: None,
        modules: Vec::new(),
        with: Vec::new(),
        java_modules: JAVA_MODULES_DEFAULT.to_owned(),
        environment: Vec::new(),
        out: None,
        seed: 7,
        time_limit: Some(Duration::from_secs(120)),
        rtc: RtcSource::Virtual,
        console: None,
    }
}

#[test]
fn the_host_root_is_there_and_stays_as_it_is() {
    let lab = lab();
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("note"), "from the host").unwrap();
    let script = "uname -v; cat note; pwd; echo changed >note; cat note; echo complaint >&2
        echo file >$TAKT_OUT/result; echo $TAKT_LAB $TAKT_SEED $HELLO; [ -t 1 ] || echo no terminal
        ls /proc/self/exe /sys/kernel/tracing/README /dev/shm -d; cat /sys/class/net/lo/operstate; read x || echo closed
        exit 37";
    let mut streams = Captured::default();
    let job = Job {
        environment: vec![("HELLO".to_owned(), "it's me".to_owned())],
        out: Some(directory.path().join("out")),
        ..shell(Mode::HostRoot, directory.path(), script)
    };
    let outcome = lab.run(&job, &mut streams).unwrap();
    let stdout = String::from_utf8(streams.stdout).unwrap();
    let lines: Vec<&str> = stdout.lines().collect();
    assert!(lines[0].contains("PREEMPT_RT"), "{stdout}");
    let place = format!("from the host{}", directory.path().display());
    assert_eq!(
        lines[1..],
        [
            &place,
            "changed",
            "9p 7 it's me",
            "no terminal",
            "/dev/shm",
            "/proc/self/exe",
            "/sys/kernel/tracing/README",
            "unknown",
            "closed"
        ]
    );
    assert_eq!(streams.stderr, b"complaint\n");
    assert_eq!(outcome.exit_code, 37);
    assert_eq!(outcome.out_count, 1);
    assert_eq!(
        fs::read(directory.path().join("out/result")).unwrap(),
        b"file\n"
    );
    assert_eq!(
        fs::read(directory.path().join("note")).unwrap(),
        b"from the host"
    );
}

#[test]
fn the_same_seed_gives_the_same_bits_and_another_seed_others() {
    let lab = lab();
    let directory = tempfile::tempdir().unwrap();
    // Time, interrupts, entropy, addresses: whatever could differ. The signal shows that 128 + n
    // comes back.
    let script = "uname -v; date +%s.%N; cat /proc/interrupts /proc/uptime; od -An -tx8 -N32 /dev/urandom
        cat /proc/self/maps >$TAKT_OUT/maps; mkdir $TAKT_OUT/sub; dmesg >$TAKT_OUT/sub/dmesg; ls /dev/binder
        echo complaint >&2; kill -TERM $$";
    let job = Job {
        modules: vec!["binder_linux:devices=binder".parse().unwrap()],
        with: ["od", "date", "ls"].map(OsString::from).to_vec(),
        out: Some(directory.path().join("out")),
        ..shell(Mode::Deterministic, directory.path(), script)
    };
    let mut streams = Captured::default();
    let comparison = lab.check(&job, &mut streams).unwrap();
    assert_eq!(comparison.difference, None);
    let stdout = String::from_utf8(streams.stdout.clone()).unwrap();
    assert!(
        stdout.contains("PREEMPT_RT") && stdout.contains("1767225"),
        "{stdout}"
    );
    assert!(stdout.ends_with("/dev/binder\n"), "{stdout}");
    assert_eq!(streams.stderr, b"complaint\n");
    assert_eq!(comparison.first.exit_code, 128 + 15);
    assert_eq!(comparison.first.out_count, 2);
    let maps = fs::read_to_string(directory.path().join("out/maps")).unwrap();
    assert!(maps.contains("[stack]"), "{maps}");
    assert!(directory.path().join("out/sub/dmesg").is_file());

    let mut other = Captured::default();
    let outcome = lab.run(&Job { seed: 8, ..job }, &mut other).unwrap();
    assert_eq!(
        outcome.fingerprint.kernel,
        comparison.first.fingerprint.kernel
    );
    assert_ne!(other.stdout, streams.stdout);
}

#[test]
fn a_command_that_reads_the_hosts_time_is_caught() {
    let lab = lab();
    let job = Job {
        rtc: RtcSource::Host,
        ..shell(
            Mode::Deterministic,
            Path::new("/"),
            "echo same; cat /sys/class/rtc/rtc0/since_epoch",
        )
    };
    let job = Job {
        with: vec!["cat".into()],
        ..job
    };
    let comparison = lab.check(&job, &mut Discard).unwrap();
    match comparison.difference {
        Some(Difference::Bytes { what, line, .. }) => {
            assert_eq!((what.as_str(), line), ("standard output", 2));
        }
        other => panic!("the leak went unseen: {other:?}"),
    }
}

#[test]
fn a_panic_shows_the_console() {
    let lab = lab();
    let job = shell(
        Mode::HostRoot,
        Path::new("/"),
        // The panic does not wait for what the serial port still holds.
        "echo before; sleep 1; echo c >/proc/sysrq-trigger; echo after",
    );
    let mut streams = Captured::default();
    match lab.run(&job, &mut streams) {
        Err(LabError::Panicked { console_end }) => assert!(
            console_end.contains("sysrq triggered crash"),
            "{console_end}"
        ),
        other => panic!("{other:?}"),
    }
    assert_eq!(streams.stdout, b"before\n");
}

#[test]
fn a_guest_ends_when_its_time_is_up_or_somebody_says_stop() {
    drop(lab());
    let stop = StopFlag::default();
    let lab = Lab::open(Cache::of_user().unwrap(), stop.clone()).unwrap();
    let job = Job {
        time_limit: Some(Duration::from_millis(500)),
        ..shell(Mode::HostRoot, Path::new("/"), "sleep 1000")
    };
    assert!(matches!(
        lab.run(&job, &mut Discard),
        Err(LabError::TimedOut { .. })
    ));
    stop.set();
    let job = Job {
        time_limit: None,
        ..job
    };
    assert!(matches!(
        lab.run(&job, &mut Discard),
        Err(LabError::Interrupted)
    ));
}

#[test]
fn what_cannot_run_is_said_before_a_guest_starts() {
    let lab = lab();
    let job = shell(Mode::Deterministic, Path::new("/"), "true");
    let refusal = |job: &Job| lab.run(job, &mut Discard).unwrap_err();
    let two_cpus = Job {
        cpu_count: 2,
        ..job.clone()
    };
    assert!(matches!(refusal(&two_cpus), LabError::CpuCount(2)));
    let unknown = Job {
        command: vec!["no-such-command".into()],
        ..job.clone()
    };
    assert_eq!(refusal(&unknown).exit_code(), 127);
    let without = Job {
        with: vec!["/no/such/file".into()],
        ..job.clone()
    };
    assert!(matches!(refusal(&without), LabError::WithNotFound(_)));
    let module = Job {
        modules: vec!["no_such_module".parse().unwrap()],
        ..job.clone()
    };
    assert!(matches!(refusal(&module), LabError::ModuleNotFound { .. }));
    let tiny = Job {
        memory_mib: Some(64),
        ..job.clone()
    };
    assert!(matches!(refusal(&tiny), LabError::MemoryTooSmall { .. }));
    let directory = tempfile::tempdir().unwrap();
    let empty = Lab::open(Cache::at(directory.path()), StopFlag::default()).unwrap();
    let error = empty.run(&job, &mut Discard).unwrap_err();
    assert!(matches!(error, LabError::NoKernel { .. }), "{error}");
    assert!(error.to_string().contains("make setup"));
}

#[test]
#[ignore = "six guests: make soak"]
fn seeds_are_swept_in_order_on_both_kernels() {
    let lab = lab();
    let directory = tempfile::tempdir().unwrap();
    for kernel in [Flavour::Rt, Flavour::Standard] {
        let job = Job {
            kernel,
            out: Some(directory.path().join(kernel.name())),
            ..shell(
                Mode::Deterministic,
                Path::new("/"),
                "echo $TAKT_SEED; echo x >$TAKT_OUT/file",
            )
        };
        let mut seeds = Vec::new();
        let sweep = Sweep {
            seed_count: 3,
            jobs: 2,
        };
        lab.sweep(&job, sweep, |sample| {
            assert_eq!(sample.outcome.unwrap().exit_code, 0);
            assert_eq!(
                sample.streams.stdout,
                format!("{}\n", sample.seed).as_bytes()
            );
            seeds.push(sample.seed);
        });
        assert_eq!(seeds, [7, 8, 9]);
        let kept = directory.path().join(kernel.name()).join("seed-9");
        assert_eq!(fs::read(kept.join("stdout")).unwrap(), b"9\n");
        assert_eq!(fs::read(kept.join("out/file")).unwrap(), b"x\n");
    }
}

#[test]
#[ignore = "fills a guest's memory: make soak"]
fn a_process_killed_for_lack_of_memory_is_named() {
    let lab = lab();
    let job = Job {
        memory_mib: Some(280),
        with: vec!["tail".into()],
        ..shell(Mode::Deterministic, Path::new("/"), "tail /dev/zero")
    };
    let outcome = lab.run(&job, &mut Discard).unwrap();
    assert_eq!(outcome.exit_code, 128 + 9);
    assert!(
        outcome
            .remarks
            .iter()
            .any(|it| it.contains("raise --memory")),
        "{:?}",
        outcome.remarks
    );
}

#[test]
#[ignore = "builds a Java image: make soak"]
fn java_gives_the_same_bits_twice() {
    let lab = lab();
    let directory = tempfile::tempdir().unwrap();
    let source = "class T { public static void main(String[] a) { System.out.println(System.nanoTime() + \" \" + \
                  new Object().hashCode() + \" \" + Runtime.version()); } }";
    fs::write(directory.path().join("T.java"), source).unwrap();
    let compiled = std::process::Command::new("javac")
        .args(["--release", "17", "T.java"])
        .current_dir(directory.path())
        .status();
    assert!(compiled.expect("javac starts").success());
    let job = Job {
        command: ["java", "-cp", ".", "T"].map(OsString::from).to_vec(),
        ..shell(Mode::Deterministic, directory.path(), "")
    };
    let comparison = lab.check(&job, &mut Discard).unwrap();
    assert_eq!(comparison.first.exit_code, 0);
    assert_eq!(comparison.difference, None);
}
