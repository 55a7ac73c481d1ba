// SPDX-License-Identifier: Apache-2.0
//! [`CallError`]: why a call has no answer; each with the number that Android knows it by.

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The process of the node has ended, or its link.
    #[error("the process of the node has ended")]
    DeadObject,
    /// The node does not know the code.
    #[error("the node does not know this code")]
    UnknownTransaction,
    /// What came is no parcel, or lacks what the node looks for in it.
    #[error("the parcel is not what it should be")]
    BadParcel,
    /// The parcel is larger than a link carries, or has more descriptors.
    #[error("the parcel is larger than a link carries")]
    TooLarge,
    /// Too many calls without an answer wait at the other end, or its socket is full.
    #[error("too much waits at the other end")]
    QueueFull,
    /// The due time passed. The node may still run.
    #[error("the call was not answered in time")]
    TimedOut,
    /// The node panicked.
    #[error("the node failed")]
    Failed,
    /// The transport does not do this.
    #[error("not supported: {0}")]
    NotSupported(&'static str),
    /// What the node itself answered with.
    #[error("the node answered with status {0}")]
    Status(i32),
}

/// Android's `UNKNOWN_ERROR`: others count from there.
const UNKNOWN: i32 = i32::MIN;

impl CallError {
    /// Null came where the interface has none.
    pub const UNEXPECTED_NULL: Self = Self::Status(UNKNOWN + 8);

    const NUMBERED: [(Self, i32); 7] = [
        (Self::DeadObject, -32),
        (Self::UnknownTransaction, -74),
        (Self::BadParcel, -22),
        (Self::TooLarge, UNKNOWN + 2),
        (Self::QueueFull, -12),
        (Self::TimedOut, -110),
        (Self::Failed, UNKNOWN),
    ];

    /// Android's number.
    pub fn status(self) -> i32 {
        if let Self::Status(status) = self {
            return status;
        }
        let found = Self::NUMBERED.into_iter().find(|(it, _)| *it == self);
        found.map_or(-38, |(_, status)| status)
    }

    /// Of the number that another process sent; 0 is success.
    pub fn of_status(status: i32) -> Result<(), Self> {
        if status == 0 {
            return Ok(());
        }
        let found = Self::NUMBERED.into_iter().find(|(_, it)| *it == status);
        Err(found.map_or(Self::Status(status), |(it, _)| it))
    }
}

impl From<parcel::WireError> for CallError {
    fn from(_: parcel::WireError) -> Self {
        Self::BadParcel
    }
}

impl From<parcel::Full> for CallError {
    fn from(_: parcel::Full) -> Self {
        Self::TooLarge
    }
}

impl From<parcel::BadObject> for CallError {
    fn from(_: parcel::BadObject) -> Self {
        Self::BadParcel
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_travels_as_a_number() {
        for (error, status) in CallError::NUMBERED {
            assert_eq!(error.status(), status);
            assert_eq!(CallError::of_status(status), Err(error));
        }
        assert_eq!(CallError::of_status(7), Err(CallError::Status(7)));
        assert_eq!(CallError::of_status(0), Ok(()));
    }
}
