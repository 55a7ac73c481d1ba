// SPDX-License-Identifier: Apache-2.0
//! What stubs of AIDL stand on: how `crates/aidl` has calls written, served and answered.
//!
//! [`Outgoing`] is a call from its token to its answer; [`serve`] is the other side. Values go by
//! [`Write`] and [`Read`], in the form that AOSP's Java stubs have. What comes from another
//! process is read within the parcel's own bounds: a count that cannot be is `BadParcel`.

mod exception;
mod outgoing;
mod serve;
mod value;

pub use exception::{Answer, Exception, Failure};
pub use outgoing::Outgoing;
pub use serve::{read_length, serve};
pub use value::{Fields, Nullable, Parcelable, Read, ReadNullable, Write, write_fields};

use crate::{CallError, Parcel};

/// Begins every interface token, behind two numbers: `SYST`.
const HEADER: i32 = 0x5359_5354;
/// No uid is blamed for the work.
const UNSET_WORK_SOURCE: i32 = -1;
/// Items that an array may have of which only the length is sent: an answer of four bytes for each
/// is the largest that a link carries.
pub const OUT_ITEMS_MAX: usize = 1 << 18;

fn write_token(parcel: &mut Parcel, descriptor: &str) -> Result<(), CallError> {
    for it in [0, UNSET_WORK_SOURCE, HEADER] {
        parcel.write_i32(it)?;
    }
    descriptor.write(parcel)
}

fn has_token(parcel: &mut Parcel, descriptor: &str) -> bool {
    let head = [parcel.read_i32(), parcel.read_i32(), parcel.read_i32()];
    let name = parcel.read_utf16();
    let is_name = name.is_some_and(|it| descriptor.encode_utf16().eq(it));
    head[2] == Some(HEADER) && is_name
}
