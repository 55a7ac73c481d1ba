// SPDX-License-Identifier: Apache-2.0
//! [`Inside`]: a server as experiments have it, in the same program: packages that nobody verifies,
//! the order of broadcasts, the server's own sequence.

use std::sync::Arc;

use rt::clock::{Clock, Monotonic};
use server::broadcasts::{Note, Order};
use server::packages::{Candidate, InstallError};

use crate::daemon::Shared;
use crate::protocol::{Intention, Request};
use crate::verbs;

/// See the module.
#[derive(Clone)]
pub struct Inside(pub(crate) Arc<Shared>);

impl Inside {
    /// A package that no file stands for, and that no restart keeps.
    ///
    /// # Errors
    ///
    /// [`InstallError`]
    pub fn install(&self, candidate: Candidate) -> Result<(), InstallError> {
        let now = Monotonic.now_ns();
        let installed = self.0.with(|it| it.server.install(candidate, now));
        installed.map(drop)
    }

    /// From now on, for what waits nowhere yet.
    pub fn set_order(&self, order: Order) {
        self.0.with(|it| it.server.broadcasts.order = order);
    }

    /// Writes down so much of what broadcasts wait for.
    pub fn open_journal(&self, room: usize) {
        self.0.with(|it| it.server.broadcasts.journal.open(room));
    }

    /// What was written, and whether there may be more.
    pub fn journal(&self) -> (Vec<Note>, bool) {
        self.0.with(|it| {
            let journal = &it.server.broadcasts.journal;
            (journal.notes().to_vec(), journal.is_full())
        })
    }

    /// Starts an activity, or a service, as a person does.
    ///
    /// # Errors
    ///
    /// Why not, in words.
    pub fn start(&self, package: &str, class: &str, is_service: bool) -> Result<(), String> {
        let intention = Intention {
            component: Some((package.to_owned(), class.to_owned())),
            ..Intention::default()
        };
        let request = match is_service {
            true => Request::StartService(intention),
            false => Request::StartActivity(intention),
        };
        verbs::carry_out(&self.0, request, None, |_| true).map(drop)
    }

    /// Packages with a process of the kernel's.
    pub fn running(&self) -> Vec<String> {
        self.0.with(|it| {
            let all = it.server.processes.iter();
            let own = all.filter(|(id, _)| it.running.contains_key(id));
            own.map(|(_, its)| its.package.clone()).collect()
        })
    }

    /// Whether the log of a package says this.
    pub fn has_said(&self, package: &str, text: &str) -> bool {
        let (lines, _) = self.0.with(|it| it.logs.since(0, Some(package)));
        lines.iter().any(|it| it.text.contains(text))
    }

    /// Sends a broadcast as a person does, to one receiver of a manifest: its process starts.
    ///
    /// # Errors
    ///
    /// Why not, in words.
    pub fn begin(&self, package: &str, class: &str) -> Result<(), String> {
        let component = Some((package.to_owned(), class.to_owned()));
        let request = Request::Broadcast(Intention {
            component,
            ..Intention::default()
        });
        verbs::carry_out(&self.0, request, None, |_| true).map(drop)
    }

    /// Broadcasts that were lost: too many waited for a process, or it died too often.
    pub fn lost(&self) -> u64 {
        self.0.with(|it| it.lost)
    }
}
