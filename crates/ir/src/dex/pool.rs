// SPDX-License-Identifier: Apache-2.0
//! [`Pool`]: writes the constant pool of a class file; [`Bytes`]: its big-endian values.

use std::collections::HashMap;

/// Big-endian output.
#[derive(Default)]
pub(super) struct Bytes(pub(super) Vec<u8>);

impl Bytes {
    pub(super) fn u8(&mut self, value: u8) -> &mut Self {
        self.0.push(value);
        self
    }

    pub(super) fn u16(&mut self, value: u16) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub(super) fn u32(&mut self, value: u32) -> &mut Self {
        self.0.extend(value.to_be_bytes());
        self
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend(bytes);
        self
    }
}

/// Constants, each once. Whether they fit is asked at the end.
pub(super) struct Pool {
    bytes: Vec<u8>,
    indices: HashMap<Vec<u8>, u16>,
    next: u32,
    has_long_text: bool,
}

const UTF8: u8 = 1;
const INTEGER: u8 = 3;
const FLOAT: u8 = 4;
const LONG: u8 = 5;
const DOUBLE: u8 = 6;
const CLASS: u8 = 7;
const STRING: u8 = 8;
const FIELD: u8 = 9;
const METHOD: u8 = 10;
const INTERFACE_METHOD: u8 = 11;
const NAME_AND_TYPE: u8 = 12;
const METHOD_HANDLE: u8 = 15;
const METHOD_TYPE: u8 = 16;
const INVOKE_DYNAMIC: u8 = 18;

impl Pool {
    pub(super) fn new() -> Self {
        Self {
            bytes: Vec::new(),
            indices: HashMap::new(),
            next: 1,
            has_long_text: false,
        }
    }

    fn entry(&mut self, tag: u8, payload: &[u8]) -> u16 {
        let mut bytes = vec![tag];
        bytes.extend(payload);
        if let Some(&index) = self.indices.get(&bytes) {
            return index;
        }
        let index = self.append(&bytes);
        self.indices.insert(bytes, index);
        index
    }

    fn append(&mut self, entry: &[u8]) -> u16 {
        let index = self.next as u16;
        self.next += if matches!(entry[0], LONG | DOUBLE) {
            2
        } else {
            1
        };
        self.bytes.extend(entry);
        index
    }

    fn pair(&mut self, tag: u8, first: u16, second: u16) -> u16 {
        let mut payload = Bytes::default();
        payload.u16(first).u16(second);
        self.entry(tag, &payload.0)
    }

    pub(super) fn utf8(&mut self, text: &[u8]) -> u16 {
        let Ok(size) = u16::try_from(text.len()) else {
            self.has_long_text = true;
            return 0;
        };
        let mut payload = Bytes::default();
        payload.u16(size).bytes(text);
        self.entry(UTF8, &payload.0)
    }

    /// A class or array type by its descriptor.
    pub(super) fn class(&mut self, descriptor: &[u8]) -> u16 {
        let name = match descriptor {
            [b'L', name @ .., b';'] => name,
            array => array,
        };
        let name = self.utf8(name);
        self.entry(CLASS, &name.to_be_bytes())
    }

    pub(super) fn string(&mut self, text: &[u8]) -> u16 {
        let text = self.utf8(text);
        self.entry(STRING, &text.to_be_bytes())
    }

    pub(super) fn integer(&mut self, value: i32) -> u16 {
        self.entry(INTEGER, &value.to_be_bytes())
    }

    pub(super) fn float(&mut self, value: f32) -> u16 {
        self.entry(FLOAT, &value.to_bits().to_be_bytes())
    }

    pub(super) fn long(&mut self, value: i64) -> u16 {
        self.entry(LONG, &value.to_be_bytes())
    }

    pub(super) fn double(&mut self, value: f64) -> u16 {
        self.entry(DOUBLE, &value.to_bits().to_be_bytes())
    }

    pub(super) fn name_and_type(&mut self, name: &[u8], descriptor: &[u8]) -> u16 {
        let (name, descriptor) = (self.utf8(name), self.utf8(descriptor));
        self.pair(NAME_AND_TYPE, name, descriptor)
    }

    pub(super) fn field(&mut self, class: &[u8], name: &[u8], descriptor: &[u8]) -> u16 {
        let (class, rest) = (self.class(class), self.name_and_type(name, descriptor));
        self.pair(FIELD, class, rest)
    }

    pub(super) fn method(
        &mut self,
        class: &[u8],
        name: &[u8],
        descriptor: &[u8],
        is_interface: bool,
    ) -> u16 {
        let (class, rest) = (self.class(class), self.name_and_type(name, descriptor));
        let tag = if is_interface {
            INTERFACE_METHOD
        } else {
            METHOD
        };
        self.pair(tag, class, rest)
    }

    /// As [`Self::method`] of a class, but a constant that nobody else gets.
    pub(super) fn method_apart(&mut self, class: &[u8], name: &[u8], descriptor: &[u8]) -> u16 {
        let (class, rest) = (self.class(class), self.name_and_type(name, descriptor));
        let mut entry = Bytes::default();
        entry.u8(METHOD).u16(class).u16(rest);
        self.append(&entry.0)
    }

    pub(super) fn method_handle(&mut self, kind: u8, member: u16) -> u16 {
        let mut payload = Bytes::default();
        payload.u8(kind).u16(member);
        self.entry(METHOD_HANDLE, &payload.0)
    }

    pub(super) fn method_type(&mut self, descriptor: &[u8]) -> u16 {
        let descriptor = self.utf8(descriptor);
        self.entry(METHOD_TYPE, &descriptor.to_be_bytes())
    }

    pub(super) fn invoke_dynamic(&mut self, bootstrap: u16, name: &[u8], descriptor: &[u8]) -> u16 {
        let rest = self.name_and_type(name, descriptor);
        self.pair(INVOKE_DYNAMIC, bootstrap, rest)
    }

    /// Count and constants, if a class file can hold them.
    pub(super) fn finish(self) -> Result<Vec<u8>, String> {
        if self.has_long_text {
            return Err("a string of more than 65535 bytes".into());
        }
        let count = u16::try_from(self.next)
            .map_err(|_| format!("{} constants in one class, 65534 at most", self.next))?;
        let mut bytes = count.to_be_bytes().to_vec();
        bytes.extend(self.bytes);
        Ok(bytes)
    }
}
