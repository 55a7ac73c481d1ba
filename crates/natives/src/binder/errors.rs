// SPDX-License-Identifier: Apache-2.0
//! Calls that have no answer, as the exceptions that Android throws for them.

use binder::CallError;

use crate::env::Env;

/// Android's words for a call that did not go, although its parcel is small.
const NO_ROOM: &str = "Transaction failed on small parcel; remote process probably died, but this could also be caused by running out of binder buffer space";

/// Throws what AOSP's `signalExceptionForError` throws, `size` being the data's.
pub(super) fn throw(env: Env, error: CallError, size: usize) {
    let (class, text): (&str, String) = match error {
        CallError::DeadObject => ("android/os/DeadObjectException", String::new()),
        CallError::TooLarge => (
            "android/os/TransactionTooLargeException",
            format!("data parcel size {size} bytes"),
        ),
        CallError::QueueFull => ("android/os/DeadObjectException", NO_ROOM.to_owned()),
        CallError::NotSupported(what) => {
            (UNSUPPORTED, format!("{what} is not supported by Takt yet"))
        }
        other => of_status(other.status()),
    };
    env.throw(class, &text);
}

const RUNTIME: &str = "java/lang/RuntimeException";
const ARGUMENT: &str = "java/lang/IllegalArgumentException";
const UNSUPPORTED: &str = "java/lang/UnsupportedOperationException";

/// Android's numbers, as another process answers them.
fn of_status(status: i32) -> (&'static str, String) {
    const UNKNOWN_ERROR: i32 = i32::MIN;
    let (class, text) = match status {
        UNKNOWN_ERROR => (RUNTIME, "Unknown error"),
        -12 => ("java/lang/OutOfMemoryError", ""),
        -38 => (
            UNSUPPORTED,
            "the other process cannot answer, as with a reference from behind /dev/binder",
        ),
        -22 => (ARGUMENT, ""),
        -75 => ("java/lang/IndexOutOfBoundsException", ""),
        -2 => ("java/util/NoSuchElementException", ""),
        -1 => ("java/lang/SecurityException", ""),
        -61 => ("android/os/ParcelFormatException", "Not enough data"),
        -19 => (RUNTIME, "Not initialized"),
        -17 => (RUNTIME, "Item already exists"),
        -9 => (RUNTIME, "Bad file descriptor"),
        -24 => (RUNTIME, "Too many open files"),
        _ => {
            let text = format!("Unknown binder error code. {status:#x}");
            return ("android/os/RemoteException", text);
        }
    };
    (class, text.to_owned())
}
