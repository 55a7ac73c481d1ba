// SPDX-License-Identifier: Apache-2.0
//! `rtandroid.cpu.CpuPackage` under `takt run` and `takt system`: over files in the place of the
//! kernel's, in a mount namespace of its own. What cpufreq itself does is `takt bench freq`'s.

use std::process::{Command, Output};

use e2e::apps::{folder, said};
use e2e::takt_path;

/// Makes `$CPUFREQ` with one policy, or with none, in the place of the machine's, and takes `/run`
/// as well; then it runs what follows.
const PLACE: &str = r#"
set -e
cpu=/sys/devices/system/cpu
mkdir "$PLACE/cpu" "$PLACE/run" "$PLACE/cpu/cpufreq"
cp "$cpu/online" "$cpu/possible" "$cpu/present" "$PLACE/cpu"
mount --bind "$PLACE/cpu" "$cpu"
mount --bind "$PLACE/run" /run
policy=$cpu/cpufreq/policy0
begin() {
    mkdir "$policy"
    echo 903000 > "$policy/cpuinfo_min_freq"
    echo 2362000 > "$policy/cpuinfo_max_freq"
    echo 903000 1421000 1805000 2112000 2362000 > "$policy/scaling_available_frequencies"
    echo 903000 > "$policy/scaling_min_freq"
    echo 2112000 > "$policy/scaling_max_freq"
}
limits() {
    echo "$1: $(cat "$policy/scaling_min_freq") $(cat "$policy/scaling_max_freq")"
}
await() {
    for _ in $(seq 600); do
        if eval "$1"; then return; fi
        sleep 0.1
    done
    echo "never: $1"
    exit 1
}
"#;

const RUN: &str = r#"
"$TAKT" run "$APPS/holder.apk" --data "$PLACE/data1" --sandbox none --service .Holder --until-started
begin
"$TAKT" run "$APPS/holder.apk" --data "$PLACE/data2" --sandbox none --service .Holder --until-started
limits over
"$TAKT" run "$APPS/holder.apk" --data "$PLACE/data3" --sandbox none --service .Holder 2> "$PLACE/log" &
holder=$!
await '[ "$(cat "$policy/scaling_min_freq")" = 2362000 ]'
kill -9 $holder
await '[ "$(cat "$policy/scaling_max_freq")" = 2112000 ]'
limits killed
"#;

const SYSTEM: &str = r#"
begin
export TAKT_SYSTEM=$PLACE/socket
serve() {
    "$TAKT" system --state "$PLACE/state" --no-template 2>> "$PLACE/log" &
    server=$!
    await '[ -S "$TAKT_SYSTEM" ]'
}
hold() {
    "$TAKT" am startservice -n org.example.holder/.Holder
    await '[ "$(cat "$policy/scaling_min_freq")" = 2362000 ]'
}
serve
"$TAKT" install "$APPS/holder.apk"
hold
limits held
"$TAKT" dumpsys | grep ^frequency
kill -9 "$("$TAKT" ps --json | sed -n 's/.*"pid": \([0-9]*\).*/\1/p' | head -n 1)"
await '[ "$(cat "$policy/scaling_max_freq")" = 2112000 ]'
limits "task killed"
hold
kill -9 $server
wait $server || true
rm "$TAKT_SYSTEM"
await '[ "$(cat "$policy/scaling_max_freq")" = 2112000 ]'
limits "server killed"
serve
hold
kill $server
wait $server || true
limits "server ended"
"#;

fn script(words: &str) -> Output {
    let place = tempfile::tempdir().expect("a temporary directory");
    // Applications' own users come through.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(place.path(), open).expect("it is ours");
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c"])
        .arg(format!("{PLACE}{words}"))
        .env("PLACE", place.path())
        .env("TAKT", takt_path())
        .env("APPS", folder())
        .output();
    output.expect("unshare is there")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const HELD: [&str; 12] = [
    "before: -1",
    "beyond: IllegalArgumentException: a frequency of 101 percent: 0 to 100 are there",
    "middle: held",
    "again: held",
    "conflict: IllegalStateException: the frequency is held at 50 percent, so not at 100: 1 \
     processes hold it",
    "back: given back",
    "still: 50",
    "all back: given back",
    "too often: IllegalStateException: this process does not hold the frequency",
    "after: -1",
    "most: held",
    "done",
];

#[test]
fn an_application_holds_what_the_machine_has_and_is_refused_what_it_has_not() {
    let output = script(RUN);
    let log = said(&text(&output.stderr), "Holder");
    assert_eq!(log.len(), 2 * HELD.len(), "{output:#?}");
    let (without, with) = log.split_at(HELD.len());
    assert_eq!(with, HELD);
    let missing = "UnsupportedOperationException: the frequency is not held: no cpufreq: \
                   /sys/devices/system/cpu/cpufreq has no policy";
    for (at, what) in [(2, "middle: "), (10, "most: ")] {
        assert!(
            without[at].starts_with(&format!("{what}{missing}")),
            "{without:#?}"
        );
    }
    assert_eq!(without[6], "still: -1");
    assert_eq!(
        text(&output.stdout),
        "over: 903000 2112000\nkilled: 903000 2112000\n"
    );
}

#[test]
fn under_the_server_it_is_given_back_by_whatever_end() {
    let output = script(SYSTEM);
    let stdout = text(&output.stdout);
    let lines: Vec<&str> = stdout
        .lines()
        .filter(|it| !it.starts_with("started ") && !it.starts_with("installed "))
        .collect();
    let expected = [
        "held: 2362000 2362000",
        "frequency: held at 100 percent by org.example.holder 1 times",
        "task killed: 903000 2112000",
        "server killed: 903000 2112000",
        "server ended: 903000 2112000",
    ];
    assert_eq!(lines, expected, "{output:#?}");
}
