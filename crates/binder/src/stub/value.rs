// SPDX-License-Identifier: Apache-2.0
//! [`Write`] and [`Read`]: values as AOSP's Java stubs lay them out.
//!
//! A number narrower than 32 bits takes a word. A text is UTF-16. An array is a count and its
//! items, a parcelable a word that says whether it is null, and itself.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::{Binder, CallError, Parcel};

/// What goes into a parcel.
pub trait Write {
    /// Writes it at the position.
    fn write(&self, parcel: &mut Parcel) -> Result<(), CallError>;
}

/// What comes out of one.
pub trait Read: Sized {
    /// Reads one at the position.
    fn read(parcel: &mut Parcel) -> Result<Self, CallError>;
}

/// What null has a form in place of.
pub trait Nullable: Write {
    /// Writes null.
    fn write_null(parcel: &mut Parcel) -> Result<(), CallError>;
}

/// What null may come in place of.
pub trait ReadNullable: Sized {
    /// None for null.
    fn read_nullable(parcel: &mut Parcel) -> Result<Option<Self>, CallError>;
}

/// A parcelable's own content; [`crate::parcelable`] makes values of such types.
pub trait Parcelable: Sized {
    /// Behind the word that says that there is one.
    fn write_content(&self, parcel: &mut Parcel) -> Result<(), CallError>;
    /// The same.
    fn read_content(parcel: &mut Parcel) -> Result<Self, CallError>;
}

fn non_null<T: ReadNullable>(parcel: &mut Parcel) -> Result<T, CallError> {
    T::read_nullable(parcel)?.ok_or(CallError::UNEXPECTED_NULL)
}

impl<T: Write + ?Sized> Write for &T {
    fn write(&self, parcel: &mut Parcel) -> Result<(), CallError> {
        (**self).write(parcel)
    }
}

impl<T: Nullable + ?Sized> Nullable for &T {
    fn write_null(parcel: &mut Parcel) -> Result<(), CallError> {
        T::write_null(parcel)
    }
}

impl<T: Nullable> Write for Option<T> {
    fn write(&self, parcel: &mut Parcel) -> Result<(), CallError> {
        match self {
            Some(it) => it.write(parcel),
            None => T::write_null(parcel),
        }
    }
}

impl<T: ReadNullable> Read for Option<T> {
    fn read(parcel: &mut Parcel) -> Result<Self, CallError> {
        T::read_nullable(parcel)
    }
}

/// Numbers that are their bytes.
macro_rules! plain {
    ($($of:ty),*) => {$(
        impl Write for $of {
            fn write(&self, parcel: &mut Parcel) -> Result<(), CallError> {
                Ok(parcel.write(&self.to_le_bytes())?)
            }
        }
        impl Read for $of {
            fn read(parcel: &mut Parcel) -> Result<Self, CallError> {
                parcel.read_array().map(Self::from_le_bytes).ok_or(CallError::BadParcel)
            }
        }
    )*};
}
plain!(i32, i64, f32, f64);

/// Numbers that take a word; of a larger one their own bits count, as in Java.
macro_rules! word {
    ($($of:ty),*) => {$(
        impl Write for $of {
            fn write(&self, parcel: &mut Parcel) -> Result<(), CallError> {
                i32::from(*self).write(parcel)
            }
        }
        impl Read for $of {
            fn read(parcel: &mut Parcel) -> Result<Self, CallError> {
                i32::read(parcel).map(|it| it as Self)
            }
        }
    )*};
}
word!(i8, u16);

impl Write for bool {
    fn write(&self, parcel: &mut Parcel) -> Result<(), CallError> {
        i32::from(*self).write(parcel)
    }
}

impl Read for bool {
    fn read(parcel: &mut Parcel) -> Result<Self, CallError> {
        i32::read(parcel).map(|it| it != 0)
    }
}

/// Null is a count of -1.
macro_rules! counted {
    ($of:ty $(, $($item:tt)*)?) => {
        impl $($($item)*)? Nullable for $of {
            fn write_null(parcel: &mut Parcel) -> Result<(), CallError> {
                (-1).write(parcel)
            }
        }
    };
}
counted!(str);
counted!(String);
counted!([u8]);
counted!(Vec<u8>);
counted!([T], <T: Write>);
counted!(Vec<T>, <T: Write>);

/// The count at the position; none for null. Items of at least so many bytes follow.
fn read_count(parcel: &mut Parcel, item_bytes: usize) -> Result<Option<usize>, CallError> {
    let Ok(count) = usize::try_from(i32::read(parcel)?) else {
        return Ok(None);
    };
    if count > parcel.available() / item_bytes {
        return Err(CallError::BadParcel);
    }
    Ok(Some(count))
}

impl Write for str {
    fn write(&self, parcel: &mut Parcel) -> Result<(), CallError> {
        let units: Vec<u16> = self.encode_utf16().collect();
        Ok(parcel.write_utf16(Some(&units))?)
    }
}

impl Write for String {
    fn write(&self, parcel: &mut Parcel) -> Result<(), CallError> {
        self.as_str().write(parcel)
    }
}

impl ReadNullable for String {
    fn read_nullable(parcel: &mut Parcel) -> Result<Option<Self>, CallError> {
        let start = parcel.position();
        if i32::read(parcel)? < 0 {
            return Ok(None);
        }
        parcel.set_position(start);
        let units = parcel.read_utf16().ok_or(CallError::BadParcel)?;
        // Java's texts may hold half a pair; Rust's cannot.
        Ok(Some(Self::from_utf16_lossy(&units)))
    }
}

impl Read for String {
    fn read(parcel: &mut Parcel) -> Result<Self, CallError> {
        non_null(parcel)
    }
}

impl Write for [u8] {
    fn write(&self, parcel: &mut Parcel) -> Result<(), CallError> {
        Ok(parcel.write_blob(Some(self))?)
    }
}

impl Write for Vec<u8> {
    fn write(&self, parcel: &mut Parcel) -> Result<(), CallError> {
        self.as_slice().write(parcel)
    }
}

impl ReadNullable for Vec<u8> {
    fn read_nullable(parcel: &mut Parcel) -> Result<Option<Self>, CallError> {
        let Some(count) = read_count(parcel, 1)? else {
            return Ok(None);
        };
        let bytes = parcel.read(count).ok_or(CallError::BadParcel)?;
        Ok(Some(bytes.to_vec()))
    }
}

impl Read for Vec<u8> {
    fn read(parcel: &mut Parcel) -> Result<Self, CallError> {
        non_null(parcel)
    }
}

impl<T: Write> Write for [T] {
    fn write(&self, parcel: &mut Parcel) -> Result<(), CallError> {
        let count = i32::try_from(self.len()).map_err(|_| CallError::TooLarge)?;
        count.write(parcel)?;
        self.iter().try_for_each(|it| it.write(parcel))
    }
}

impl<T: Write> Write for Vec<T> {
    fn write(&self, parcel: &mut Parcel) -> Result<(), CallError> {
        self.as_slice().write(parcel)
    }
}

impl<T: Read> ReadNullable for Vec<T> {
    fn read_nullable(parcel: &mut Parcel) -> Result<Option<Self>, CallError> {
        // Nothing takes less than a word.
        let Some(count) = read_count(parcel, 4)? else {
            return Ok(None);
        };
        let items = (0..count).map(|_| T::read(parcel));
        items.collect::<Result<_, _>>().map(Some)
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(parcel: &mut Parcel) -> Result<Self, CallError> {
        non_null(parcel)
    }
}

impl Write for Binder {
    fn write(&self, parcel: &mut Parcel) -> Result<(), CallError> {
        Ok(parcel.write_binder(Some(self.clone()))?)
    }
}

impl Nullable for Binder {
    fn write_null(parcel: &mut Parcel) -> Result<(), CallError> {
        Ok(parcel.write_binder(None)?)
    }
}

impl ReadNullable for Binder {
    fn read_nullable(parcel: &mut Parcel) -> Result<Option<Self>, CallError> {
        Ok(parcel.read_binder()?)
    }
}

impl Read for Binder {
    fn read(parcel: &mut Parcel) -> Result<Self, CallError> {
        non_null(parcel)
    }
}

/// As Java's ParcelFileDescriptor: no channel beside it, and the descriptor.
impl Parcelable for Arc<OwnedFd> {
    fn write_content(&self, parcel: &mut Parcel) -> Result<(), CallError> {
        parcel.write_i32(0)?;
        Ok(parcel.write_fd(Self::clone(self))?)
    }

    fn read_content(parcel: &mut Parcel) -> Result<Self, CallError> {
        let has_channel = bool::read(parcel)?;
        let fd = parcel.read_fd()?;
        if has_channel {
            drop(parcel.read_fd()?);
        }
        Ok(fd)
    }
}

/// Makes values of types that are [`stub::Parcelable`](Parcelable).
#[macro_export]
macro_rules! parcelable {
    ($($of:ty),* $(,)?) => {$(
        impl $crate::stub::Write for $of {
            fn write(&self, parcel: &mut $crate::Parcel) -> Result<(), $crate::CallError> {
                parcel.write_i32(1)?;
                $crate::stub::Parcelable::write_content(self, parcel)
            }
        }
        impl $crate::stub::Nullable for $of {
            fn write_null(parcel: &mut $crate::Parcel) -> Result<(), $crate::CallError> {
                Ok(parcel.write_i32(0)?)
            }
        }
        impl $crate::stub::ReadNullable for $of {
            fn read_nullable(
                parcel: &mut $crate::Parcel,
            ) -> Result<Option<Self>, $crate::CallError> {
                let is_there: bool = $crate::stub::Read::read(parcel)?;
                is_there.then(|| $crate::stub::Parcelable::read_content(parcel)).transpose()
            }
        }
        impl $crate::stub::Read for $of {
            fn read(parcel: &mut $crate::Parcel) -> Result<Self, $crate::CallError> {
                let found: Option<Self> = $crate::stub::Read::read(parcel)?;
                found.ok_or($crate::CallError::UNEXPECTED_NULL)
            }
        }
    )*};
}
parcelable!(Arc<OwnedFd>);

/// Writes a size, which counts itself, and the fields that `write` writes.
pub fn write_fields(
    parcel: &mut Parcel,
    write: impl FnOnce(&mut Parcel) -> Result<(), CallError>,
) -> Result<(), CallError> {
    let start = parcel.position();
    parcel.write_i32(0)?;
    write(parcel)?;
    let end = parcel.position();
    let size = i32::try_from(end - start).map_err(|_| CallError::TooLarge)?;
    parcel.set_position(start);
    parcel.write_i32(size)?;
    parcel.set_position(end);
    Ok(())
}

/// The fields of a parcelable, as far as its sender knows them.
pub struct Fields {
    end: usize,
}

impl Fields {
    /// Reads the size, which lies within the parcel.
    pub fn begin(parcel: &mut Parcel) -> Result<Self, CallError> {
        let start = parcel.position();
        let size = usize::try_from(i32::read(parcel)?).map_err(|_| CallError::BadParcel)?;
        let end = start.checked_add(size);
        let end = end.filter(|it| parcel.position() <= *it && *it <= parcel.size());
        Ok(Self {
            end: end.ok_or(CallError::BadParcel)?,
        })
    }

    /// The next field into its place, if the sender has it; what it was before stays otherwise.
    pub fn read<T: Read>(&self, parcel: &mut Parcel, into: &mut T) -> Result<(), CallError> {
        if parcel.position() < self.end {
            *into = T::read(parcel)?;
        }
        // A field of another parcelable's would be read as this one's.
        if parcel.position() > self.end {
            return Err(CallError::BadParcel);
        }
        Ok(())
    }

    /// Passes fields that only the sender knows.
    pub fn end(self, parcel: &mut Parcel) {
        parcel.set_position(self.end);
    }
}
