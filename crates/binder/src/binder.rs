// SPDX-License-Identifier: Apache-2.0
//! [`Binder`]: a strong reference to a node, wherever it lives; [`WeakBinder`]: a weak one.

use std::sync::{Arc, Weak};

use crate::error::CallError;
use crate::link::Goal;
use crate::node::{Call, Node, codes};
use crate::proxy::{Proxy, Token, WeakProxy};
use crate::serving::Caller;
use crate::{Parcel, oneway};

/// See the module.
#[derive(Clone, Debug)]
pub enum Binder {
    /// A node of this process.
    Local(Arc<Node>),
    /// Another process's.
    Remote(Arc<Proxy>),
}

impl Binder {
    /// Calls the node and waits for its answer, which `reply` has then, at most until `due_ns`.
    /// `reply` keeps its room, so that calls repeated with the same parcels allocate nothing.
    ///
    /// A node of this process is called as a function: `due_ns` is not looked at, and the caller
    /// stays who it is.
    pub fn transact(
        &self,
        code: u32,
        data: &mut Parcel,
        reply: &mut Parcel,
        due_ns: Option<u64>,
    ) -> Result<(), CallError> {
        reply.clear();
        match self {
            Self::Local(node) => {
                let call = Call {
                    caller: Caller::current(),
                    is_oneway: false,
                    begun_ns: None,
                };
                node.run(&call, code, data, reply)
            }
            Self::Remote(proxy) => {
                let goal = Goal {
                    target: proxy.number,
                    code,
                    limits: &proxy.limits,
                };
                proxy.link.call(goal, data, reply, due_ns)
            }
        }
    }

    /// Calls the node and does not wait. Calls to one node are served one at a time, in order. A
    /// node of this process serves it on one of the process's loopers.
    pub fn send(&self, code: u32, data: &Parcel) -> Result<(), CallError> {
        match self {
            Self::Local(node) => oneway::push(
                node,
                oneway::Task {
                    caller: Caller::own(),
                    code,
                    data: data.clone(),
                    source: None,
                },
            ),
            Self::Remote(proxy) => proxy.link.send(proxy.number, code, data),
        }
    }

    /// Whether the node answers.
    pub fn ping(&self) -> Result<(), CallError> {
        self.transact(codes::PING, &mut Parcel::new(), &mut Parcel::new(), None)
    }

    /// The name of its interface.
    pub fn descriptor(&self) -> Result<String, CallError> {
        if let Self::Local(node) = self {
            return Ok(node.descriptor().to_owned());
        }
        let mut reply = Parcel::new();
        self.transact(codes::INTERFACE, &mut Parcel::new(), &mut reply, None)?;
        let units = reply.read_utf16().ok_or(CallError::BadParcel)?;
        String::from_utf16(&units).map_err(|_| CallError::BadParcel)
    }

    /// What the node says of itself.
    pub fn dump(&self) -> Result<String, CallError> {
        let mut reply = Parcel::new();
        self.transact(codes::DUMP, &mut Parcel::new(), &mut reply, None)?;
        reply.read_utf8().ok_or(CallError::BadParcel)
    }

    /// Whether its process has not ended, as far as is known.
    pub fn is_alive(&self) -> bool {
        match self {
            Self::Local(node) => node.is_alive(),
            Self::Remote(proxy) => proxy.is_alive(),
        }
    }

    /// As [`Proxy::link_to_death`]; a node of this process tells nobody, as on Android.
    pub fn link_to_death(&self, recipient: impl FnOnce() + Send + 'static) -> Option<Token> {
        match self {
            Self::Local(_) => None,
            Self::Remote(proxy) => proxy.link_to_death(recipient),
        }
    }

    /// Whether both are references to the same node, or proxies of it.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Local(left), Self::Local(right)) => Arc::ptr_eq(left, right),
            (Self::Remote(left), Self::Remote(right)) => Arc::ptr_eq(left, right),
            _ => false,
        }
    }

    /// A weak reference beside this one.
    pub fn downgrade(&self) -> WeakBinder {
        WeakBinder(match self {
            Self::Local(node) => Kind::Local(Arc::downgrade(node)),
            Self::Remote(proxy) => {
                proxy.link.add_weak(proxy.number);
                Kind::Remote(WeakProxy {
                    link: Arc::clone(&proxy.link),
                    number: proxy.number,
                    live: Arc::downgrade(proxy),
                })
            }
        })
    }
}

/// A reference that does not keep its node.
pub struct WeakBinder(Kind);

enum Kind {
    Local(Weak<Node>),
    Remote(WeakProxy),
}

impl WeakBinder {
    /// A strong reference, if the node is still there; of another process's node that nothing here
    /// holds, one call.
    pub fn promote(&self) -> Option<Binder> {
        match &self.0 {
            Kind::Local(node) => node.upgrade().map(Binder::Local),
            Kind::Remote(weak) => match weak.live.upgrade() {
                Some(proxy) => Some(Binder::Remote(proxy)),
                None => weak.link.revive(weak.number),
            },
        }
    }
}
