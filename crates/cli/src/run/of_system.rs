// SPDX-License-Identifier: Apache-2.0
//! What the launcher is told of a process that `takt system` starts.

use std::time::Duration;

use anyhow::Result;

use super::Run;
use crate::framework::Framework;

/// As [`super::run`] writes it: JSON. The watchdog inside the process allows `answer`; the server
/// has one of its own. `android_id`: what the settings know the device by, for this package.
/// `granted_priority`: what its threads may have; 0 for none.
pub(crate) fn description(
    app: &::system::App<'_>,
    framework: &Framework,
    android_id: String,
    answer: Duration,
    granted_priority: u8,
) -> Result<Vec<u8>> {
    let run = Run {
        manifest: app.manifest,
        apk: app.code.clone(),
        data: &app.data,
        libraries: app.libraries.clone(),
        framework_resources: framework.resources(),
        android_id,
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
        granted_priority,
    };
    Ok(serde_json::to_vec(&run)?)
}
