// SPDX-License-Identifier: Apache-2.0
//! [`Linker`]: what compiled code is told about classes and members.

use std::fmt;
use std::rc::Rc;

use ir::{Function, InvokeKind, LoadedConstant, MemoryKind};

use crate::{Heat, Intrinsic};

/// An address by number: code names it, and its installer puts the address there. So code
/// can be kept for another process, where the same things lie elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address(pub u32);

/// How a field is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FieldLink {
    /// At an offset in the object.
    Instance {
        /// From the object's start.
        offset: u32,
        /// Accesses are volatile.
        is_volatile: bool,
        /// The object has a log word per chunk.
        is_chunked: bool,
    },
    /// A reference object's referent, at this offset: the collector may be about to clear it.
    Referent(u32),
    /// In the class object of an initialised class.
    Static {
        /// The object that holds it.
        object: Address,
        /// From the object's start.
        offset: u32,
        /// Accesses are volatile.
        is_volatile: bool,
        /// The object has a log word per chunk.
        is_chunked: bool,
    },
    /// Not known yet. Cell of an instance field: its offset and flag; of a
    /// static field the same, with the class object in the extra word.
    Site(Address),
}

/// How an object's class is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SubtypeTest {
    /// A class with a place in the display.
    Display(u32),
    /// An interface by id.
    Interface(Address),
    /// A final class: equal or not.
    Exact,
    /// Ask the runtime unless equal.
    Ask,
}

/// How a class is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClassLink {
    /// Its record.
    Resolved(Address, SubtypeTest),
    /// Cell: its record.
    Site(Address),
}

/// How instances are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NewLink {
    /// Of an initialised class without finaliser.
    Resolved {
        /// Class record.
        class: Address,
        /// Bytes of an instance.
        bytes: u32,
        /// Instances have a log word per chunk.
        is_chunked: bool,
    },
    /// Through the runtime: the record of an initialised class.
    Runtime(Address),
    /// Cell: its record.
    Site(Address),
}

/// How a constant is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConstantLink {
    /// An immortal object.
    Reference(Address),
    /// Cell: non-zero when resolved; the value is in the extra word.
    Site(Address),
}

/// Offsets on the way from a method handle to the method it runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HandleLayout {
    /// `MethodHandle.form`
    pub form: u32,
    /// `LambdaForm.vmentry`
    pub vmentry: u32,
    /// `MemberName.method`
    pub method: u32,
    /// `ResolvedMethodName.vmtarget`, the method record (64 bits)
    pub vmtarget: u32,
    /// `MemberName.vmindex`, a vtable offset (64 bits)
    pub vmindex: u32,
}

/// How a call finds its callee.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MethodLink {
    /// A method record.
    Direct(Address),
    /// Code instead of a call.
    Intrinsic(Intrinsic, Address),
    /// By the receiver's vtable: offset from the class record.
    Virtual(u32),
    /// By the receiver's interface table.
    Interface {
        /// The interface's id.
        id: Address,
        /// The method's place among the interface's.
        place: u32,
        /// Its record, for receivers that do not implement the interface.
        method: Address,
    },
    /// Cell: method record.
    Site(Address),
    /// Cell: method record; extra word: an argument to append unless null.
    Appending(Address),
    /// `MethodHandle.invokeBasic`.
    InvokeBasic(HandleLayout),
    /// `MethodHandle.linkTo…`: the last argument is the member.
    LinkTo(InvokeKind, HandleLayout),
}

/// What stands in place of a call.
pub struct Body {
    /// Its number: bodies are counted from 1 in the order in which they are entered.
    pub scope: u16,
    /// What it does.
    pub function: Rc<Function>,
    /// It can neither throw nor call, nor has it branches.
    pub is_straight: bool,
}

/// The callee of a receiver whose class is known, or likely.
pub struct Received {
    /// Its record.
    pub method: Address,
    /// What may stand in place of the call; entered.
    pub body: Option<Body>,
}

/// What is known of a call's receivers by having counted them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Nothing, and nobody counts.
    Unknown,
    /// They are to be counted: in the next of the code's cells (`profile_cell`), which lie here.
    Count(Address),
    /// Most are of this class, of the class record.
    Likely(Address),
}

/// Questions asked while a method is lowered. Indices are the IR's. Answers
/// must stay true for ever: code is not patched.
pub trait Linker {
    /// A field to read.
    fn field(&mut self, index: u32, is_static: bool) -> FieldLink;
    /// A field to write: one that may not be written is resolved to an error.
    fn written_field(&mut self, index: u32, is_static: bool) -> FieldLink;
    /// A class for a cast or test.
    fn class(&mut self, index: u32) -> ClassLink;
    /// A class for instances.
    fn new_object(&mut self, index: u32) -> NewLink;
    /// The class of arrays whose elements are of the class at `index`.
    fn array_of(&mut self, index: u32) -> ClassLink;
    /// The record of a class of primitive arrays.
    fn primitive_array(&mut self, kind: MemoryKind) -> Address;
    /// A loadable constant.
    fn constant(&mut self, constant: LoadedConstant, index: u32) -> ConstantLink;
    /// The class object of the method's class.
    fn own_class(&mut self) -> Address;
    /// A callee.
    fn method(&mut self, kind: InvokeKind, index: u32) -> MethodLink;
    /// The body of a callee that may stand in place of its call, which runs so often. Indices are
    /// the callee's until [`Self::leave`].
    fn enter(&mut self, kind: InvokeKind, index: u32, heat: Heat) -> Option<Body>;
    /// The likely callee of a virtual call: its record, and its body as [`Self::enter`] gives it.
    fn guess(&mut self, index: u32, heat: Heat) -> Option<(Address, Body)>;
    /// The class that a field holds objects of, as far as its own class's constructors say. The
    /// constant is of body `scope`.
    fn field_class(&mut self, scope: u16, index: u32, is_static: bool) -> Option<Address>;
    /// The callee of a virtual or interface call whose receiver is of `class`, which
    /// [`Self::new_object`], [`Self::field_class`] or [`Self::profile`] gave. A body is entered as
    /// by [`Self::enter`].
    fn received(&mut self, call: (InvokeKind, u32), class: Address, heat: Heat)
    -> Option<Received>;
    /// Which receivers a virtual or interface call has. Its place comes first, then those of the
    /// calls around it that bodies stand for.
    fn profile(&mut self, call: (InvokeKind, u32), places: &[u32]) -> Profile;
    /// Indices are the caller's again.
    fn leave(&mut self);
    /// A computed call site, as in [`MethodLink::Appending`].
    fn call_site(&mut self, index: u32) -> Address;
    /// Whether the method runs once and no more: its code need not be good, if it has no loop.
    fn runs_once(&self) -> bool {
        false
    }
    /// What the method is by now, for those who want to read it: IR, or Cranelift's form.
    fn show(&mut self, _stage: &str, _text: &dyn fmt::Display) {}
}

/// A native method to be bridged.
#[derive(Clone, Debug)]
pub struct NativeMethod {
    /// Its record.
    pub method: Address,
    /// The class object for a static method.
    pub class: Option<Address>,
    /// Parameters behind the receiver.
    pub parameters: Vec<MemoryKind>,
    /// The result.
    pub result: Option<MemoryKind>,
    /// Holds its receiver's or class's monitor.
    pub is_synchronized: bool,
    /// `Object.hashCode` or `System.identityHashCode`: its code calls no native code.
    pub is_identity_hash: bool,
}
