// SPDX-License-Identifier: Apache-2.0
//! [`serve`]: a call as a service gets it: the token, the work, the header of the answer.

use super::exception::{Answer, Exception, Failure};
use super::value::Read;
use super::{OUT_ITEMS_MAX, has_token};
use crate::{Call, CallError, Parcel};

/// Checks the token, has `work` read arguments from the first parcel and write values into the
/// second. An exception of it is answered in place of what it has written.
pub fn serve(
    call: &Call,
    descriptor: &str,
    (data, reply): (&mut Parcel, &mut Parcel),
    work: impl FnOnce(&mut Parcel, &mut Parcel) -> Answer<()>,
) -> Result<(), CallError> {
    let outcome = if has_token(data, descriptor) {
        // Where no exception stands: what `writeNoException` writes.
        reply.write_i32(0)?;
        work(data, reply)
    } else {
        let message = "Binder invocation to an incorrect interface";
        Err(Exception::new(Exception::SECURITY, message).into())
    };
    let exception = match outcome {
        Ok(()) => return Ok(()),
        Err(Failure::Exception(it)) => it,
        Err(Failure::Call(CallError::UNEXPECTED_NULL)) => {
            Exception::new(Exception::NULL_POINTER, "null where the interface has none")
        }
        Err(Failure::Call(it)) => return Err(it),
    };
    reply.clear();
    if call.is_oneway {
        return Ok(());
    }
    exception.write(reply)
}

/// The length of an array that is filled and comes back, with a value for each item.
pub fn read_length<T: Clone + Default>(data: &mut Parcel) -> Answer<Vec<T>> {
    let count = i32::read(data)?;
    if count < 0 {
        return Err(CallError::UNEXPECTED_NULL.into());
    }
    match usize::try_from(count) {
        Ok(count) if count <= OUT_ITEMS_MAX => Ok(vec![T::default(); count]),
        _ => Err(CallError::BadParcel.into()),
    }
}
