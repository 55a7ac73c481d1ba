// SPDX-License-Identifier: Apache-2.0
//! JVM_*: what the JDK's own libraries ask of a machine.
//!
//! One file per subject; `missing` holds the functions that are not there yet:
//! each throws an InternalError that names it.

mod access_control;
mod assertions;
mod class;
mod constant_pool;
pub(crate) mod management;
mod missing;
mod module;
mod reflected_array;
mod reflection;
mod stack;
mod system;
mod thread;
