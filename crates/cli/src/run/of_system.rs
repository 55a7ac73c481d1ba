// SPDX-License-Identifier: Apache-2.0
//! What the launcher is told of a process that `takt system` starts.

use std::time::Duration;

use anyhow::Result;

use super::Run;
use super::folder::{DataFolder, Owner};
use crate::framework::Framework;

/// As [`super::run`] writes it: JSON. The watchdog inside the process allows `answer`; the server
/// has one of its own.
pub(crate) fn description(
    app: &::system::App<'_>,
    framework: &Framework,
    answer: Duration,
) -> Result<Vec<u8>> {
    let manifest = app.manifest;
    let owner = Owner::new(&manifest.package, app.settings.signers.iter().cloned());
    let data = DataFolder::named(&app.data, &owner)?;
    let run = Run {
        manifest,
        apk: app.code.clone(),
        data: data.path(),
        libraries: app.libraries.clone(),
        framework_resources: framework.resources(),
        android_id: data.android_id()?,
        classes: None,
        starts: Vec::new(),
        limit_millis: None,
        answer_millis: answer.as_millis(),
        until_started: false,
        display: None,
        script: Vec::new(),
        shown: None,
        process: Some(&app.process.name),
        is_of_system: true,
    };
    Ok(serde_json::to_vec(&run)?)
}
