// SPDX-License-Identifier: Apache-2.0
//! What needs a guest of the lab: the processors' speed by cpufreq, with a driver whose frequencies
//! change nothing, and a card that goes away. `cargo xtask test --only "sound in the lab"` runs it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use rt::affinity::CpuSet;
use rt::clock::{Clock as _, Monotonic, thread_time_ns};
use rt::frequency::Steering;
use rt::policy::Tid;
use rt::thread::Builder;
use sound::{
    Backend, DeviceError, Direction, Flow, Format, Model, Playback, State, Stream, StreamError,
    Wanted, steered,
};

const POLICIES: &str = "/sys/devices/system/cpu/cpufreq";
const LEAST: &str = "903000";
const MOST: &str = "2362000";
const PERIOD_NS: u64 = 1_333_333;

fn read_of(cpu: usize, name: &str) -> String {
    let text = std::fs::read_to_string(format!("{POLICIES}/policy{cpu}/{name}"));
    text.expect("cpufreq").trim().to_owned()
}

fn read(name: &str) -> String {
    read_of(0, name)
}

fn speed_of(cpu: usize) -> String {
    read_of(cpu, "scaling_cur_freq")
}

fn await_speed(khz: &str) {
    await_speed_of(0, khz);
}

fn await_speed_of(cpu: usize, khz: &str) {
    let due_ns = Monotonic.now_ns() + 5_000_000_000;
    while speed_of(cpu) != khz {
        assert!(Monotonic.now_ns() < due_ns, "{}, not {khz}", speed_of(cpu));
        Monotonic.sleep_until(Monotonic.now_ns() + 100_000);
    }
}

#[test]
#[ignore = "needs a guest with takt_cpufreq and cpufreq_userspace"]
fn what_is_wanted_sets_the_speed_and_the_kernels_governor_comes_back() {
    let before = read("scaling_governor");
    assert_ne!(before, "userspace");
    let governor = steered::governor().unwrap();
    let other = steered::governor().unwrap();
    assert_eq!(read("scaling_governor"), "userspace");
    let (one, two) = (governor.claim(None).unwrap(), other.claim(None).unwrap());
    // Of the largest speed a tenth, then three quarters by both, then again less.
    for (first, second, khz) in [
        (10, 0, LEAST),
        (35, 40, "2112000"),
        (40, 52, MOST),
        (5, 5, LEAST),
    ] {
        one.want(PERIOD_NS * first / 100, PERIOD_NS);
        two.want(PERIOD_NS * second / 100, PERIOD_NS);
        await_speed(khz);
    }
    one.rush().begin();
    await_speed(MOST);
    drop((governor, one));
    assert_eq!(read("scaling_governor"), "userspace");
    drop((other, two));
    assert_eq!(read("scaling_governor"), before);
    // And again, for the next stream.
    drop(steered::governor().unwrap());
    assert_eq!(read("scaling_governor"), before);
}

/// Of a little core at each of its points: `takt_cpufreq.ko:little=1` makes the second processor
/// one. This kernel knows no capacity, so a frequency counts alike on both.
const LITTLE_LEAST: &str = "533000";
const LITTLE_MIDDLE: &str = "1402000";
const LITTLE_MOST: &str = "1844000";

#[test]
#[ignore = "needs a guest of two processors, one of them little"]
fn each_kind_of_core_has_room_for_who_may_come() {
    let governor = steered::governor().unwrap();
    let on = |cpu| governor.claim(Some(&CpuSet::single(cpu))).unwrap();
    let (big, little, anywhere) = (on(0), on(1), governor.claim(None).unwrap());
    for (claim, share, of_big, of_little) in [
        (&little, 40, LEAST, LITTLE_MIDDLE),
        (&big, 40, "1421000", LITTLE_MIDDLE),
        (&little, 0, "1421000", LITTLE_LEAST),
        (&anywhere, 40, "2112000", LITTLE_MIDDLE),
        (&big, 0, "1421000", LITTLE_MIDDLE),
        (&anywhere, 90, MOST, LITTLE_MOST),
    ] {
        claim.want(PERIOD_NS * share / 100, PERIOD_NS);
        await_speed_of(0, of_big);
        await_speed_of(1, of_little);
    }
}

/// A cpuset partition of the second processor, with this process in it: a root domain of its own.
fn move_to_the_little_core() {
    let root = Path::new("/run/cgroup");
    std::fs::create_dir_all(root).unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "cgroup2", "none"])
        .arg(root)
        .status();
    assert!(mounted.unwrap().success());
    let own = root.join("little");
    std::fs::write(root.join("cgroup.subtree_control"), "+cpuset").unwrap();
    std::fs::create_dir(&own).unwrap();
    for (name, text) in [
        ("cpuset.cpus", "1"),
        ("cpuset.cpus.partition", "root"),
        ("cgroup.procs", "0"),
    ] {
        std::fs::write(own.join(name), text).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    let state = std::fs::read_to_string(own.join("cpuset.cpus.partition"));
    assert_eq!(state.unwrap().trim(), "root");
}

/// A reservation is granted there, which an affinity would prevent.
#[test]
#[ignore = "needs a guest of two processors, one of them little; the rest of this process stays there"]
fn a_partition_of_the_little_core_leaves_the_big_one_alone() {
    move_to_the_little_core();
    let governor = steered::governor().unwrap();
    let reserved = Builder::new("reserved").spawn(move || {
        let reservation = rt::policy::Policy::Deadline(rt::policy::Reservation {
            runtime_ns: PERIOD_NS / 2,
            deadline_ns: PERIOD_NS,
            period_ns: PERIOD_NS,
        });
        reservation.apply(Tid::current()).unwrap();
        let claim = governor.claim(CpuSet::of(Tid::current()).ok().as_ref());
        let claim = claim.unwrap();
        claim.want(PERIOD_NS * 40 / 100, PERIOD_NS);
        claim
    });
    let _claim = reserved.unwrap().join();
    await_speed_of(1, LITTLE_MIDDLE);
    await_speed_of(0, LEAST);
}

/// Files in the place of the kernel's: this processor is little, as its capacity says, and there is
/// a big one that is none.
fn little_here() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (cpu, capacity) in [("0", "462"), ("1", "1024")] {
        let policy = folder.path().join(format!("cpufreq/policy{cpu}"));
        let own = folder.path().join(format!("cpu{cpu}"));
        std::fs::create_dir_all(&policy).unwrap();
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join("cpu_capacity"), capacity).unwrap();
        for (name, text) in [
            ("related_cpus", cpu),
            ("cpuinfo_min_freq", "1000000"),
            ("cpuinfo_max_freq", "1800000"),
            ("scaling_available_frequencies", "1000000 1700000 1800000"),
            ("scaling_available_governors", "ondemand userspace"),
            ("scaling_governor", "ondemand"),
            ("scaling_setspeed", "1800000"),
        ] {
            std::fs::write(policy.join(name), text).unwrap();
        }
    }
    folder
}

/// Its calls take 27 % of a big core's time at the largest speed: here more than twice that at the
/// largest, and longer at each other. So its core has the second speed, and the big one its least.
/// A burst is long, so that what an unoptimised build adds is little.
#[test]
#[ignore = "needs a guest with snd-dummy and one processor"]
fn a_stream_on_a_little_core_has_the_speed_that_it_needs() {
    const LONG_NS: u64 = 10_000_000;
    let folder = little_here();
    let policies = folder.path().join("cpufreq");
    let file = move |cpu: u32| policies.join(format!("policy{cpu}/scaling_setspeed"));
    let speed = move |cpu| std::fs::read_to_string(file(cpu)).unwrap();
    let notes = folder.path().join("notes");
    let steering = Steering::at(&folder.path().join("cpufreq"), &notes).unwrap();
    let (calls, own) = (Arc::<AtomicU64>::default(), speed.clone());
    let count = Arc::clone(&calls);
    let callback = move |_: &mut [u8], _: sound::Call| {
        count.fetch_add(1, SeqCst);
        let khz: u64 = own(0).parse().unwrap();
        let (mut left, mut last_ns) = (LONG_NS * 27 / 100 * 1_024 * 1_800_000, thread_time_ns());
        while left > 0 {
            let now_ns = thread_time_ns();
            left = left.saturating_sub((now_ns - last_ns) * 462 * khz);
            last_ns = now_ns;
        }
        Flow::Continue
    };
    let playback = Playback {
        callback: Box::new(callback),
        governor: Some(steered::governor_over(steering).unwrap()),
        ..player(&calls, Some(Model::Ours))
    };
    let stream = play("alsa:hw:Dummy,0,0,burst=480", playback).unwrap();
    await_that("it plays", || calls.load(SeqCst) > 100);
    let (grant, underruns) = (stream.grant(), stream.xruns());
    assert_eq!(
        (speed(0).as_str(), speed(1).as_str()),
        ("1700000", "1000000")
    );
    assert!(
        matches!(grant.granted, Some(rt::policy::Policy::Deadline(_))),
        "{grant:?}"
    );
    assert_eq!(underruns, 0);
    stream.release().unwrap();
    drop(stream);
    let governor = folder.path().join("cpufreq/policy0/scaling_governor");
    let text = std::fs::read_to_string(governor).unwrap();
    assert!(text.starts_with("ondemand"), "{text}");
}

const DRIVER: &str = "/sys/bus/platform/drivers/snd_dummy";
const CARD: &str = "alsa:hw:Dummy,0,burst=64";

fn tell_driver(what: &str) {
    std::fs::write(format!("{DRIVER}/{what}"), "snd_dummy.0").expect("snd-dummy");
}

fn wanted(direction: Direction) -> Wanted {
    Wanted {
        direction,
        rate: Some(48_000),
        channels: Some(2),
        format: Some(Format::I16),
        capacity: None,
    }
}

fn await_that(what: &str, holds: impl Fn() -> bool) {
    let due_ns = Monotonic.now_ns() + 5_000_000_000;
    while !holds() {
        assert!(Monotonic.now_ns() < due_ns, "{what}");
        Monotonic.sleep_until(Monotonic.now_ns() + 1_000_000);
    }
}

/// One that counts its calls, with and without a reservation.
fn player(calls: &Arc<AtomicU64>, reserve: Option<Model>) -> Playback {
    let calls = Arc::clone(calls);
    Playback {
        callback: Box::new(move |_, _| {
            calls.fetch_add(1, SeqCst);
            Flow::Continue
        }),
        frames: None,
        policy: Some(rt::policy::Policy::fifo(80)),
        reserve,
        governor: None,
    }
}

/// Who is called back, who writes and who reads: each hears of it, may close, and opens anew when
/// the card is there again.
#[test]
#[ignore = "needs a guest with snd-dummy"]
fn a_card_that_goes_away_disconnects_all_and_comes_back() {
    let device = Backend::parse(CARD).unwrap();
    for reserve in [None, Some(Model::Ours), None] {
        let (calls, told) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
        let hear = Arc::clone(&told);
        let on_disconnect = move || {
            hear.fetch_add(1, SeqCst);
        };
        let playing = Stream::open(
            &device,
            &wanted(Direction::Output),
            Some(player(&calls, reserve)),
            Some(Box::new(on_disconnect)),
        );
        let playing = playing.unwrap();
        let recording = Stream::open(&device, &wanted(Direction::Input), None, None).unwrap();
        playing.start().unwrap();
        recording.start().unwrap();
        await_that("it plays", || calls.load(SeqCst) > 20);
        // The kernel waits until all have closed it.
        let unbound = Builder::new("unbind")
            .spawn(|| tell_driver("unbind"))
            .unwrap();
        await_that("it is told", || told.load(SeqCst) == 1);
        assert_eq!(playing.state(), State::Disconnected);
        let last = calls.load(SeqCst);
        // What lies in the buffer may be read still.
        let mut bytes = [0; 4096];
        let lost = loop {
            match recording.read(&mut bytes, Monotonic.now_ns() + 1_000_000_000) {
                Ok(0) => panic!("nothing is read, and nothing is said"),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert!(
            matches!(
                lost,
                StreamError::Refused(sound::Refusal::Disconnected)
                    | StreamError::Device(DeviceError::Disconnected)
            ),
            "{lost:?}"
        );
        assert!(playing.start().is_err());
        playing.release().unwrap();
        recording.release().unwrap();
        assert_eq!((calls.load(SeqCst), told.load(SeqCst)), (last, 1));
        unbound.join();
        let none = Stream::open(&device, &wanted(Direction::Output), None, None);
        assert!(matches!(none, Err(DeviceError::Unavailable(_))), "{none:?}");
        tell_driver("bind");
        await_that("the card is back", || {
            Stream::open(&device, &wanted(Direction::Output), None, None).is_ok()
        });
    }
}

/// What a card can play once at a time.
const ONE: &str = "alsa:hw:Dummy,0,0,burst=64";
const OTHER: &str = "alsa:hw:Dummy,0,1,burst=64";

/// This program again, for who is killed.
#[test]
#[ignore = "runs beside the next test, until it is killed"]
fn plays_until_it_is_killed() {
    let calls = Arc::<AtomicU64>::default();
    let stream = play(ONE, player(&calls, Some(Model::Ours))).unwrap();
    await_that("it plays", || calls.load(SeqCst) > 20);
    println!("plays");
    loop {
        Monotonic.sleep_until(Monotonic.now_ns() + 1_000_000_000);
        assert_eq!(stream.state(), State::Started);
    }
}

fn play(device: &str, playback: Playback) -> Result<Stream, DeviceError> {
    let device = Backend::parse(device).unwrap();
    let stream = Stream::open(&device, &wanted(Direction::Output), Some(playback), None)?;
    stream.start().unwrap();
    Ok(stream)
}

/// What the kernel says of the card's places: `closed`, or who has them.
fn place(number: u32) -> String {
    let path = format!("/proc/asound/Dummy/pcm0p/sub{number}/status");
    std::fs::read_to_string(path)
        .expect("snd-dummy")
        .trim()
        .to_owned()
}

/// Two want one card, one of them is killed; the module is to be removed as it plays.
#[test]
#[ignore = "needs a guest with snd-dummy"]
fn who_is_killed_leaves_the_card_and_others_play_on() {
    let calls = Arc::<AtomicU64>::default();
    let others = play(OTHER, player(&calls, None)).unwrap();
    let mut killed = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "--nocapture",
            "plays_until_it_is_killed",
        ])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let lines = std::io::BufReader::new(killed.stdout.take().unwrap());
    let mut lines = std::io::BufRead::lines(lines).map(Result::unwrap);
    assert!(lines.any(|it| it.ends_with("plays")));
    let second = play(ONE, player(&calls, None));
    assert!(
        matches!(second, Err(DeviceError::Unavailable(_))),
        "{second:?}"
    );
    let removed = std::process::Command::new("rmmod")
        .arg("snd_dummy")
        .output()
        .unwrap();
    assert!(!removed.status.success(), "it is in use");
    killed.kill().unwrap();
    killed.wait().unwrap();
    await_that("its place is free", || place(0) == "closed");
    let (before, underruns) = (calls.load(SeqCst), others.xruns());
    await_that("others play on", || calls.load(SeqCst) > before + 50);
    assert_eq!(
        (others.state(), others.xruns()),
        (State::Started, underruns)
    );
    let mine = Arc::<AtomicU64>::default();
    let next = play(ONE, player(&mine, None)).unwrap();
    await_that("the next one plays", || mine.load(SeqCst) > 20);
    drop(next);
    drop(others);
    await_that("nothing is left", || {
        place(0) == "closed" && place(1) == "closed"
    });
}

/// Its card stands, which is counted, and goes on when the callback comes back; another one beside
/// it hears nothing of that.
#[test]
#[ignore = "needs a guest with snd-dummy"]
fn a_callback_that_blocks_harms_itself_alone() {
    let calls = Arc::<AtomicU64>::default();
    let others = play(OTHER, player(&calls, None)).unwrap();
    let own = Arc::<AtomicU64>::default();
    let count = Arc::clone(&own);
    let callback = move |_: &mut [u8], _: sound::Call| {
        if count.fetch_add(1, SeqCst) == 20 {
            #[expect(
                clippy::disallowed_methods,
                reason = "the guard of the section sees ours"
            )]
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        Flow::Continue
    };
    let blocking = Playback {
        callback: Box::new(callback),
        ..player(&own, Some(Model::Ours))
    };
    let stream = play(ONE, blocking).unwrap();
    await_that("it goes on", || own.load(SeqCst) > 100);
    assert_eq!((stream.xruns(), others.xruns()), (1, 0));
    assert_eq!(stream.state(), State::Started);
    stream.stop().unwrap();
    await_that("it stops", || stream.state() == State::Stopped);
}
