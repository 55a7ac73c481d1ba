// SPDX-License-Identifier: Apache-2.0
//! The bytes of a parcel: everything in multiples of four, little-endian, as AOSP lays it out.

use std::sync::Arc;

/// Bytes in one parcel: what fits Java's `int`, rounded down to a multiple of four.
const BYTES_MAX: usize = i32::MAX as usize & !3;
/// A flat binder object, and the stability word behind it.
const OBJECT_BYTES: usize = 28;
/// Type word of a binder in the same process: `sb*` and 0x85.
const TYPE_BINDER: u32 = 0x7362_2a85;

/// Data, the position of the next access, and the objects in the data by position.
pub(crate) struct Data<T> {
    bytes: Vec<u8>,
    position: usize,
    objects: Vec<(usize, Arc<T>)>,
}

/// A write beyond what a parcel can hold.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Full;

fn padded(size: usize) -> Option<usize> {
    size.checked_next_multiple_of(4)
}

impl<T> Data<T> {
    pub(crate) fn new() -> Self {
        Self {
            bytes: Vec::new(),
            position: 0,
            objects: Vec::new(),
        }
    }

    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    pub(crate) fn available(&self) -> usize {
        self.bytes.len().saturating_sub(self.position)
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn has_objects(&self) -> bool {
        !self.objects.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::new();
    }

    pub(crate) fn reserve(&mut self, capacity: usize) {
        self.bytes
            .reserve_exact(capacity.min(BYTES_MAX).saturating_sub(self.bytes.len()));
    }

    pub(crate) fn set_position(&mut self, position: usize) {
        self.position = position.min(BYTES_MAX);
    }

    /// Cuts, or grows with zeros; objects behind the new end go.
    pub(crate) fn set_size(&mut self, size: usize) -> Result<(), Full> {
        if size > BYTES_MAX {
            return Err(Full);
        }
        self.bytes.resize(size, 0);
        self.position = self.position.min(size);
        self.objects.retain(|(at, _)| at + OBJECT_BYTES <= size);
        Ok(())
    }

    /// Writes at the position, over what is there or behind it; padding is zero.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Full> {
        let end = padded(bytes.len()).and_then(|it| self.position.checked_add(it));
        let end = end.filter(|it| *it <= BYTES_MAX).ok_or(Full)?;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        let place = &mut self.bytes[self.position..end];
        place[..bytes.len()].copy_from_slice(bytes);
        place[bytes.len()..].fill(0);
        let start = self.position;
        self.objects
            .retain(|(at, _)| at + OBJECT_BYTES <= start || end <= *at);
        self.position = end;
        Ok(())
    }

    /// The next `size` bytes; none, and the position stays, if they are not there.
    pub(crate) fn read(&mut self, size: usize) -> Option<&[u8]> {
        let end = self.position.checked_add(padded(size)?)?;
        let taken = self
            .bytes
            .get(self.position..self.position.checked_add(size)?)?;
        // The last item of a marshalled parcel may lack its padding.
        self.position = end.min(self.bytes.len());
        Some(taken)
    }

    pub(crate) fn read_array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.read(N)?.try_into().ok()
    }

    pub(crate) fn write_i32(&mut self, value: i32) -> Result<(), Full> {
        self.write(&value.to_le_bytes())
    }

    pub(crate) fn read_i32(&mut self) -> Option<i32> {
        self.read_array().map(i32::from_le_bytes)
    }

    /// A count, the units, and a zero unit; -1 for none.
    pub(crate) fn write_utf16(&mut self, text: Option<&[u16]>) -> Result<(), Full> {
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
    pub(crate) fn read_utf16(&mut self) -> Option<Vec<u16>> {
        let count = usize::try_from(self.read_i32()?).ok()?;
        let bytes = self.read(count.checked_add(1)?.checked_mul(2)?)?;
        let units = bytes
            .chunks_exact(2)
            .map(|it| u16::from_le_bytes([it[0], it[1]]));
        Some(units.take(count).collect())
    }

    /// A count, the bytes, and a zero byte; -1 for none.
    pub(crate) fn write_utf8(&mut self, text: Option<&str>) -> Result<(), Full> {
        let Some(text) = text else {
            return self.write_i32(-1);
        };
        self.write_i32(i32::try_from(text.len()).map_err(|_| Full)?)?;
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        self.write(&bytes)
    }

    pub(crate) fn read_utf8(&mut self) -> Option<String> {
        let count = usize::try_from(self.read_i32()?).ok()?;
        let bytes = self.read(count.checked_add(1)?)?;
        Some(String::from_utf8_lossy(&bytes[..count]).into_owned())
    }

    /// A count and the bytes; -1 for none.
    pub(crate) fn write_blob(&mut self, blob: Option<&[u8]>) -> Result<(), Full> {
        let Some(blob) = blob else {
            return self.write_i32(-1);
        };
        self.write_i32(i32::try_from(blob.len()).map_err(|_| Full)?)?;
        self.write(blob)
    }

    pub(crate) fn read_blob(&mut self) -> Option<&[u8]> {
        let count = usize::try_from(self.read_i32()?).ok()?;
        self.read(count)
    }

    /// A flat object with its stability; a null one has no entry.
    pub(crate) fn write_object(&mut self, object: Option<T>) -> Result<(), Full> {
        let start = self.position;
        let mut flat = [0; OBJECT_BYTES];
        flat[..4].copy_from_slice(&TYPE_BINDER.to_le_bytes());
        self.write(&flat)?;
        if let Some(object) = object {
            let at = self.objects.partition_point(|(it, _)| *it < start);
            self.objects.insert(at, (start, Arc::new(object)));
        }
        Ok(())
    }

    pub(crate) fn read_object(&mut self) -> Option<Arc<T>> {
        let start = self.position;
        self.read(OBJECT_BYTES)?;
        let index = self
            .objects
            .binary_search_by_key(&start, |(at, _)| *at)
            .ok()?;
        Some(self.objects[index].1.clone())
    }

    /// Copies `size` bytes of `other` from `offset`, with the objects that lie in them whole.
    pub(crate) fn append(&mut self, other: &Self, offset: usize, size: usize) -> Result<(), Full> {
        let end = offset.checked_add(size).ok_or(Full)?;
        let bytes = other.bytes.get(offset..end).ok_or(Full)?;
        let start = self.position;
        self.write(bytes)?;
        for (at, object) in &other.objects {
            if offset <= *at && at + OBJECT_BYTES <= end {
                self.objects.push((start + at - offset, object.clone()));
            }
        }
        self.objects.sort_by_key(|(at, _)| *at);
        Ok(())
    }

    /// Replaces everything by marshalled bytes.
    pub(crate) fn unmarshall(&mut self, bytes: Vec<u8>) {
        *self = Self {
            bytes,
            position: 0,
            objects: Vec::new(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_padded_to_words() {
        let mut data = Data::<()>::new();
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
        let mut data = Data::<()>::new();
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
        let mut source = Data::new();
        source.write_i32(7).unwrap();
        source.write_object(Some("node")).unwrap();
        source.write_object(None).unwrap();
        let mut target = Data::new();
        target.write_i32(1).unwrap();
        target.append(&source, 0, source.size()).unwrap();
        target.set_position(8);
        assert_eq!(target.read_object().as_deref(), Some(&"node"));
        assert_eq!(target.read_object(), None);
        target.set_position(8);
        target.write_i32(0).unwrap();
        target.set_position(8);
        assert_eq!(target.read_object(), None, "what is overwritten is gone");
    }

    #[test]
    fn a_range_that_is_not_there_is_not_appended() {
        let mut data = Data::<()>::new();
        let other = Data::new();
        assert_eq!(data.append(&other, 0, 4), Err(Full));
        assert_eq!(data.append(&other, usize::MAX, 4), Err(Full));
    }
}
