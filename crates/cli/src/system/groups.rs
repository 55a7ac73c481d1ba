// SPDX-License-Identifier: Apache-2.0
//! [`Groups`]: a control group for each real-time package, which has what was admitted for it: no
//! more, and nobody takes it away. All processes of a package share it.

use std::collections::BTreeMap;
use std::sync::Arc;

use rt::sync::PiMutex;
use sandbox::Group;

use super::confined::TASKS_MAX;

/// See the module. A group ends with the server, and all that is in it.
pub(super) struct Groups {
    /// Where they are made, or why they are not.
    place: Result<String, String>,
    /// One for each package that was admitted, with its bytes.
    all: PiMutex<BTreeMap<String, (u64, Arc<Group>)>>,
}

impl Groups {
    /// In this group, or in the server's own.
    pub(super) fn at(place: Option<&str>) -> Self {
        let place = match place {
            Some(place) => Ok(place.to_owned()),
            None => Group::own_place().map_err(|it| it.to_string()),
        };
        let all = PiMutex::new(BTreeMap::new());
        Self { place, all }
    }

    /// That of a package; why there is none, in words.
    pub(super) fn of(&self, package: &str, bytes: u64) -> Result<Arc<Group>, String> {
        let place = self.place.as_ref().map_err(Clone::clone)?;
        let known = self.all.lock().get(package).cloned();
        if let Some((_, group)) = known.filter(|it| it.0 == bytes) {
            return Ok(group);
        }
        // Another version of the package, whose older processes have ended: its group goes.
        drop(self.all.lock().remove(package));
        // One thread starts processes.
        let made = Group::make(place, package, Some(bytes), Some(TASKS_MAX));
        let group = made.map_err(|it| it.to_string())?;
        group.reserve(bytes).map_err(|it| it.to_string())?;
        let group = Arc::new(group);
        let kept = (bytes, Arc::clone(&group));
        self.all.lock().insert(package.to_owned(), kept);
        Ok(group)
    }
}
