// SPDX-License-Identifier: Apache-2.0
//! Starting and ending the machine, and compiling ahead.
//!
//! Joins the rooms: here they get each other's addresses. JNI's invocation uses it.

pub(crate) mod agents;
pub(crate) mod ahead;
pub(crate) mod boot;
pub(crate) mod template;
