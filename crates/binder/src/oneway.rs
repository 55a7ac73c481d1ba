// SPDX-License-Identifier: Apache-2.0
//! Calls without an answer: queued at the node, served by the process's loopers, one at a time for
//! each node, the most urgent node first.

// Lock order: a node's oneways, the process's due nodes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Relaxed, SeqCst};

use rt::peer::Urgency;
use rt::sync::PiMutex;

use crate::Parcel;
use crate::error::CallError;
use crate::link::Link;
use crate::node::{Call, Node};
use crate::process::Inner;
use crate::serving::{self, Caller, Serving, Waits};

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

/// The same, and how urgent the first is, which loopers look at without the lock.
#[derive(Default)]
pub(crate) struct DueNodes {
    due: PiMutex<Due>,
    /// One more than the urgency; 0 if there is none.
    top: AtomicU32,
}

impl DueNodes {
    fn push(&self, node: Arc<Node>) {
        let mut due = self.due.lock();
        due.push(node);
        self.tell(&due);
    }

    pub(crate) fn pop(&self) -> Option<Arc<Node>> {
        let mut due = self.due.lock();
        let node = due.nodes.pop().map(|it| it.node);
        self.tell(&due);
        node
    }

    /// Everything, to be dropped.
    pub(crate) fn take(&self) -> impl Sized {
        let mut due = self.due.lock();
        let all = std::mem::take(&mut *due);
        self.tell(&due);
        all
    }

    fn tell(&self, due: &Due) {
        let top = due.nodes.peek();
        let top = top.map_or(0, |it| u32::from(it.key.0.get()) + 1);
        // Before the look at who sleeps, and after a looper's word that it does.
        self.top.store(top, SeqCst);
    }

    /// How urgent the next one is, if it is for such a looper.
    pub(crate) fn urgency(&self, is_kept: bool) -> Option<Urgency> {
        let top = self.top.load(SeqCst).checked_sub(1).map(Urgency::new);
        top.filter(|it| !is_kept || it.is_real_time())
    }
}

/// Nodes that have calls, in the order in which they are served.
#[derive(Default)]
struct Due {
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
    if task.source.is_some() && node.service.is_brief() {
        // One at a time, in order: a process has one door.
        run(&owner, node, task);
        return Ok(());
    }
    let mut oneways = node.oneways.lock();
    oneways.waiting.push_back(task);
    let is_news = !std::mem::replace(&mut oneways.is_due, true);
    drop(oneways);
    if is_news {
        let urgency = node.service.oneway_urgency();
        owner.due.push(Arc::clone(node));
        owner.wake_for(urgency);
    }
    Ok(())
}

fn run(owner: &Inner, node: &Node, mut task: Task) {
    let _scope = serving::enter(Serving {
        caller: task.caller,
        claim: Urgency::ORDINARY,
        granted: Urgency::ORDINARY,
        waits: Waits::Unknown,
        chain: None,
    });
    let call = Call {
        caller: task.caller,
        is_oneway: true,
        begun_ns: None,
    };
    // Nobody is there to be told; `failed` counts panics.
    let _ = node.run(&call, task.code, &mut task.data, &mut Parcel::new());
    if let Some(link) = &task.source {
        link.served();
    }
    drop(task);
    owner.oneways_waiting.fetch_sub(1, Relaxed);
}

/// Serves one call of a node that was due, on the calling looper.
pub(crate) fn serve(owner: &Inner, node: &Arc<Node>) {
    let task = node.oneways.lock().waiting.pop_front();
    if let Some(task) = task {
        run(owner, node, task);
    }
    let mut oneways = node.oneways.lock();
    oneways.is_due = !oneways.waiting.is_empty();
    let is_due = oneways.is_due;
    drop(oneways);
    if is_due {
        owner.due.push(Arc::clone(node));
    }
}
