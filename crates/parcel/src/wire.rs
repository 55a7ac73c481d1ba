// SPDX-License-Identifier: Apache-2.0
//! [`Wire`]: a parcel between processes: its bytes, and where in them the objects lie.

use crate::data::{Entry, Object, Parcel};
use crate::flat::{BINDER_BYTES, BadFlat, FLAT_BYTES, FlatObject, Kind};

/// A parcel as it travels. Bytes and positions keep their room when it is used again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wire {
    /// The parcel's bytes, with objects as the sender means them.
    pub bytes: Vec<u8>,
    /// Where the objects begin, ascending.
    pub positions: Vec<u32>,
}

/// Bytes from another process that are no parcel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// The parcel is longer than a parcel can be.
    #[error("{0} bytes are more than a parcel holds")]
    TooLarge(usize),
    /// An object does not lie inside, is not at a word, or reaches into the one before it.
    #[error("no object can be at {0}")]
    Position(u32),
    /// What is there is none.
    #[error("at {at}: {error}")]
    Object {
        /// Where.
        at: u32,
        /// What is wrong with it.
        error: BadFlat,
    },
}

impl<B: Clone> Parcel<B> {
    /// Writes the parcel for another process into `wire`; `name` says how that process is to read
    /// an object. Allocates only where `wire` has not the room.
    pub fn to_wire<E>(
        &self,
        wire: &mut Wire,
        mut name: impl FnMut(&Object<B>) -> Result<FlatObject, E>,
    ) -> Result<(), E> {
        wire.bytes.clear();
        wire.bytes.extend_from_slice(self.bytes());
        wire.positions.clear();
        for entry in self.entries() {
            let flat = name(&entry.object)?.to_bytes();
            wire.bytes[entry.at..entry.at + FLAT_BYTES].copy_from_slice(&flat);
            // A parcel is smaller than 2³¹ bytes.
            wire.positions.push(entry.at as u32);
        }
        Ok(())
    }

    /// Replaces everything by what another process sent; `find` gives the object that it names.
    /// The position is the beginning. On an error the parcel is empty.
    pub fn from_wire<E: From<WireError>>(
        &mut self,
        wire: &Wire,
        mut find: impl FnMut(FlatObject) -> Result<Object<B>, E>,
    ) -> Result<(), E> {
        self.clear();
        let outcome = check(wire).and_then(|()| {
            self.copy(&wire.bytes)
                .map_err(|_| WireError::TooLarge(wire.bytes.len()))
        });
        outcome?;
        for &at in &wire.positions {
            let flat = flat(&wire.bytes, at)?;
            match find(flat) {
                Ok(object) => self.insert(Entry {
                    at: at as usize,
                    object,
                }),
                Err(error) => {
                    self.clear();
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

/// All positions, before the first object is looked for: a half is not taken.
fn check(wire: &Wire) -> Result<(), WireError> {
    let mut free = 0;
    for &at in &wire.positions {
        let start = at as usize;
        if start < free || !start.is_multiple_of(4) {
            return Err(WireError::Position(at));
        }
        let flat = flat(&wire.bytes, at)?;
        free = start + size(flat.kind);
        if wire.bytes.len() < free {
            return Err(WireError::Position(at));
        }
    }
    Ok(())
}

fn flat(bytes: &[u8], at: u32) -> Result<FlatObject, WireError> {
    let found = bytes.get(at as usize..).and_then(|it| it.first_chunk());
    let found = found.ok_or(WireError::Position(at))?;
    FlatObject::parse(found).map_err(|error| WireError::Object { at, error })
}

/// Bytes that an object of this kind takes in a parcel.
pub(crate) fn size(kind: Kind) -> usize {
    match kind {
        Kind::Fd => FLAT_BYTES,
        _ => BINDER_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    type Binder = Arc<u64>;

    fn name(object: &Object<Binder>) -> Result<FlatObject, WireError> {
        match object {
            Object::Binder(it) => Ok(FlatObject {
                number: **it,
                ..FlatObject::NULL
            }),
            Object::Fd(_) => unreachable!("none was written"),
        }
    }

    fn find(flat: FlatObject) -> Result<Object<Binder>, WireError> {
        Ok(Object::Binder(Arc::new(flat.number)))
    }

    fn two() -> Wire {
        let mut parcel = Parcel::new();
        parcel.write_i32(7).unwrap();
        for number in [3, 4] {
            parcel.write_binder(Some(Arc::new(number))).unwrap();
        }
        let mut wire = Wire::default();
        parcel.to_wire(&mut wire, name).unwrap();
        wire
    }

    #[test]
    fn a_parcel_travels_with_its_objects() {
        let wire = two();
        assert_eq!(wire.positions, [4, 32]);
        let mut parcel = Parcel::new();
        parcel.from_wire(&wire, find).unwrap();
        assert_eq!(parcel.read_i32(), Some(7));
        for number in [3, 4] {
            assert_eq!(parcel.read_binder().unwrap().as_deref(), Some(&number));
        }
    }

    #[test]
    fn positions_that_cannot_be_are_refused_whole() {
        for positions in [
            vec![4, 4],     // twice the same
            vec![4, 30],    // into the one before, not at a word
            vec![32, 4],    // descending
            vec![4, 56],    // the stability word is missing
            vec![u32::MAX], // far out
        ] {
            let wire = Wire {
                positions: positions.clone(),
                ..two()
            };
            let mut parcel = Parcel::new();
            assert!(parcel.from_wire(&wire, find).is_err(), "{positions:?}");
            assert_eq!(parcel.size(), 0);
        }
    }
}
