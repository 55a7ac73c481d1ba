// SPDX-License-Identifier: Apache-2.0
//! Transport `driver`: through the kernel's `/dev/binder`, so that native Android programs and this
//! can talk.
//!
//! One device is one link: to the context manager and to whatever it leads to. The kernel says who
//! calls, counts references, and puts a call that comes back on the thread that waits. Which
//! priority a looper has is the driver's doing as well. `attach` opens the device, `talk` is the
//! conversation, `deaths` what is watched.

mod attach;
mod deaths;
mod talk;

pub use attach::{AttachError, Device, DeviceOptions};
