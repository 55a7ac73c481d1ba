// SPDX-License-Identifier: Apache-2.0
//! Looking at a machine that runs or fell: figures, traces, dumps, messages, signals, attach.
//!
//! Uses everything below and changes nothing there. The start and the faces use it.

pub(crate) mod attach;
pub(crate) mod backtrace;
pub(crate) mod crash;
pub(crate) mod dex_null_message;
pub(crate) mod figures;
pub(crate) mod listing;
pub(crate) mod null_message;
pub(crate) mod perf_map;
pub(crate) mod signals;
pub(crate) mod snapshot;
pub(crate) mod superpages;
pub(crate) mod thread_dump;
