// SPDX-License-Identifier: Apache-2.0
//! From a class file to a class that may run: define, link, verify, resolve, initialise.
//!
//! The room where Java's rules for names live. It uses monitors and everything below; it compiles
//! nothing. Invocation, compilation and the faces use it.

pub(crate) mod access;
pub(crate) mod boot_path;
pub(crate) mod build;

pub(crate) mod call;
pub(crate) mod circle;
pub(crate) mod constraint;
pub(crate) mod define;
pub(crate) mod dex_call;
pub(crate) mod dex_class;
pub(crate) mod failure;
pub(crate) mod heritage;
pub(crate) mod init;
pub(crate) mod loader;
pub(crate) mod message;
pub(crate) mod mirror;
pub(crate) mod module;
pub(crate) mod native;
pub(crate) mod own_module;
pub(crate) mod refusal;
pub(crate) mod resolve;
pub(crate) mod start_known;
pub(crate) mod tables;
pub(crate) mod throw;
pub(crate) mod verification;
