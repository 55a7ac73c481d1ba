// SPDX-License-Identifier: Apache-2.0
//! Transport `direct`: both ends in one program, and a call is a function call on the caller's
//! thread, whose priority it has from itself.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};

use parcel::Wire;

use crate::error::CallError;
use crate::introduce::{Grant, Pass, Ticket, Who};
use crate::lent::Side;
use crate::link::{Finds, Goal, Link, OWN, Release, Thirds, Transport};
use crate::node::Call;
use crate::oneway::{self, Task};
use crate::serving::{self, Serving, Waits};
use crate::{Binder, Parcel};

/// The other end.
pub(crate) struct Direct(pub(crate) Weak<Link>);

impl Direct {
    fn other(&self) -> Result<Arc<Link>, CallError> {
        let other = self.0.upgrade().filter(|it| !it.is_dead());
        other.ok_or(CallError::DeadObject)
    }
}

impl Transport for Direct {
    fn name(&self) -> &'static str {
        "direct"
    }

    /// `due_ns` is not looked at: a function cannot be left.
    fn call(
        &self,
        link: &Arc<Link>,
        Goal { target, code, .. }: Goal<'_>,
        data: &mut Parcel,
        reply: &mut Parcel,
        _due_ns: Option<u64>,
    ) -> Result<(), CallError> {
        let other = self.other()?;
        let mut scratch = Scratch::default();
        let mut arrived = Parcel::new();
        scratch.carry(link, &other, data, &mut arrived)?;
        let call = Call {
            caller: other.peer,
            is_oneway: false,
            begun_ns: None,
        };
        let mut answer = Parcel::new();
        let outcome = {
            let _scope = serving::enter(Serving {
                caller: other.peer,
                claim: serving::claim(),
                granted: serving::claim(),
                waits: Waits::Unknown,
                chain: None,
            });
            if target == OWN {
                other.answer_own(code, &mut arrived, &mut answer)
            } else {
                let node = other.target(target)?;
                node.run(&call, code, &mut arrived, &mut answer)
            }
        };
        outcome?;
        scratch.carry(&other, link, &answer, reply)
    }

    fn send(
        &self,
        link: &Arc<Link>,
        target: u64,
        code: u32,
        data: &Parcel,
    ) -> Result<(), CallError> {
        let other = self.other()?;
        let node = other.target(target)?;
        let mut arrived = Parcel::new();
        Scratch::default().carry(link, &other, data, &mut arrived)?;
        oneway::push(
            &node,
            Task {
                caller: other.peer,
                code,
                data: arrived,
                source: None,
            },
        )
    }

    fn release(&self, number: u64, release: Release) {
        if let Some(other) = self.0.upgrade() {
            // Our own counts are true.
            let _ = other.released(number, release);
        }
    }

    fn introduces(&self) -> bool {
        true
    }

    fn pass(&self, pass: Pass) -> Result<(), CallError> {
        let passed = self.other()?.passed_on(&pass);
        passed.ok_or(CallError::BadParcel)
    }

    fn meet(&self, socket: OwnedFd, who: Who, side: Side) -> Result<(), CallError> {
        let other = self.other()?;
        let home = other.home.upgrade().ok_or(CallError::DeadObject)?;
        home.door.bring(other.number, socket, who, side);
        Ok(())
    }

    fn grant(&self, grant: Grant) -> Result<(), CallError> {
        let other = self.other()?;
        let home = other.home.upgrade().ok_or(CallError::DeadObject)?;
        let binder = Binder::Remote(other.proxy(grant.number));
        home.passed.keep(grant.from, grant.ticket, binder);
        Ok(())
    }

    fn forget(&self, ticket: Ticket) {
        if let Ok(other) = self.other() {
            other.forgotten(ticket);
        }
    }

    fn end(&self, _: &Link) {
        if let Some(other) = self.0.upgrade()
            && other.die()
        {
            other.bury();
        }
    }
}

#[derive(Default)]
struct Scratch {
    wire: Wire,
    fds: Vec<OwnedFd>,
    thirds: Vec<Binder>,
}

impl Scratch {
    /// Writes a parcel at one end and reads it at the other.
    fn carry(
        &mut self,
        from: &Link,
        to: &Arc<Link>,
        parcel: &Parcel,
        target: &mut parcel::Parcel<Binder>,
    ) -> Result<(), CallError> {
        self.thirds.clear();
        let mut thirds = Thirds::Handed(&mut self.thirds);
        from.name_with(parcel, &mut self.wire, &mut self.fds, &mut thirds)?;
        let mut fds: Vec<_> = self.fds.drain(..).map(|it| Some(Arc::new(it))).collect();
        let thirds = Finds::Handed(&self.thirds);
        to.find_with(&self.wire, &mut fds, target, &thirds)
    }
}
