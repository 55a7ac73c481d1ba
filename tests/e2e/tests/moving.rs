// SPDX-License-Identifier: Apache-2.0
//! Drawables that move: a vector ends at once, since animations do; pictures and lists of frames
//! take their time.

use e2e::apps::{WAYS, colour, run, said};

/// Runs until the end of the picture is told: on our machine that is lost about once in five runs,
/// docs/compatibility.md says so.
const RUNS_MAX: usize = 5;

#[test]
fn drawables_move_and_come_to_their_end() {
    for way in WAYS {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("ended.png");
        let shot = format!("--screenshot={}", path.display());
        let lines = || {
            let run = run(way, "moving", &["--key=S", "--wait=1s", &shot]);
            assert_eq!(run.code, 0, "{run:#?}");
            let mut said = said(&run.stderr, "Moving");
            said.sort();
            // A view asks for its first frame more than once.
            said.dedup();
            said
        };
        let expected = [
            "frame 0",
            "frame 1",
            "picture ended, main true",
            "vector ended, main true",
        ];
        let runs: Vec<Vec<String>> = std::iter::repeat_with(lines)
            .take(RUNS_MAX)
            .scan(false, |is_told, said| {
                let is_over = std::mem::replace(is_told, said == expected);
                (!is_over).then_some(said)
            })
            .collect();
        assert_eq!(runs.last().expect("a run"), &expected, "{way:?}: {runs:#?}");
        let colours = [(50, 75), (150, 50), (250, 50)].map(|(x, y)| colour(&path, x, y));
        assert_eq!(
            colours,
            [[255, 0, 0], [0, 0, 255], [255, 255, 0]],
            "{way:?}"
        );
    }
}
