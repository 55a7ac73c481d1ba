// SPDX-License-Identifier: Apache-2.0
//! [`Limits`]: how far the calls by one proxy lend: what its node states ([`Service::inherits`]),
//! as far as is known here, and whether the proxy lends at all.
//!
//! [`Service::inherits`]: crate::node::Service::inherits

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU8};

use rt::peer::Urgency;

/// See the module. Both are hints between threads: a call goes by what it read.
#[derive(Debug)]
pub(crate) struct Limits {
    lends: AtomicBool,
    node: AtomicU8,
}

/// How one call lends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// How urgently it is served at most.
    pub(crate) claim: Urgency,
    /// Whether its server's thread runs at its caller's priority.
    pub(crate) is_lent: bool,
}

impl Limits {
    /// None, as far as is known.
    pub(crate) const fn new() -> Self {
        Self {
            lends: AtomicBool::new(true),
            node: AtomicU8::new(u8::MAX),
        }
    }

    pub(crate) fn set_lends(&self, lends: bool) {
        self.lends.store(lends, Relaxed);
    }

    /// The node has said so.
    pub(crate) fn learn(&self, node: Urgency) {
        self.node.store(node.get(), Relaxed);
    }

    /// Of a call of a thread that is so urgent.
    pub(crate) fn terms(&self, urgency: Urgency) -> Terms {
        let node = Urgency::new(u32::from(self.node.load(Relaxed)));
        let (claim, is_lent) = match self.lends.load(Relaxed) {
            false => (Urgency::ORDINARY, false),
            true => (urgency.min(node), urgency <= node),
        };
        Terms { claim, is_lent }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_lends_what_its_node_inherits_and_nothing_by_half() {
        let limits = Limits::new();
        let terms = |urgency: u32| {
            let terms = limits.terms(Urgency::new(urgency));
            (terms.claim.get(), terms.is_lent)
        };
        assert_eq!(terms(100), (100, true));
        limits.learn(Urgency::new(50));
        assert_eq!([terms(0), terms(50)], [(0, true), (50, true)]);
        assert_eq!([terms(51), terms(100)], [(50, false), (50, false)]);
        limits.set_lends(false);
        assert_eq!([terms(0), terms(80)], [(0, false), (0, false)]);
        limits.set_lends(true);
        limits.learn(Urgency::ORDINARY);
        assert_eq!([terms(0), terms(1)], [(0, true), (0, false)]);
    }
}
