// SPDX-License-Identifier: Apache-2.0
//! The processors' speed by cpufreq, in a guest of the lab with a driver whose frequencies change
//! nothing. `cargo xtask test --only "speed in the lab"` runs it there.

use rt::clock::{Clock as _, Monotonic};
use sound::steered;

const POLICY: &str = "/sys/devices/system/cpu/cpufreq/policy0";
const LEAST: &str = "903000";
const MOST: &str = "2362000";
const PERIOD_NS: u64 = 1_333_333;

fn read(name: &str) -> String {
    let text = std::fs::read_to_string(format!("{POLICY}/{name}"));
    text.expect("cpufreq").trim().to_owned()
}

fn await_speed(khz: &str) {
    let due_ns = Monotonic.now_ns() + 5_000_000_000;
    while read("scaling_cur_freq") != khz {
        assert!(
            Monotonic.now_ns() < due_ns,
            "{}, not {khz}",
            read("scaling_cur_freq")
        );
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
    let (one, two) = (governor.claim().unwrap(), other.claim().unwrap());
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
    governor.rush();
    await_speed(MOST);
    drop((governor, one));
    assert_eq!(read("scaling_governor"), "userspace");
    drop((other, two));
    assert_eq!(read("scaling_governor"), before);
    // And again, for whoever opens the next stream.
    drop(steered::governor().unwrap());
    assert_eq!(read("scaling_governor"), before);
}
