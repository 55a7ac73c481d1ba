// SPDX-License-Identifier: Apache-2.0
//! [`Exception`]: what a service answers with in place of a value, and the header of answers.

use super::value::{Read, Write};
use crate::{CallError, Parcel};

/// What a call by a stub ends with.
pub type Answer<T> = Result<T, Failure>;

/// Why a call has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// It did not get there or back, or a parcel is not what it should be.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The service says no.
    #[error(transparent)]
    Exception(#[from] Exception),
}

/// An exception as a parcel carries it; Java has one for each code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("exception {code}: {message:?}")]
pub struct Exception {
    /// One of the constants here, or one that only Java knows.
    pub code: i32,
    /// In words.
    pub message: Option<String>,
    /// Of [`Self::SERVICE_SPECIFIC`]: the service's own number.
    pub specific: i32,
}

impl Exception {
    /// SecurityException.
    pub const SECURITY: i32 = -1;
    /// BadParcelableException.
    pub const BAD_PARCELABLE: i32 = -2;
    /// IllegalArgumentException.
    pub const ILLEGAL_ARGUMENT: i32 = -3;
    /// NullPointerException.
    pub const NULL_POINTER: i32 = -4;
    /// IllegalStateException.
    pub const ILLEGAL_STATE: i32 = -5;
    /// NetworkOnMainThreadException.
    pub const NETWORK_MAIN_THREAD: i32 = -6;
    /// UnsupportedOperationException.
    pub const UNSUPPORTED_OPERATION: i32 = -7;
    /// ServiceSpecificException.
    pub const SERVICE_SPECIFIC: i32 = -8;

    /// Headers that may stand before the code, each with its size.
    const NOTED_OPS_HEADER: i32 = -127;
    const REPLY_HEADER: i32 = -128;

    /// Of one of the codes here.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self {
            code,
            message: Some(message.into()),
            specific: 0,
        }
    }

    /// The service's own number.
    pub fn specific(number: i32, message: impl Into<String>) -> Self {
        Self {
            specific: number,
            ..Self::new(Self::SERVICE_SPECIFIC, message)
        }
    }

    /// As `Parcel.writeException` does, without a stack trace.
    pub(super) fn write(&self, reply: &mut Parcel) -> Result<(), CallError> {
        reply.write_i32(self.code)?;
        self.message.write(reply)?;
        reply.write_i32(0)?;
        if self.code == Self::SERVICE_SPECIFIC {
            reply.write_i32(self.specific)?;
        }
        Ok(())
    }

    /// The header of an answer, as `Parcel.readException` reads it.
    pub(super) fn check(reply: &mut Parcel) -> Answer<()> {
        let mut code = i32::read(reply)?;
        if code == Self::NOTED_OPS_HEADER {
            pass(reply)?;
            code = i32::read(reply)?;
        }
        if code == Self::REPLY_HEADER {
            pass(reply)?;
            code = 0;
        }
        if code == 0 {
            return Ok(());
        }
        let message = Read::read(reply)?;
        pass(reply)?;
        let is_specific = code == Self::SERVICE_SPECIFIC;
        let specific = if is_specific { i32::read(reply)? } else { 0 };
        Err(Self {
            code,
            message,
            specific,
        }
        .into())
    }
}

/// Passes what begins with its size, which counts itself; 0 is nothing but the size.
fn pass(reply: &mut Parcel) -> Result<(), CallError> {
    let size = usize::try_from(i32::read(reply)?).map_err(|_| CallError::BadParcel)?;
    let rest = size.saturating_sub(4);
    reply.read(rest).map(|_| ()).ok_or(CallError::BadParcel)
}
