// SPDX-License-Identifier: Apache-2.0
//! `cargo xtask tidy`: the rules of the house that a compiler does not check.
//!
//! layers.toml says which floor a crate lives on, what it may use, whether it may hold unsafe code,
//! how its rooms lie, and which files and functions are over their size for a reason. Nothing here
//! knows a crate by name.

mod journeys;
mod layers;
mod prose;
mod rooms;
mod rules;
mod source;

use anyhow::{Result, bail};

use crate::api;
use crate::tidy::rules::Rules;

/// Checks everything; prints each breach, then fails if there was one.
pub(crate) fn run() -> Result<()> {
    let rules = Rules::read("layers.toml")?;
    let mut breaches = layers::check(&rules)?;
    let census = source::check(&rules, &mut breaches)?;
    let upwards = rooms::check(&rules, &mut breaches)?;
    journeys::check(&mut breaches);
    if api::is_page_stale()? {
        breaches.push("docs/compatibility.md is not made of framework/api: cargo xtask api".into());
    }
    for breach in &breaches {
        println!("tidy: {breach}");
    }
    println!(
        "tidy: unsafe blocks, functions and impls per crate: {}",
        census.join(", ")
    );
    println!(
        "tidy: imports upwards between rooms: {}",
        upwards.join(", ")
    );
    if !breaches.is_empty() {
        bail!(
            "{} breaches of the rules in layers.toml and STYLE.md",
            breaches.len()
        );
    }
    Ok(())
}
