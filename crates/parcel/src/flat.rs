// SPDX-License-Identifier: Apache-2.0
//! [`FlatObject`]: what stands in a parcel's bytes for a binder or a file descriptor; the kernel's
//! `flat_binder_object`.

/// Bytes of a flat object.
pub(crate) const FLAT_BYTES: usize = 24;
/// Of a binder: a flat object and the stability word behind it.
pub(crate) const BINDER_BYTES: usize = FLAT_BYTES + 4;

/// Bits of [`FlatObject::flags`], as Android's kernels read them.
pub mod flags {
    /// The lowest priority that serves the node: a nice value or a real-time priority.
    pub const PRIORITY_MASK: u32 = 0xff;
    /// The node takes file descriptors.
    pub const ACCEPTS_FDS: u32 = 0x100;
    /// The scheduling class that belongs to the priority.
    pub const POLICY_MASK: u32 = 3 << 9;
    /// The node runs at a real-time caller's priority.
    pub const INHERIT_RT: u32 = 0x800;
}

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A node of the process that wrote it.
    Binder,
    /// The same, by a weak reference.
    WeakBinder,
    /// A node of another process, by the number that the writer knows it by.
    Handle,
    /// The same, by a weak reference.
    WeakHandle,
    /// A file descriptor.
    Fd,
}

impl Kind {
    const ALL: [Self; 5] = [
        Self::Binder,
        Self::WeakBinder,
        Self::Handle,
        Self::WeakHandle,
        Self::Fd,
    ];

    /// The kernel's type word: three characters and 0x85.
    fn word(self) -> u32 {
        let name = match self {
            Self::Binder => b"sb*",
            Self::WeakBinder => b"wb*",
            Self::Handle => b"sh*",
            Self::WeakHandle => b"wh*",
            Self::Fd => b"fd*",
        };
        u32::from_be_bytes([name[0], name[1], name[2], 0x85])
    }

    /// Whether the object is named by 32 bits.
    fn is_numbered(self) -> bool {
        matches!(self, Self::Handle | Self::WeakHandle | Self::Fd)
    }
}

/// Which partitions of a system may speak with a binder; only [`Stability::System`] is made here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stability {
    /// None said: a null binder.
    Undeclared,
    /// Of the vendor's partition.
    Vendor,
    /// Of the system's partition.
    System,
    /// Kept stable between both.
    Vintf,
}

impl Stability {
    /// The word behind a flat binder.
    pub fn word(self) -> u32 {
        match self {
            Self::Undeclared => 0,
            Self::Vendor => 0b00_0011,
            Self::System => 0b00_1100,
            Self::Vintf => 0b11_1111,
        }
    }
}

/// Bytes that are no flat object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadFlat {
    /// The type word is none that a parcel may carry here.
    #[error("the type word {0:#x} is no binder and no file descriptor")]
    Kind(u32),
    /// A handle or a file descriptor is a number of 32 bits.
    #[error("the number {0:#x} has more than 32 bits")]
    Number(u64),
}

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlatObject {
    /// What it is.
    pub kind: Kind,
    /// Of a binder: [`flags`].
    pub flags: u32,
    /// Which one: the writer's number of a node, a handle, a descriptor.
    pub number: u64,
    /// What the writer adds.
    pub cookie: u64,
}

impl FlatObject {
    /// The null binder.
    pub const NULL: Self = Self {
        kind: Kind::Binder,
        flags: 0,
        number: 0,
        cookie: 0,
    };

    /// As it lies in a parcel.
    pub fn to_bytes(self) -> [u8; FLAT_BYTES] {
        let mut bytes = [0; FLAT_BYTES];
        bytes[..4].copy_from_slice(&self.kind.word().to_le_bytes());
        bytes[4..8].copy_from_slice(&self.flags.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.number.to_le_bytes());
        bytes[16..].copy_from_slice(&self.cookie.to_le_bytes());
        bytes
    }

    /// Reads what another process wrote.
    pub fn parse(bytes: &[u8; FLAT_BYTES]) -> Result<Self, BadFlat> {
        let (head, rest) = bytes.split_at(8);
        let (number, cookie) = rest.split_at(8);
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let long = |bytes: &[u8]| {
            bytes
                .iter()
                .rev()
                .fold(0, |sum, &it| sum << 8 | u64::from(it))
        };
        let kind = Kind::ALL.into_iter().find(|it| it.word() == word(0));
        let kind = kind.ok_or(BadFlat::Kind(word(0)))?;
        let number = long(number);
        if kind.is_numbered() && u32::try_from(number).is_err() {
            return Err(BadFlat::Number(number));
        }
        Ok(Self {
            kind,
            flags: word(4),
            number,
            cookie: long(cookie),
        })
    }

    /// Whether it is the null binder.
    pub fn is_null(&self) -> bool {
        self.kind == Kind::Binder && self.number == 0 && self.cookie == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_words_are_the_kernels() {
        let words = Kind::ALL.map(Kind::word);
        assert_eq!(
            words,
            [
                0x7362_2a85,
                0x7762_2a85,
                0x7368_2a85,
                0x7768_2a85,
                0x6664_2a85
            ]
        );
    }

    #[test]
    fn what_is_written_is_read() {
        for kind in Kind::ALL {
            let object = FlatObject {
                kind,
                flags: flags::ACCEPTS_FDS | flags::INHERIT_RT,
                number: 7,
                cookie: u64::MAX - 1,
            };
            assert_eq!(FlatObject::parse(&object.to_bytes()), Ok(object));
        }
    }

    #[test]
    fn a_wide_handle_and_an_unknown_type_are_refused() {
        let wide = FlatObject {
            kind: Kind::Handle,
            number: 1 << 32,
            ..FlatObject::NULL
        };
        assert_eq!(
            FlatObject::parse(&wide.to_bytes()),
            Err(BadFlat::Number(1 << 32))
        );
        // A pointer to a buffer (`pt*`) is for the driver alone.
        let mut bytes = FlatObject::NULL.to_bytes();
        bytes[..4].copy_from_slice(&0x7074_2a85_u32.to_le_bytes());
        assert_eq!(FlatObject::parse(&bytes), Err(BadFlat::Kind(0x7074_2a85)));
    }
}
