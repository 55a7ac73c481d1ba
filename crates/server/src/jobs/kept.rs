// SPDX-License-Identifier: Apache-2.0
//! Jobs that come again with the next server: `JobInfo.Builder.setPersisted`.
//!
//! Times are the wall clock's, as it was when the job was scheduled. A job's failures are not kept.

use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::terms::BACK_OFF_NS_MAX;
use super::work::WorkQueue;
use super::{Asked, Job, JobKey, Jobs, Terms};
use crate::packages::SDK;
use crate::services::ServiceDeclaration;
use crate::{Cx, Payload};

/// Kept jobs of one user.
pub const KEPT_PER_UID_MAX: usize = 100;
/// Of all: with their bytes they take half of the store's snapshot.
pub const KEPT_MAX: usize = 512;
/// Bytes of one: what its package adds.
pub const KEPT_BYTES_MAX: usize = 8 << 10;

/// A job's bytes, as its package has them; in a snapshot two digits for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptBytes(pub Arc<[u8]>);

impl KeptBytes {
    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for KeptBytes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let digit = |it: u8| char::from(b"0123456789abcdef"[usize::from(it)]);
        let digits = self
            .0
            .iter()
            .flat_map(|it| [digit(it >> 4), digit(it & 15)]);
        to.serialize_str(&digits.collect::<String>())
    }
}

impl<'de> Deserialize<'de> for KeptBytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let pairs = text.as_bytes().chunks(2);
        let bytes = pairs.map(|it| {
            let pair = std::str::from_utf8(it).ok().filter(|it| it.len() == 2);
            pair.and_then(|it| u8::from_str_radix(it, 16).ok())
        });
        let bytes: Option<Vec<u8>> = bytes.collect();
        let bytes = bytes.ok_or_else(|| D::Error::custom("no bytes in digits"))?;
        Ok(Self(bytes.into()))
    }
}

/// A job in the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptJob {
    /// Its package.
    pub package: String,
    /// The package's namespace for it.
    pub space: Option<String>,
    /// The package's number for it.
    pub id: i32,
    /// The service's class.
    pub class: String,
    /// When and how.
    pub terms: Terms,
    earliest_ns: u64,
    latest_ns: Option<u64>,
    period_end_ns: u64,
    /// The framework that has written the bytes: another one may read them otherwise.
    sdk: u32,
    /// The rest.
    pub bytes: KeptBytes,
}

impl KeptJob {
    /// Can this framework read it?
    pub fn is_readable(&self) -> bool {
        self.sdk == SDK
    }
}

impl Job {
    fn kept(&self) -> Option<KeptJob> {
        let bytes = self.asked.kept.clone()?;
        let wall = |at: u64| at.saturating_add(self.wall_ahead_ns);
        let Asked { key, service, .. } = &self.asked;
        Some(KeptJob {
            package: service.component.package.clone(),
            space: key.space.clone(),
            id: key.id,
            class: service.component.class.clone(),
            terms: self.asked.terms,
            earliest_ns: wall(self.earliest_ns),
            latest_ns: self.latest_ns.map(wall),
            period_end_ns: wall(self.period_end_ns),
            sdk: SDK,
            bytes,
        })
    }
}

impl Jobs {
    /// What comes again with the next server.
    pub fn kept(&self) -> Vec<KeptJob> {
        self.all.values().filter_map(Job::kept).collect()
    }

    /// Takes one up again that the last server had. One that is not readable, or that there is no
    /// room for, is passed over: false.
    pub fn restore(
        &mut self,
        kept: &KeptJob,
        (service, payload): (ServiceDeclaration, Payload),
        wall_ns: u64,
        cx: &mut Cx<'_>,
    ) -> bool {
        let terms = kept.terms.bounded();
        let key = JobKey {
            uid: service.process.uid,
            space: kept.space.clone(),
            id: kept.id,
        };
        let asked = Asked {
            key,
            service,
            payload,
            bytes: kept.bytes.len(),
            terms,
            kept: Some(kept.bytes.clone()),
        };
        let is_there = self.find(&asked.key).is_some();
        if !kept.is_readable() || is_there || self.look_for_room(&asked, 0).is_err() {
            return false;
        }
        let (now, ahead) = (cx.now, wall_ns.saturating_sub(cx.now));
        // A clock that was set back meanwhile puts nothing off by more than its own terms.
        let interval = terms.period.map_or(0, |it| it.interval_ns);
        let most = terms.latency_ns.max(BACK_OFF_NS_MAX).max(interval);
        let own = |at: u64| at.saturating_sub(ahead).min(now.saturating_add(most));
        self.add(
            Job {
                earliest_ns: own(kept.earliest_ns),
                latest_ns: kept.latest_ns.map(own),
                failures: 0,
                period_end_ns: own(kept.period_end_ns).max(terms.period.map_or(0, |it| it.flex_ns)),
                wall_ahead_ns: ahead,
                work: WorkQueue::default(),
                run: None,
                timer: None,
                place: None,
                asked,
            },
            now,
        );
        self.begin_ready(cx);
        true
    }
}
