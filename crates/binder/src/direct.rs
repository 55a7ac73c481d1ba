// SPDX-License-Identifier: Apache-2.0
//! Transport `direct`: both ends in one program, and a call is a function call on the caller's
//! thread, whose priority it has from itself.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};

use parcel::Wire;

use crate::error::CallError;
use crate::link::{Link, OWN, Release, Transport};
use crate::node::Call;
use crate::oneway::{self, Task};
use crate::serving::{self, Serving};
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
        target: u64,
        code: u32,
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
        };
        let mut answer = Parcel::new();
        let outcome = {
            let _scope = serving::enter(Serving {
                caller: other.peer,
                claim: serving::claim(),
                waiting: None,
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
        from.name(parcel, &mut self.wire, &mut self.fds)?;
        let mut fds: Vec<_> = self.fds.drain(..).map(|it| Some(Arc::new(it))).collect();
        to.find(&self.wire, &mut fds, target)
    }
}
