// SPDX-License-Identifier: Apache-2.0
//! What each instruction asks of references, and which it makes.

use classfile::{FieldType, MethodDescriptor};

use super::flow::{Checker, Result};
use super::state::{Content, Interner, TypeId, array_of, name_of};
use super::{Hierarchy, MemberRef, Names, ReferenceError};
use crate::{InvokeKind, LoadedConstant, MemoryKind, Op, Reg, Type};

impl<N: Names, H: Hierarchy> Checker<'_, N, H> {
    /// One instruction; `number` names the object it makes, if it is a `New`.
    pub(super) fn inst(&mut self, op: &Op, number: u64) -> Result<(), H> {
        match op {
            Op::GetField { .. }
            | Op::PutField { .. }
            | Op::GetStatic { .. }
            | Op::PutStatic { .. } => self.field(op),
            Op::ArrayLength { .. }
            | Op::ArrayLoad { .. }
            | Op::ArrayStore { .. }
            | Op::FillArray { .. } => self.array(op),
            Op::New { .. }
            | Op::NewPrimitiveArray { .. }
            | Op::NewArray { .. }
            | Op::NewMultiArray { .. } => self.allocation(op, number),
            Op::Invoke {
                kind,
                dst,
                index,
                args,
            } => self.invoke(*kind, *dst, *index, args),
            Op::InvokeDynamic { dst, index, args } => {
                let names = self.names;
                let descriptor = self.entry(names.call_site(*index))?;
                self.call(&descriptor, *dst, args)
            }
            Op::Load {
                dst,
                constant,
                index,
            } => self.load(*dst, *constant, *index),
            Op::Null { dst } => {
                self.set(*dst, Content::Null);
                Ok(())
            }
            Op::OwnClass { dst } => self.set_class(*dst, b"java/lang/Class"),
            Op::Caught { dst } => {
                self.set(*dst, Content::of(Interner::THROWABLE));
                Ok(())
            }
            Op::Move { dst, src } if self.function.type_of(*src) == Type::Ref => {
                let content = self.get(*src);
                if content == Content::Unusable {
                    return self.wrong("a reference that is not the same on every path is read");
                }
                self.set(*dst, content);
                Ok(())
            }
            Op::CheckCast { object, index } => {
                self.initialized(*object)?;
                let class = self.class(*index)?;
                self.set(*object, Content::of(class));
                Ok(())
            }
            Op::InstanceOf { object, index, .. } => {
                self.initialized(*object)?;
                self.class(*index).map(drop)
            }
            Op::Throw { src } => self.expect(*src, Interner::THROWABLE),
            Op::Return { src } => self.result(*src),
            _ => Ok(()),
        }
    }

    fn entry<T>(&self, found: Option<T>) -> Result<T, H> {
        match found {
            Some(found) => Ok(found),
            None => self.wrong("wrong kind of constant"),
        }
    }

    fn class(&mut self, index: u32) -> Result<TypeId, H> {
        let names = self.names;
        let name = self.entry(names.class(index))?;
        Ok(self.types.id(&name))
    }

    fn set_class(&mut self, dst: Reg, name: &[u8]) -> Result<(), H> {
        let class = self.types.id(name);
        self.set(dst, Content::of(class));
        Ok(())
    }

    /// Gives `dst` a value of a field or method.
    fn set_value(&mut self, dst: Reg, ty: &FieldType<'_>) -> Result<(), H> {
        match name_of(ty) {
            Some(name) => self.set_class(dst, name),
            None => Ok(()),
        }
    }

    fn field_type<'d>(&self, descriptor: &'d [u8]) -> Result<FieldType<'d>, H> {
        self.entry(FieldType::parse(descriptor).ok())
    }

    fn initialized(&self, reg: Reg) -> Result<Content, H> {
        let content = self.get(reg);
        match content {
            _ if content.is_initialized() => Ok(content),
            Content::Unusable => {
                self.wrong("a reference that is not the same on every path is read")
            }
            _ => self.wrong("an object is used before its constructor was called"),
        }
    }

    /// `reg` must hold null or a `class`.
    fn expect(&mut self, reg: Reg, class: TypeId) -> Result<(), H> {
        let Content::OneOf(classes) = self.initialized(reg)? else {
            return Ok(());
        };
        for &from in classes.iter() {
            if !self.is_assignable(from, class)? {
                let parts = self.types.parts(from).join(&b" and "[..]);
                let names = [&parts, self.types.name(class)].map(String::from_utf8_lossy);
                let what = format!("'{}' where '{}' is expected", names[0], names[1]);
                return self.wrong(what);
            }
        }
        Ok(())
    }

    fn expect_named(&mut self, reg: Reg, name: &[u8]) -> Result<(), H> {
        let class = self.types.id(name);
        self.expect(reg, class)
    }

    fn is_assignable(&mut self, from: TypeId, to: TypeId) -> Result<bool, H> {
        if from == to || to == Interner::OBJECT {
            return Ok(true);
        }
        if let Some(&known) = self.assignable.get(&(from, to)) {
            return Ok(known);
        }
        let (from_name, to_name) = (self.types.name(from), self.types.name(to));
        let answer = match (element_of(from_name), element_of(to_name)) {
            _ if self.types.is_of_several(from) => self.is_part_assignable(from, to)?,
            (Some(_), None) => {
                matches!(to_name, b"java/lang/Cloneable" | b"java/io/Serializable")
            }
            (None, Some(_)) => false,
            (None, None) => self
                .is_class_assignable(from, to)
                .map_err(ReferenceError::Hierarchy)?,
            (Some(Element::Class(from)), Some(Element::Class(to))) => {
                let (from, to) = (from.to_vec(), to.to_vec());
                let (from, to) = (self.types.id(&from), self.types.id(&to));
                self.is_assignable(from, to)?
            }
            (Some(from), Some(to)) => from == to,
        };
        self.assignable.insert((from, to), answer);
        Ok(answer)
    }

    /// Of an object that is of several classes, arrays among them, one must do.
    fn is_part_assignable(&mut self, from: TypeId, to: TypeId) -> Result<bool, H> {
        for part in self.types.parts(from) {
            let part = self.types.id(&part);
            let is_array = element_of(self.types.name(part)).is_some();
            if part == to || (is_array && self.is_assignable(part, to)?) {
                return Ok(true);
            }
        }
        if element_of(self.types.name(to)).is_some() {
            return Ok(false);
        }
        self.is_class_assignable(from, to)
            .map_err(ReferenceError::Hierarchy)
    }

    /// Of an object that is of several classes one must do. Only if none is known to do, something
    /// is assumed of one that is not there.
    fn is_class_assignable(
        &mut self,
        from: TypeId,
        to: TypeId,
    ) -> core::result::Result<bool, H::Error> {
        let (mut parts, to) = (self.types.parts(from), self.types.name(to));
        parts.retain(|part| element_of(part).is_none());
        if parts.len() > 1 {
            for part in &parts {
                if self.hierarchy.is_known_assignable(part, to)? {
                    return Ok(true);
                }
            }
        }
        for part in &parts {
            if self.hierarchy.is_assignable(part, to)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn field(&mut self, op: &Op) -> Result<(), H> {
        let (Op::GetField { index, .. }
        | Op::PutField { index, .. }
        | Op::GetStatic { index, .. }
        | Op::PutStatic { index, .. }) = op
        else {
            unreachable!("only instructions of fields come here")
        };
        let names = self.names;
        let member = self.entry(names.field(*index))?;
        let ty = self.field_type(&member.descriptor)?;
        match op {
            Op::GetField { dst, object, .. } => {
                self.holder(*object, &member, false)?;
                self.set_value(*dst, &ty)
            }
            Op::PutField { object, src, .. } => {
                // Before it calls another constructor, a constructor may set fields of its own
                // class.
                let is_early =
                    self.get(*object) == Content::NewThis && *member.class == *self.subject.class;
                if !is_early {
                    self.holder(*object, &member, false)?;
                }
                self.value(*src, &ty)
            }
            Op::GetStatic { dst, .. } => self.set_value(*dst, &ty),
            Op::PutStatic { src, .. } => self.value(*src, &ty),
            _ => Ok(()),
        }
    }

    /// `src` is stored or passed as a `ty`.
    fn value(&mut self, src: Reg, ty: &FieldType<'_>) -> Result<(), H> {
        match name_of(ty) {
            Some(name) => self.expect_named(src, name),
            None => Ok(()),
        }
    }

    /// The object of a field access or call, protected members included.
    fn holder(&mut self, object: Reg, member: &MemberRef<'_>, is_method: bool) -> Result<(), H> {
        self.expect_named(object, &member.class)?;
        let asked = self.hierarchy.is_protected_elsewhere(member, is_method);
        if !asked.map_err(ReferenceError::Hierarchy)? {
            return Ok(());
        }
        // Arrays have a public clone().
        if let Content::OneOf(classes) = self.get(object) {
            let is_array = |id: &TypeId| {
                let mut parts = self.types.parts(*id).into_iter();
                parts.any(|it| it.starts_with(b"["))
            };
            if *member.name == *b"clone" && classes.iter().all(is_array) {
                return Ok(());
            }
        }
        self.expect_named(object, self.subject.class)
    }

    fn array(&mut self, op: &Op) -> Result<(), H> {
        let (Op::ArrayLength { array, .. }
        | Op::ArrayLoad { array, .. }
        | Op::ArrayStore { array, .. }
        | Op::FillArray { array, .. }) = op
        else {
            unreachable!("only instructions of arrays come here")
        };
        let classes = match self.initialized(*array)? {
            Content::OneOf(classes) => classes,
            _ => [].into(),
        };
        let kind = match op {
            Op::ArrayLoad { kind, .. }
            | Op::ArrayStore { kind, .. }
            | Op::FillArray { kind, .. } => Some(*kind),
            _ => None,
        };
        let mut loaded = Content::Null;
        for &class in classes.iter() {
            match self.element(class, kind) {
                Some(element) => loaded.join(&element),
                None => {
                    let name = self.types.parts(class).join(&b" and "[..]);
                    let name = String::from_utf8_lossy(&name);
                    return self.wrong(format!("'{name}' where another array is expected"));
                }
            };
        }
        match op {
            Op::ArrayLoad { dst, kind, .. } if *kind == MemoryKind::Ref => self.set(*dst, loaded),
            Op::ArrayStore { src, kind, .. } if *kind == MemoryKind::Ref => {
                self.initialized(*src)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// What an array of this class holds, null for what is no reference; `None` if it is no array
    /// of the kind. An object of several classes holds what all arrays of them do.
    fn element(&mut self, class: TypeId, kind: Option<MemoryKind>) -> Option<Content> {
        let mut found: Option<Content> = None;
        for part in self.types.parts(class) {
            let element = match (element_of(&part), kind) {
                (None, _) => continue,
                (Some(_), None) => Content::Null,
                (Some(Element::Class(element)), Some(MemoryKind::Ref)) => {
                    let element = self.types.id(element);
                    match &found {
                        Some(content) => self.types.tested(content, element),
                        None => Content::of(element),
                    }
                }
                (Some(Element::Primitive(code)), Some(kind)) if is_kind(code, kind) => {
                    Content::Null
                }
                _ => continue,
            };
            found = Some(element);
        }
        found
    }

    fn allocation(&mut self, op: &Op, number: u64) -> Result<(), H> {
        let names = self.names;
        match op {
            Op::New { dst, index } => {
                let class = self.class(*index)?;
                if self.types.name(class).starts_with(b"[") {
                    return self.wrong("'new' of an array");
                }
                // An older object from here can no longer be told from this one.
                self.replace(&Content::New(number), &Content::Unusable);
                self.news.insert(number, class);
                self.set(*dst, Content::New(number));
                Ok(())
            }
            Op::NewPrimitiveArray { dst, kind, .. } => {
                let code = primitive_code(*kind);
                self.set_class(*dst, &[b'[', code])
            }
            Op::NewArray { dst, index, .. } => {
                let element = self.entry(names.class(*index))?;
                self.set_class(*dst, &array_of(&element))
            }
            Op::NewMultiArray {
                dst,
                lengths,
                index,
            } => {
                let name = self.entry(names.class(*index))?;
                let dimensions = name.iter().take_while(|&&byte| byte == b'[').count();
                if dimensions < lengths.len() {
                    return self.wrong("more lengths than the array has dimensions");
                }
                self.set_class(*dst, &name)
            }
            _ => Ok(()),
        }
    }

    fn load(&mut self, dst: Reg, constant: LoadedConstant, index: u32) -> Result<(), H> {
        let names = self.names;
        match constant {
            LoadedConstant::String => self.set_class(dst, b"java/lang/String"),
            LoadedConstant::Class => self.set_class(dst, b"java/lang/Class"),
            LoadedConstant::Computed => {
                let descriptor = self.entry(names.computed(index))?;
                let ty = self.field_type(&descriptor)?;
                self.set_value(dst, &ty)
            }
        }
    }

    fn invoke(
        &mut self,
        kind: InvokeKind,
        dst: Option<Reg>,
        index: u32,
        args: &[Reg],
    ) -> Result<(), H> {
        let names = self.names;
        let member = self.entry(names.method(index))?;
        let has_receiver = kind != InvokeKind::Static;
        let (receiver, rest) = match args.split_first() {
            Some((&receiver, rest)) if has_receiver => (Some(receiver), rest),
            None if has_receiver => return self.wrong("a call without its receiver"),
            _ => (None, args),
        };
        let is_constructor = *member.name == *b"<init>";
        if let Some(receiver) = receiver.filter(|_| !is_constructor) {
            if kind == InvokeKind::Special {
                self.expect_named(receiver, self.subject.class)?;
            }
            self.holder(receiver, &member, true)?;
        }
        self.call(&member.descriptor, dst, rest)?;
        match receiver {
            Some(receiver) if is_constructor => self.construct(receiver, &member),
            _ => Ok(()),
        }
    }

    /// Arguments and result, by the descriptor.
    fn call(&mut self, descriptor: &[u8], dst: Option<Reg>, args: &[Reg]) -> Result<(), H> {
        let descriptor = self.entry(MethodDescriptor::parse(descriptor).ok())?;
        if descriptor.parameters.len() != args.len() {
            return self.wrong("a call with the wrong number of arguments");
        }
        for (parameter, &arg) in descriptor.parameters.iter().zip(args) {
            self.value(arg, parameter)?;
        }
        match dst {
            Some(dst) => self.set_value(dst, &descriptor.result),
            None => Ok(()),
        }
    }

    /// A constructor was called on `receiver`.
    fn construct(&mut self, receiver: Reg, member: &MemberRef<'_>) -> Result<(), H> {
        let before = self.get(receiver);
        let class = match before {
            Content::New(number) if self.types.name(self.news[&number]) == &*member.class => {
                let asked = self.hierarchy.is_protected_elsewhere(member, true);
                if asked.map_err(ReferenceError::Hierarchy)? {
                    return self.wrong("a protected constructor of another package's class");
                }
                self.news[&number]
            }
            Content::NewThis
                if *member.class == *self.subject.class
                    || Some(&*member.class) == self.subject.super_class =>
            {
                self.types.id(self.subject.class)
            }
            _ => return self.wrong("a constructor of another class, or of no new object"),
        };
        self.replace(&before, &Content::of(class));
        Ok(())
    }

    fn result(&mut self, src: Option<Reg>) -> Result<(), H> {
        if self.subject.name == b"<init>" && !self.state.this.is_initialized() {
            return self.wrong("a constructor returns before it has called another one");
        }
        let Ok(descriptor) = MethodDescriptor::parse(self.subject.descriptor) else {
            return self.wrong("malformed descriptor");
        };
        match src {
            Some(src) => self.value(src, &descriptor.result),
            None => Ok(()),
        }
    }
}

/// What an array holds.
#[derive(PartialEq, Eq)]
enum Element<'a> {
    /// Internal name of a class or array.
    Class(&'a [u8]),
    Primitive(u8),
}

fn element_of(array: &[u8]) -> Option<Element<'_>> {
    match array {
        [b'[', b'L', name @ .., b';'] => Some(Element::Class(name)),
        [b'[', inner @ ..] if inner.starts_with(b"[") => Some(Element::Class(inner)),
        [b'[', code] => Some(Element::Primitive(*code)),
        _ => None,
    }
}

/// `Byte` also serves boolean arrays (class files have one instruction for both).
fn is_kind(code: u8, kind: MemoryKind) -> bool {
    code == primitive_code(kind) || (code == b'Z' && kind == MemoryKind::Byte)
}

fn primitive_code(kind: MemoryKind) -> u8 {
    match kind {
        MemoryKind::Boolean => b'Z',
        MemoryKind::Byte => b'B',
        MemoryKind::Char => b'C',
        MemoryKind::Short => b'S',
        MemoryKind::Int => b'I',
        MemoryKind::Long => b'J',
        MemoryKind::Float => b'F',
        MemoryKind::Double => b'D',
        MemoryKind::Ref => b'L',
    }
}
