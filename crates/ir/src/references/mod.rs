// SPDX-License-Identifier: Apache-2.0
//! [`check_references`]: the classes of references, proven by data flow.
//!
//! [`verify`](crate::verify) proves that a register holds a reference; here is
//! proven of which class. Both front ends end in the same proof, so there is one
//! for class files of every version and for DEX. Types are inferred as in the
//! JVM specification, 4.10.2, with one difference: where paths meet, a register
//! keeps *all* classes it may have instead of their common superclass; and what a test with
//! `instanceof` says is added to what is known, as ART needs it. So no
//! class is loaded to merge, and each is asked for only where it is used.
//! Interfaces are treated as `Object`, as the specification does: calls through
//! them are checked when they run.

mod flow;
mod state;
mod uses;

use core::fmt;
use std::borrow::Cow;

use classfile::{ClassFile, access};

use crate::Function;

/// A field or method as the file names it; classes are internal names (`java/lang/String`, `[I`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberRef<'a> {
    /// The class it is looked up in.
    pub class: Cow<'a, [u8]>,
    /// Its name.
    pub name: Cow<'a, [u8]>,
    /// Its descriptor.
    pub descriptor: Cow<'a, [u8]>,
}

/// What a function's indices mean. `None`: the file has no such entry.
pub trait Names {
    /// The internal name of a class or array.
    fn class(&self, index: u32) -> Option<Cow<'_, [u8]>>;
    /// The field of a get or put.
    fn field(&self, index: u32) -> Option<MemberRef<'_>>;
    /// The callee of a call.
    fn method(&self, index: u32) -> Option<MemberRef<'_>>;
    /// The descriptor of a call site.
    fn call_site(&self, index: u32) -> Option<Cow<'_, [u8]>>;
    /// The descriptor of a computed constant.
    fn computed(&self, index: u32) -> Option<Cow<'_, [u8]>>;
}

/// What the check must ask about classes. May load them, and fail in that.
pub trait Hierarchy {
    /// Why a class could not be had.
    type Error;
    /// Whether each `from` is a `to`, or `to` is an interface. Neither is an array; the names
    /// differ.
    fn is_assignable(&mut self, from: &[u8], to: &[u8]) -> Result<bool, Self::Error>;
    /// As [`Self::is_assignable`], where nothing may be assumed of classes that are not there.
    fn is_known_assignable(&mut self, from: &[u8], to: &[u8]) -> Result<bool, Self::Error> {
        self.is_assignable(from, to)
    }
    /// Whether `member` is protected in a superclass of the own class and in another package.
    fn is_protected_elsewhere(
        &mut self,
        member: &MemberRef<'_>,
        is_method: bool,
    ) -> Result<bool, Self::Error>;
}

/// The method under proof.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Internal name of its class, as the file has it.
    pub class: &'a [u8],
    /// Internal name of the superclass; `None` for `java/lang/Object`.
    pub super_class: Option<&'a [u8]>,
    /// Its name.
    pub name: &'a [u8],
    /// Its descriptor.
    pub descriptor: &'a [u8],
    /// Whether it has no receiver.
    pub is_static: bool,
}

impl<'a> Subject<'a> {
    /// A method of a class file.
    pub fn of(class: &ClassFile<'a>, method: &classfile::Method<'a>) -> Self {
        Self {
            class: class.name,
            super_class: class.super_name,
            name: method.name,
            descriptor: method.descriptor,
            is_static: method.access & access::STATIC != 0,
        }
    }
}

/// Why a function was refused.
#[derive(Debug, PartialEq, Eq)]
pub enum ReferenceError<E> {
    /// It does not verify: offset and reason.
    Wrong(u32, String),
    /// A class that the proof needs could not be had.
    Hierarchy(E),
}

impl<E> fmt::Display for ReferenceError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wrong(at, what) => write!(f, "{what} at offset {at}"),
            Self::Hierarchy(_) => f.write_str("a class it refers to could not be loaded"),
        }
    }
}

/// Proves the classes of all references of a function that [`verify`](crate::verify) has passed.
///
/// Time is bounded by blocks × registers that live across blocks × classes a register may have.
pub fn check_references<N: Names, H: Hierarchy>(
    function: &Function,
    subject: &Subject<'_>,
    names: &N,
    hierarchy: &mut H,
) -> Result<(), ReferenceError<H::Error>> {
    flow::Checker::new(function, subject, names, hierarchy).run()
}

impl Names for classfile::ConstantPool<'_> {
    fn class(&self, index: u32) -> Option<Cow<'_, [u8]>> {
        self.class_name(index as u16).ok().map(Cow::Borrowed)
    }

    fn field(&self, index: u32) -> Option<MemberRef<'_>> {
        let member = self.member(index as u16).ok()?;
        Some(MemberRef {
            class: Cow::Borrowed(member.class),
            name: Cow::Borrowed(member.name),
            descriptor: Cow::Borrowed(member.descriptor),
        })
    }

    fn method(&self, index: u32) -> Option<MemberRef<'_>> {
        self.field(index)
    }

    fn call_site(&self, index: u32) -> Option<Cow<'_, [u8]>> {
        let (_, _, descriptor) = self.dynamic(index as u16).ok()?;
        Some(Cow::Borrowed(descriptor))
    }

    fn computed(&self, index: u32) -> Option<Cow<'_, [u8]>> {
        use classfile::Constant as C;
        Some(Cow::Borrowed(match self.get(index as u16).ok()? {
            C::MethodHandle(..) => b"Ljava/lang/invoke/MethodHandle;",
            C::MethodType(_) => b"Ljava/lang/invoke/MethodType;",
            C::Dynamic(..) => self.dynamic(index as u16).ok()?.2,
            _ => return None,
        }))
    }
}
