// SPDX-License-Identifier: Apache-2.0
//! Parcels: what a call between processes carries, as AOSP lays it out.
//!
//! [`Parcel`] holds the bytes, the position of the next access, and the objects in the bytes:
//! binders and file descriptors. [`FlatObject`] is what stands in the bytes for an object;
//! [`Parcel::to_wire`] and [`Parcel::from_wire`] carry a parcel to another process and check what
//! comes from one. Nothing here knows who the objects belong to: binders are a type parameter.
#![forbid(unsafe_code)]

mod data;
mod flat;
mod wire;

pub use data::{BYTES_MAX, BadObject, Full, Object, Parcel};
pub use flat::{BadFlat, FlatObject, Kind, Stability, flags};
pub use wire::{Wire, WireError};
