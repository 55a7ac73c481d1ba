// SPDX-License-Identifier: Apache-2.0
//! `down-only`: Cargo's dependency graph against layers.toml.

use std::collections::BTreeSet;

use anyhow::Result;
use cargo_metadata::{DependencyKind, MetadataCommand, Package};

use crate::tidy::rules::{Room, Rules};

/// Every edge between workspace crates that layers.toml does not allow.
pub(crate) fn check(rules: &Rules) -> Result<Vec<String>> {
    let metadata = MetadataCommand::new().no_deps().exec()?;
    let members: BTreeSet<&str> = metadata
        .packages
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    let mut breaches = Vec::new();
    for name in rules
        .crates
        .keys()
        .filter(|name| !members.contains(name.as_str()))
    {
        breaches.push(format!(
            "layers.toml names '{name}', which is no crate of the workspace"
        ));
    }
    for package in &metadata.packages {
        match rules.crates.get(package.name.as_str()) {
            Some(room) => check_edges(rules, &members, package, room, &mut breaches),
            None => breaches.push(format!(
                "crate '{}' has no entry in layers.toml",
                package.name
            )),
        }
    }
    Ok(breaches)
}

fn check_edges(
    rules: &Rules,
    members: &BTreeSet<&str>,
    package: &Package,
    room: &Room,
    breaches: &mut Vec<String>,
) {
    let name = &package.name;
    for edge in package
        .dependencies
        .iter()
        .filter(|edge| members.contains(edge.name.as_str()))
    {
        let is_test_edge = edge.kind == DependencyKind::Development;
        let is_named = room.may.contains(&edge.name)
            || (is_test_edge && room.may_in_tests.contains(&edge.name));
        if !is_named {
            breaches.push(format!(
                "'{name}' uses '{}': not in its `may` list",
                edge.name
            ));
        }
        let Some(target) = rules.crates.get(&edge.name) else {
            continue;
        };
        if target.layer > room.layer && !is_test_edge {
            breaches.push(format!(
                "'{name}' (floor {}) uses '{}' (floor {}): edges go down",
                room.layer, edge.name, target.layer
            ));
        }
    }
}
