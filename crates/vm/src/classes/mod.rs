// SPDX-License-Identifier: Apache-2.0
//! Linked classes as data: records, references to objects, constants that code remembers.
//!
//! What is here is read far more often than made: [`crate::link`] makes it. It uses memory, sync
//! and options. Every room above may use it.

pub(crate) mod alloc;
pub(crate) mod class;
pub(crate) mod dex;
pub(crate) mod failure;
pub(crate) mod field_id;
pub(crate) mod known;
pub(crate) mod library;
pub(crate) mod loader;
pub(crate) mod object;
pub(crate) mod site;
pub(crate) mod stage;
pub(crate) mod state;
pub(crate) mod write;
