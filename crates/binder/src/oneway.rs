// SPDX-License-Identifier: Apache-2.0
//! Calls without an answer: queued at the node, served by the process's loopers, one at a time for
//! each node, the most urgent node first.

// Lock order: a node's oneways, the process's due nodes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};

use rt::peer::Urgency;

use crate::Parcel;
use crate::error::CallError;
use crate::link::Link;
use crate::node::{Call, Node};
use crate::process::Inner;
use crate::serving::{self, Caller, Serving};

/// Calls without an answer that may wait in one process: at 4 KiB each, a megabyte, which is what
/// Android grants a process.
pub(crate) const WAITING_MAX: usize = 256;

/// One call.
pub(crate) struct Task {
    pub(crate) caller: Caller,
    pub(crate) code: u32,
    pub(crate) data: Parcel,
    /// The link whose sender may send one more when this is served.
    pub(crate) source: Option<Arc<Link>>,
}

/// Nodes that have calls, in the order in which they are served.
#[derive(Default)]
pub(crate) struct Due {
    nodes: BinaryHeap<Entry>,
    sequence: u64,
}

struct Entry {
    key: (Urgency, Reverse<u64>),
    node: Arc<Node>,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key)
    }
}

impl Due {
    fn push(&mut self, node: Arc<Node>) {
        self.sequence += 1;
        let key = (node.service.oneway_urgency(), Reverse(self.sequence));
        self.nodes.push(Entry { key, node });
    }

    /// How urgent the next one is, if it is for such a looper.
    pub(crate) fn urgency(&self, is_kept: bool) -> Option<Urgency> {
        let top = self.nodes.peek().map(|it| it.key.0);
        top.filter(|it| !is_kept || it.is_real_time())
    }

    pub(crate) fn pop(&mut self) -> Option<Arc<Node>> {
        self.nodes.pop().map(|it| it.node)
    }

    pub(crate) fn take(&mut self) -> Self {
        std::mem::take(self)
    }
}

/// Queues a call; never waits for the node.
pub(crate) fn push(node: &Arc<Node>, task: Task) -> Result<(), CallError> {
    let owner = node.owner.upgrade().filter(|it| !it.has_ended());
    let owner = owner.ok_or(CallError::DeadObject)?;
    // What comes over a link is bounded by what its sender may send.
    let waiting = owner.oneways_waiting.fetch_add(1, AcqRel);
    if waiting >= WAITING_MAX && task.source.is_none() {
        owner.oneways_waiting.fetch_sub(1, AcqRel);
        owner.counters.refused.add();
        return Err(CallError::QueueFull);
    }
    let mut oneways = node.oneways.lock();
    oneways.waiting.push_back(task);
    let is_news = !std::mem::replace(&mut oneways.is_due, true);
    drop(oneways);
    if is_news {
        let urgency = node.service.oneway_urgency();
        owner.due.lock().push(Arc::clone(node));
        owner.wake_for(urgency);
    }
    Ok(())
}

/// Serves one call of a node that was due, on the calling looper.
pub(crate) fn serve(owner: &Inner, node: &Arc<Node>) {
    let task = node.oneways.lock().waiting.pop_front();
    if let Some(mut task) = task {
        let _scope = serving::enter(Serving {
            caller: task.caller,
            claim: Urgency::ORDINARY,
            waiting: None,
        });
        let call = Call {
            caller: task.caller,
            is_oneway: true,
        };
        // Nobody is there to be told; `failed` counts panics.
        let _ = node.run(&call, task.code, &mut task.data, &mut Parcel::new());
        if let Some(link) = &task.source {
            link.served();
        }
        drop(task);
        owner.oneways_waiting.fetch_sub(1, Relaxed);
    }
    let mut oneways = node.oneways.lock();
    oneways.is_due = !oneways.waiting.is_empty();
    let is_due = oneways.is_due;
    drop(oneways);
    if is_due {
        owner.due.lock().push(Arc::clone(node));
    }
}
