// SPDX-License-Identifier: Apache-2.0
//! The experiment in deterministic guests, one for each seed: the server, its sandboxes and the
//! whole framework.

use anyhow::Result;

use super::{Args, Outcome};
use crate::bench::prepared::Prepared;

/// Of each application: the hog's is soon full.
const HEAP: &str = "-Xmx128m";
const PREPARED: Prepared = Prepared {
    experiment: "mixed",
    code: "lab-code-mixed",
    runs: &[
        "run --sandbox none APPS/mixed-control.apk --service .Control --extra releases=100 --extra period=1 \
         --extra window=made --for 3s",
        "run --sandbox none APPS/mixed-panel.apk --service .Panel --for 2s",
    ],
};

/// Options of `takt system` in a guest: for each application's machine.
pub(super) fn options() -> Result<Vec<String>> {
    let machine = PREPARED.machine_options()?;
    let options = [HEAP.to_owned()].into_iter().chain(machine);
    Ok(options.map(|it| format!("--java-option={it}")).collect())
}

/// What each guest found.
pub(super) fn measure(args: &Args) -> Result<Vec<Outcome>> {
    let words = format!(
        "bench mixed --json --releases {} --period {}",
        args.releases, args.period
    );
    let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
    let found: Vec<(u64, Vec<Outcome>)> = PREPARED.measure(&words, args.seed, args.seeds)?;
    let of_guest = |(seed, outcomes): (u64, Vec<Outcome>)| {
        let outcomes = outcomes.into_iter();
        outcomes.map(move |it| Outcome { seed, ..it })
    };
    Ok(found.into_iter().flat_map(of_guest).collect())
}
