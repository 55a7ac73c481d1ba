// SPDX-License-Identifier: Apache-2.0
//! Compiling methods on their first call, and what the compiler asks.

use std::sync::atomic::Ordering;

use compiler::{
    ClassLink, ConstantLink, FieldLink, HandleLayout, Linker, MethodLink, NativeMethod, NewLink,
    SubtypeTest, class_record,
};
use ir::{InvokeKind, LoadedConstant, MemoryKind};

use crate::class::{Class, ClassKind, Method};
use crate::code_cache;
use crate::intrinsics;
use crate::known::{self, offset};
use crate::link;
use crate::object::ObjectRef;
use crate::report;
use crate::resolve;
use crate::site::{Site, SiteKind};
use crate::thread::{Thread, Thrown};

/// The code of `method`, compiled if this is its first call.
pub(crate) fn entry_of(thread: &Thread, method: &'static Method) -> Result<u64, Thrown> {
    if method.is_abstract() {
        let message = crate::message::abstract_method(method.class(), method);
        return Err(thread.throw("java/lang/AbstractMethodError", &message));
    }
    let started_ns = report::now_ns();
    let entry = if method.is_native() {
        native(method)
    } else {
        managed(thread, method)?
    };
    code_cache::COMPILE_NS.fetch_add(report::now_ns() - started_ns, Ordering::Relaxed);
    method.entry.store(entry, Ordering::Release);
    if crate::options::get().is_verbose_compile {
        report::compiled(method, entry);
    }
    Ok(entry)
}

fn managed(thread: &Thread, method: &'static Method) -> Result<u64, Thrown> {
    let class = method.class();
    let function = ir::bytecode::translate(&class.info.file, method.file()).map_err(|error| {
        let message = format!("{error} in {}", method.full_name());
        thread.throw("java/lang/VerifyError", &message)
    })?;
    let mut linker = Cx { thread, class };
    match code_cache::compile(method, &function, &mut linker) {
        Ok(entry) => Ok(entry),
        Err(error) => report::fatal(&format!("cannot compile {}: {error}", method.full_name())),
    }
}

fn native(method: &'static Method) -> u64 {
    let descriptor = classfile::MethodDescriptor::parse(method.descriptor.bytes());
    let descriptor = descriptor.expect("parsed with the file");
    let native = NativeMethod {
        method: method.address(),
        class: method.is_static().then(|| method.class().mirror().0),
        parameters: descriptor
            .parameters
            .iter()
            .filter_map(ir::bytecode::memory_kind)
            .collect(),
        result: ir::bytecode::memory_kind(&descriptor.result),
        is_synchronized: method.access & classfile::access::SYNCHRONIZED != 0,
    };
    match code_cache::compile_native(method, &native) {
        Ok(entry) => entry,
        Err(error) => report::fatal(&format!("cannot compile {}: {error}", method.full_name())),
    }
}

/// Answers for one method being compiled. Loads nothing and runs no Java code.
struct Cx<'a> {
    thread: &'a Thread,
    class: &'static Class,
}

impl Cx<'_> {
    fn site(&self, kind: SiteKind, index: u32) -> u64 {
        Site::of(self.class, kind, index).address()
    }

    /// Whether statics and instances of `class` may be used without asking.
    fn is_ready(&self, class: &'static Class) -> bool {
        class.is_initialized()
            || (core::ptr::eq(class, self.class) && class.is_being_initialized_here())
    }
}

/// Classes whose methods take any arguments: calls of them are linked apart.
const POLYMORPHIC: [&str; 2] = [
    "java/lang/invoke/MethodHandle",
    "java/lang/invoke/VarHandle",
];

impl Cx<'_> {
    /// Makes sure that a call of a polymorphic method is seen as one. Boot classes load without Java code.
    fn load_polymorphic(&self, index: u32) {
        let member = self.class.info.file.constants.member(index as u16);
        let holder = member.map(|member| member.class).unwrap_or_default();
        if let Some(name) = POLYMORPHIC.iter().find(|name| name.as_bytes() == holder) {
            self.thread.boot_class(name);
        }
    }
}

/// How to test for `class`.
fn test_for(class: &'static Class) -> SubtypeTest {
    if class.is_interface() {
        SubtypeTest::Interface(class.interface_id)
    } else if class.info.kind != ClassKind::Instance {
        SubtypeTest::Ask
    } else if class.is_final() {
        SubtypeTest::Exact
    } else if class.depth < class_record::DISPLAY_COUNT {
        SubtypeTest::Display(class.depth)
    } else {
        SubtypeTest::Ask
    }
}

impl Linker for Cx<'_> {
    fn field(&mut self, index: u32, is_static: bool) -> FieldLink {
        let kind = if is_static {
            SiteKind::Static
        } else {
            SiteKind::Field
        };
        let found = resolve::visible_field_at(self.class, index as u16, is_static);
        match found {
            Some((holder, field)) if !is_static => FieldLink::Instance {
                offset: field.offset,
                is_volatile: field.is_volatile(),
                is_chunked: holder.layout.is_chunked(0),
            },
            Some((holder, field)) if self.is_ready(holder) => FieldLink::Static {
                object: holder.statics().0,
                offset: field.offset,
                is_volatile: field.is_volatile(),
                is_chunked: is_chunked_statics(holder),
            },
            _ => FieldLink::Site(self.site(kind, index)),
        }
    }

    fn class(&mut self, index: u32) -> ClassLink {
        match resolve::visible_class_at(self.class, index as u16) {
            Some(class) => ClassLink::Resolved(class.address(), test_for(class)),
            None => ClassLink::Site(self.site(SiteKind::Class, index)),
        }
    }

    fn new_object(&mut self, index: u32) -> NewLink {
        let found = resolve::visible_class_at(self.class, index as u16);
        let ready = found.filter(|class| {
            self.is_ready(class) && class.info.kind == ClassKind::Instance && !class.is_abstract()
        });
        match ready {
            Some(class) if class.has_finalizer() => NewLink::Runtime(class.address()),
            Some(class) => NewLink::Resolved {
                class: class.address(),
                bytes: class.layout.bytes,
                is_chunked: class.layout.is_chunked(0),
            },
            None => NewLink::Site(self.site(SiteKind::New, index)),
        }
    }

    fn array_of(&mut self, index: u32) -> ClassLink {
        let element = resolve::visible_class_at(self.class, index as u16);
        match element.and_then(link::array_of_loaded) {
            Some(array) => ClassLink::Resolved(array.address(), SubtypeTest::Ask),
            None => ClassLink::Site(self.site(SiteKind::ArrayOf, index)),
        }
    }

    fn primitive_array(&mut self, kind: MemoryKind) -> u32 {
        let element = known::primitive_of(Some(kind));
        match link::array_of(self.thread, element) {
            Ok(array) => array.address(),
            Err(_) => report::fatal("no memory for the classes of primitive arrays"),
        }
    }

    fn constant(&mut self, constant: LoadedConstant, index: u32) -> ConstantLink {
        let kind = match constant {
            LoadedConstant::String => SiteKind::String,
            LoadedConstant::Class => SiteKind::Mirror,
            LoadedConstant::Computed => {
                return ConstantLink::Site(self.site(SiteKind::Computed, index));
            }
        };
        let visible = match constant {
            LoadedConstant::Class => {
                resolve::visible_class_at(self.class, index as u16).map(Class::mirror)
            }
            _ => None,
        };
        match visible.and_then(ObjectRef::some) {
            Some(object) => ConstantLink::Reference(object.0),
            None => ConstantLink::Site(self.site(kind, index)),
        }
    }

    fn own_class(&mut self) -> u32 {
        self.class.mirror().0
    }

    fn method(&mut self, kind: InvokeKind, index: u32) -> MethodLink {
        self.load_polymorphic(index);
        let Some(method) = resolve::visible_method_at(self.class, index as u16, kind) else {
            return MethodLink::Site(self.site(SiteKind::Method(kind), index));
        };
        if method.flags.is_signature_polymorphic {
            return polymorphic(method)
                .unwrap_or_else(|| MethodLink::Appending(self.site(SiteKind::Handle, index)));
        }
        if kind == InvokeKind::Static && !self.is_ready(method.class()) {
            return MethodLink::Site(self.site(SiteKind::Method(kind), index));
        }
        if let Some(intrinsic) = intrinsics::of(method) {
            return MethodLink::Intrinsic(intrinsic, method.address());
        }
        link_of(method, kind)
    }

    fn call_site(&mut self, index: u32) -> u64 {
        self.site(SiteKind::CallSite, index)
    }
}

fn link_of(method: &'static Method, kind: InvokeKind) -> MethodLink {
    let direct = MethodLink::Direct(method.address());
    if matches!(kind, InvokeKind::Static | InvokeKind::Special) || method.is_private() {
        return direct;
    }
    let is_final = method.access & classfile::access::FINAL != 0 || method.class().is_final();
    match method.vtable_offset() {
        Some(_) if is_final => direct,
        Some(offset) => MethodLink::Virtual(offset),
        None if method.class().is_interface() => MethodLink::Interface {
            id: method.class().interface_id,
            place: method.interface_place,
            method: method.address(),
        },
        None => direct,
    }
}

fn is_chunked_statics(holder: &'static Class) -> bool {
    let count = holder.info.fields.iter();
    let slots = count
        .filter(|f| f.is_static() && f.kind == MemoryKind::Ref)
        .count();
    slots > abi::object::SLOTS_PER_LOG_WORD as usize
}

/// `invokeBasic` and `linkTo…` are code; the others are linked by Java code.
fn polymorphic(method: &'static Method) -> Option<MethodLink> {
    let layout = handle_layout;
    Some(match method.name.bytes() {
        b"invokeBasic" => MethodLink::InvokeBasic(layout()),
        b"linkToStatic" => MethodLink::LinkTo(InvokeKind::Static, layout()),
        b"linkToSpecial" => MethodLink::LinkTo(InvokeKind::Special, layout()),
        b"linkToVirtual" => MethodLink::LinkTo(InvokeKind::Virtual, layout()),
        b"linkToInterface" => MethodLink::LinkTo(InvokeKind::Interface, layout()),
        _ => return None,
    })
}

fn handle_layout() -> HandleLayout {
    let class = |name: &str| {
        known::loaded(name).unwrap_or_else(|| report::fatal(&format!("{name} is not loaded")))
    };
    let member = class("java/lang/invoke/MemberName");
    HandleLayout {
        form: offset(class("java/lang/invoke/MethodHandle"), "form"),
        vmentry: offset(class("java/lang/invoke/LambdaForm"), "vmentry"),
        method: offset(member, "method"),
        vmtarget: offset(class("java/lang/invoke/ResolvedMethodName"), "$target"),
        vmindex: offset(member, "$index"),
    }
}
