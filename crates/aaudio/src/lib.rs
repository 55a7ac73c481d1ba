// SPDX-License-Identifier: Apache-2.0
//! `libaaudio.so`: Android's C interface to sound, over the crate `sound`.
//!
//! [`builder`] holds what an application asks for, [`control`] opens and moves streams, [`query`]
//! says what became of it, [`numbers`] has the codes. `include/aaudio/AAudio.h` declares it all,
//! `libaaudio.map` says what is exported. docs/use/sound.md names what is not supported.
//!
//! Pointers come as `Option<&T>`: C passes null or what these functions gave it, as Android's
//! header demands. A callback that unwinds ends the process.
#![allow(non_snake_case, reason = "the names are Android's")]

pub mod builder;
pub mod control;
pub mod numbers;
pub mod query;
