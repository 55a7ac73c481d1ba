// SPDX-License-Identifier: Apache-2.0
//! [`Parcel`]: everything in multiples of four, little-endian, as AOSP lays it out.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::flat::{FLAT_BYTES, FlatObject, Kind, Stability, flags};
use crate::wire::size;

/// Bytes in one parcel: what fits Java's `int`, rounded down to a multiple of four.
pub const BYTES_MAX: usize = i32::MAX as usize & !3;

/// Data, the position of the next access, and the objects in the data by position.
///
/// Every read is bounded by the data: what is not there reads as nothing.
#[derive(Clone, Debug)]
pub struct Parcel<B> {
    bytes: Vec<u8>,
    position: usize,
    entries: Vec<Entry<B>>,
}

/// What a parcel carries beside bytes.
#[derive(Clone, Debug)]
pub enum Object<B> {
    /// A binder: a node or a reference to one.
    Binder(B),
    /// A file descriptor, closed with the last parcel that holds it.
    Fd(Arc<OwnedFd>),
}

impl<B> Object<B> {
    fn kind(&self) -> Kind {
        match self {
            Self::Binder(_) => Kind::Binder,
            Self::Fd(_) => Kind::Fd,
        }
    }
}

/// An object, and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Entry<B> {
    pub(crate) at: usize,
    pub(crate) object: Object<B>,
}

impl<B> Entry<B> {
    fn end(&self) -> usize {
        self.at + size(self.object.kind())
    }
}

/// A write beyond what a parcel can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the parcel is full")]
pub struct Full;

/// There is no object of the kind at the position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such object at the parcel's position")]
pub struct BadObject;

fn padded(size: usize) -> Option<usize> {
    size.checked_next_multiple_of(4)
}

impl<B> Default for Parcel<B> {
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            position: 0,
            entries: Vec::new(),
        }
    }
}

impl<B: Clone> Parcel<B> {
    /// Empty; allocates nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes that are there.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes that there is room for.
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Where the next access begins.
    pub fn position(&self) -> usize {
        self.position
    }

    /// Bytes behind the position.
    pub fn available(&self) -> usize {
        self.bytes.len().saturating_sub(self.position)
    }

    /// The bytes; objects in them are as [`Kind`] says, without a number.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether there are binders or file descriptors in it.
    pub fn has_objects(&self) -> bool {
        !self.entries.is_empty()
    }

    /// Its binders and file descriptors, in order.
    pub fn objects(&self) -> impl Iterator<Item = &Object<B>> {
        self.entries.iter().map(|it| &it.object)
    }

    /// The same, each with the place of its flat form in the bytes.
    pub fn placed(&self) -> impl Iterator<Item = (usize, &Object<B>)> {
        self.entries.iter().map(|it| (it.at, &it.object))
    }

    /// Whether there are file descriptors among `size` bytes from `offset` on.
    pub fn has_fds_within(&self, offset: usize, size: usize) -> bool {
        self.within(offset, size)
            .any(|it| matches!(it.object, Object::Fd(_)))
    }

    /// Whether there are binders among `size` bytes from `offset` on.
    pub fn has_binders_within(&self, offset: usize, size: usize) -> bool {
        self.within(offset, size)
            .any(|it| matches!(it.object, Object::Binder(_)))
    }

    /// Objects that lie whole in a part of the data.
    fn within(&self, offset: usize, size: usize) -> impl Iterator<Item = &Entry<B>> {
        let end = offset.saturating_add(size);
        let is_inside = move |it: &&Entry<B>| offset <= it.at && it.end() <= end;
        self.entries.iter().filter(is_inside)
    }

    /// Empties it and keeps its room.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
        self.position = 0;
    }

    /// Empties it and gives its room back.
    pub fn free(&mut self) {
        *self = Self::new();
    }

    /// Makes room for `capacity` bytes in all.
    pub fn reserve(&mut self, capacity: usize) {
        self.bytes
            .reserve_exact(capacity.min(BYTES_MAX).saturating_sub(self.bytes.len()));
    }

    /// Moves the position, at most to the largest one.
    pub fn set_position(&mut self, position: usize) {
        self.position = position.min(BYTES_MAX);
    }

    /// Cuts, or grows with zeros; objects behind the new end go.
    pub fn set_size(&mut self, size: usize) -> Result<(), Full> {
        if size > BYTES_MAX {
            return Err(Full);
        }
        self.bytes.resize(size, 0);
        self.position = self.position.min(size);
        self.entries.retain(|it| it.end() <= size);
        Ok(())
    }

    /// Writes at the position, over what is there or behind it; padding is zero.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Full> {
        let end = padded(bytes.len()).and_then(|it| self.position.checked_add(it));
        let end = end.filter(|it| *it <= BYTES_MAX).ok_or(Full)?;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        let place = &mut self.bytes[self.position..end];
        place[..bytes.len()].copy_from_slice(bytes);
        place[bytes.len()..].fill(0);
        let start = self.position;
        self.entries.retain(|it| it.end() <= start || end <= it.at);
        self.position = end;
        Ok(())
    }

    /// The next `size` bytes; none, and the position stays, if they are not there.
    pub fn read(&mut self, size: usize) -> Option<&[u8]> {
        let end = self.position.checked_add(padded(size)?)?;
        let taken = self
            .bytes
            .get(self.position..self.position.checked_add(size)?)?;
        // The last item of a marshalled parcel may lack its padding.
        self.position = end.min(self.bytes.len());
        Some(taken)
    }

    /// The next `N` bytes.
    pub fn read_array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.read(N)?.try_into().ok()
    }

    /// Writes a word.
    pub fn write_i32(&mut self, value: i32) -> Result<(), Full> {
        self.write(&value.to_le_bytes())
    }

    /// The next word.
    pub fn read_i32(&mut self) -> Option<i32> {
        self.read_array().map(i32::from_le_bytes)
    }

    /// A count, the units, and a zero unit; -1 for none.
    pub fn write_utf16(&mut self, text: Option<&[u16]>) -> Result<(), Full> {
        let Some(units) = text else {
            return self.write_i32(-1);
        };
        self.write_i32(i32::try_from(units.len()).map_err(|_| Full)?)?;
        let bytes: Vec<u8> = units
            .iter()
            .chain(&[0])
            .flat_map(|it| it.to_le_bytes())
            .collect();
        self.write(&bytes)
    }

    /// None for a null string, and for one that is not there whole.
    pub fn read_utf16(&mut self) -> Option<Vec<u16>> {
        let count = usize::try_from(self.read_i32()?).ok()?;
        let bytes = self.read(count.checked_add(1)?.checked_mul(2)?)?;
        let units = bytes
            .chunks_exact(2)
            .map(|it| u16::from_le_bytes([it[0], it[1]]));
        Some(units.take(count).collect())
    }

    /// A count, the bytes, and a zero byte; -1 for none.
    pub fn write_utf8(&mut self, text: Option<&str>) -> Result<(), Full> {
        let Some(text) = text else {
            return self.write_i32(-1);
        };
        self.write_i32(i32::try_from(text.len()).map_err(|_| Full)?)?;
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        self.write(&bytes)
    }

    /// None for a null string, and for one that is not there whole.
    pub fn read_utf8(&mut self) -> Option<String> {
        let count = usize::try_from(self.read_i32()?).ok()?;
        let bytes = self.read(count.checked_add(1)?)?;
        Some(String::from_utf8_lossy(&bytes[..count]).into_owned())
    }

    /// A count and the bytes; -1 for none.
    pub fn write_blob(&mut self, blob: Option<&[u8]>) -> Result<(), Full> {
        let Some(blob) = blob else {
            return self.write_i32(-1);
        };
        self.write_i32(i32::try_from(blob.len()).map_err(|_| Full)?)?;
        self.write(blob)
    }

    /// None for a null one, and for one that is not there whole.
    pub fn read_blob(&mut self) -> Option<&[u8]> {
        let count = usize::try_from(self.read_i32()?).ok()?;
        self.read(count)
    }

    /// A flat binder with its stability. A null one has no entry. Who sends the parcel says in
    /// [`Self::to_wire`] which node it is: until then it has no number.
    pub fn write_binder(&mut self, binder: Option<B>) -> Result<(), Full> {
        let Some(binder) = binder else {
            return self.write_flat(FlatObject::NULL, Some(Stability::Undeclared), None);
        };
        let flat = FlatObject {
            flags: flags::ACCEPTS_FDS,
            ..FlatObject::NULL
        };
        let object = Some(Object::Binder(binder));
        self.write_flat(flat, Some(Stability::System), object)
    }

    /// The binder at the position; `Ok(None)` for a null one. What is no binder is passed over.
    pub fn read_binder(&mut self) -> Result<Option<B>, BadObject> {
        let object = self.read_object()?;
        let found = match object {
            Some(Object::Binder(binder)) => Some(binder),
            Some(Object::Fd(_)) => return Err(BadObject),
            None => None,
        };
        self.read(4).ok_or(BadObject)?;
        Ok(found)
    }

    /// A flat file descriptor.
    pub fn write_fd(&mut self, fd: Arc<OwnedFd>) -> Result<(), Full> {
        let flat = FlatObject {
            kind: Kind::Fd,
            // The parcel closes it.
            cookie: 1,
            ..FlatObject::NULL
        };
        self.write_flat(flat, None, Some(Object::Fd(fd)))
    }

    /// The file descriptor at the position. What is none is passed over.
    pub fn read_fd(&mut self) -> Result<Arc<OwnedFd>, BadObject> {
        match self.read_object()? {
            Some(Object::Fd(fd)) => Ok(fd),
            _ => Err(BadObject),
        }
    }

    fn write_flat(
        &mut self,
        flat: FlatObject,
        stability: Option<Stability>,
        object: Option<Object<B>>,
    ) -> Result<(), Full> {
        let at = self.position;
        let mut bytes = [0; FLAT_BYTES + 4];
        bytes[..FLAT_BYTES].copy_from_slice(&flat.to_bytes());
        bytes[FLAT_BYTES..].copy_from_slice(&stability.map_or(0, Stability::word).to_le_bytes());
        self.write(&bytes[..size(flat.kind)])?;
        if let Some(object) = object {
            self.insert(Entry { at, object });
        }
        Ok(())
    }

    /// The object whose flat form the position is at, which it passes; none for a null binder.
    fn read_object(&mut self) -> Result<Option<Object<B>>, BadObject> {
        let at = self.position;
        let flat = self.read_array().ok_or(BadObject)?;
        match self.entries.binary_search_by_key(&at, |it| it.at) {
            Ok(index) => Ok(Some(self.entries[index].object.clone())),
            Err(_) if FlatObject::parse(&flat).is_ok_and(|it| it.is_null()) => Ok(None),
            Err(_) => Err(BadObject),
        }
    }

    /// Copies `size` bytes of `other` from `offset`, with the objects that lie in them whole.
    pub fn append(&mut self, other: &Self, offset: usize, size: usize) -> Result<(), Full> {
        let end = offset.checked_add(size).ok_or(Full)?;
        let bytes = other.bytes.get(offset..end).ok_or(Full)?;
        let start = self.position;
        self.write(bytes)?;
        let within = |it: &&Entry<B>| offset <= it.at && it.end() <= end;
        for entry in other.entries.iter().filter(within) {
            self.insert(Entry {
                at: start + entry.at - offset,
                object: entry.object.clone(),
            });
        }
        Ok(())
    }

    /// Replaces everything by marshalled bytes.
    pub fn unmarshall(&mut self, bytes: Vec<u8>) {
        *self = Self {
            bytes,
            ..Self::new()
        };
    }

    /// Replaces everything by these bytes, in the room that is there.
    pub(crate) fn copy(&mut self, bytes: &[u8]) -> Result<(), Full> {
        self.clear();
        if bytes.len() > BYTES_MAX {
            return Err(Full);
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    pub(crate) fn entries(&self) -> &[Entry<B>] {
        &self.entries
    }

    /// Enters an object in the order of positions; nothing else is entered there.
    pub(crate) fn insert(&mut self, entry: Entry<B>) {
        let index = self.entries.partition_point(|it| it.at < entry.at);
        self.entries.insert(index, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_padded_to_words() {
        let mut data = Parcel::<()>::new();
        data.write_blob(Some(&[1, 2, 3, 4, 5])).unwrap();
        data.write_utf16(Some(&[0x61])).unwrap();
        assert_eq!(
            data.bytes(),
            [
                5, 0, 0, 0, 1, 2, 3, 4, 5, 0, 0, 0, 1, 0, 0, 0, 0x61, 0, 0, 0
            ]
        );
        data.set_position(0);
        assert_eq!(data.read_blob(), Some(&[1, 2, 3, 4, 5][..]));
        assert_eq!(data.read_utf16(), Some(vec![0x61]));
        assert_eq!(data.read_i32(), None);
    }

    #[test]
    fn a_length_beyond_the_end_reads_as_nothing() {
        let mut data = Parcel::<()>::new();
        data.write_i32(i32::MAX).unwrap();
        for _ in 0..2 {
            data.set_position(0);
            assert_eq!(data.read_utf16(), None);
            data.set_position(0);
            assert_eq!(data.read_blob(), None);
        }
        assert_eq!(data.position(), 4);
    }

    #[test]
    fn objects_travel_with_their_bytes() {
        let mut source = Parcel::new();
        source.write_i32(7).unwrap();
        source.write_binder(Some("node")).unwrap();
        source.write_binder(None).unwrap();
        let mut target = Parcel::new();
        target.write_i32(1).unwrap();
        target.append(&source, 0, source.size()).unwrap();
        target.set_position(8);
        assert_eq!(target.read_binder(), Ok(Some("node")));
        assert_eq!(target.read_binder(), Ok(None));
        target.set_position(8);
        target.write_i32(0).unwrap();
        target.set_position(8);
        assert_eq!(
            target.read_binder(),
            Err(BadObject),
            "what is overwritten is gone"
        );
        assert!(source.has_binders_within(4, size(Kind::Binder)));
        assert!(!source.has_binders_within(5, size(Kind::Binder)));
    }

    #[test]
    fn binders_lie_as_aosp_lays_them() {
        let mut parcel = Parcel::new();
        parcel.write_binder(Some(())).unwrap();
        parcel.write_binder(None).unwrap();
        let (binder, null) = parcel.bytes().split_at(28);
        let mut expected = [0; 28];
        expected[..8].copy_from_slice(&[0x85, b'*', b'b', b's', 0, 1, 0, 0]);
        expected[24] = 12;
        assert_eq!(binder, expected);
        expected[5] = 0;
        expected[24] = 0;
        assert_eq!(null, expected);
    }

    #[test]
    fn a_descriptor_is_read_where_it_was_written_and_closed_with_the_parcel() {
        let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut parcel = Parcel::<()>::new();
        parcel.write_i32(1).unwrap();
        parcel.write_fd(Arc::new(near.into())).unwrap();
        assert_eq!(parcel.size(), 4 + 24);
        assert!(parcel.has_fds_within(4, 24) && !parcel.has_fds_within(4, 20));
        parcel.set_position(4);
        drop(parcel.read_fd().unwrap());
        parcel.set_position(4);
        assert_eq!(parcel.read_binder(), Err(BadObject));
        drop(parcel);
        let mut byte = [0];
        let end = std::io::Read::read(&mut &far, &mut byte).unwrap();
        assert_eq!(end, 0, "the other end is closed");
    }

    #[test]
    fn a_range_that_is_not_there_is_not_appended() {
        let mut data = Parcel::<()>::new();
        let other = Parcel::new();
        assert_eq!(data.append(&other, 0, 4), Err(Full));
        assert_eq!(data.append(&other, usize::MAX, 4), Err(Full));
    }
}
