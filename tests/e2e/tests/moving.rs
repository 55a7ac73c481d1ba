// SPDX-License-Identifier: Apache-2.0
//! Drawables that move: a vector ends at once, since animations do; pictures and lists of frames
//! take their time.

use e2e::apps::{WAYS, colour, run, said};

/// The end of the picture is not told in about one run of six, on both machines alike:
/// docs/compatibility.md says so. The test runs until it is told.
const RUNS_MAX: usize = 5;

#[test]
fn drawables_move_and_come_to_their_end() {
    for way in WAYS {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("ended.png");
        let shot = format!("--screenshot={}", path.display());
        let expected = [
            "frame 0",
            "frame 1",
            "picture ended, main true",
            "vector ended, main true",
        ];
        let mut runs = Vec::new();
        while runs.len() < RUNS_MAX && runs.last() != Some(&expected.map(str::to_owned).to_vec()) {
            let run = run(way, "moving", &["--key=S", "--wait=1s", &shot]);
            assert_eq!(run.code, 0, "{run:#?}");
            let mut said = said(&run.stderr, "Moving");
            said.sort();
            // A view asks for its first frame more than once.
            said.dedup();
            runs.push(said);
        }
        assert_eq!(runs.last().expect("a run"), &expected, "{way:?}: {runs:#?}");
        let colours = [(50, 75), (150, 50), (250, 50)].map(|(x, y)| colour(&path, x, y));
        assert_eq!(
            colours,
            [[255, 0, 0], [0, 0, 255], [255, 255, 0]],
            "{way:?}"
        );
    }
}
