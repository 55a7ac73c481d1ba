// SPDX-License-Identifier: Apache-2.0
//! What the tables of identifiers hold: prototypes, fields, methods and method handles.
//!
//! Each names others by their index. [`crate::DexFile`] reads them, and knows the tables.

/// A method's parameters and result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtoId<'a> {
    /// Index of its short form.
    pub shorty: u32,
    /// Type index of the result.
    pub return_type: u32,
    /// Type indices of the parameters.
    pub parameters: TypeList<'a>,
}

/// A field, anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldId {
    /// Type index of the class.
    pub class: u32,
    /// Type index of the field.
    pub kind: u32,
    /// String index of the name.
    pub name: u32,
}

/// A method, anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodId {
    /// Type index of the class.
    pub class: u32,
    /// Index of the proto.
    pub proto: u32,
    /// String index of the name.
    pub name: u32,
}

/// What a method handle does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
#[expect(missing_docs, reason = "the specification describes each by this name")]
pub enum MethodHandleKind {
    StaticPut = 0,
    StaticGet,
    InstancePut,
    InstanceGet,
    InvokeStatic,
    InvokeInstance,
    InvokeConstructor,
    InvokeDirect,
    InvokeInterface,
}

impl MethodHandleKind {
    pub(crate) fn of(number: u16) -> Option<Self> {
        use MethodHandleKind as It;
        let all = [
            It::StaticPut,
            It::StaticGet,
            It::InstancePut,
            It::InstanceGet,
            It::InvokeStatic,
            It::InvokeInstance,
            It::InvokeConstructor,
            It::InvokeDirect,
            It::InvokeInterface,
        ];
        all.get(usize::from(number)).copied()
    }

    /// Does it read or write a field?
    pub fn is_accessor(self) -> bool {
        (self as u16) < Self::InvokeStatic as u16
    }
}

/// A method handle: `target` is a field for accessors, else a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodHandle {
    /// What it does.
    pub kind: MethodHandleKind,
    /// Field or method index.
    pub target: u32,
}

/// A list of type indices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TypeList<'a> {
    pub(crate) bytes: &'a [u8],
}

impl TypeList<'_> {
    /// How many.
    pub fn len(&self) -> usize {
        self.bytes.len() / 2
    }

    /// None at all?
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The type indices in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.bytes
            .chunks_exact(2)
            .map(|it| u32::from(u16::from_le_bytes([it[0], it[1]])))
    }
}
