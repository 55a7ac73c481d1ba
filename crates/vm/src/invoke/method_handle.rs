// SPDX-License-Identifier: Apache-2.0
//! Method handles and `invokedynamic`: the machine's half of java.lang.invoke.
//!
//! Member names are filled in here; everything else is the class library's:
//! five upcalls to `MethodHandleNatives` link what code asks for.

use classfile::{Constant, FieldType, access};
use ir::{InvokeKind, MemoryKind};

use crate::classes::class::{Class, Field, Method};
use crate::classes::known::{known, offset};
use crate::classes::library::Library;
use crate::classes::loader::loaded;
use crate::classes::object::ObjectRef;
use crate::invoke::reflect;
use crate::link::mirror;
use crate::link::resolve::{self, MethodReference, OnlyLoaded, Policy};
use crate::memory::symbol::Symbol;
use crate::objects::array;
use crate::objects::heap_binding;
use crate::objects::string;
use crate::threads::thread::{Holds, Thread, Thrown};

// Flags of `MemberName`.
const IS_METHOD: u32 = 0x0001_0000;
const IS_CONSTRUCTOR: u32 = 0x0002_0000;
const IS_FIELD: u32 = 0x0004_0000;
const CALLER_SENSITIVE: u32 = 0x0010_0000;
const TRUSTED_FINAL: u32 = 0x0020_0000;
const KIND_SHIFT: u32 = 24;

// Reference kinds.
const GET_FIELD: u32 = 1;
const GET_STATIC: u32 = 2;
const INVOKE_VIRTUAL: u32 = 5;
const INVOKE_STATIC: u32 = 6;
const INVOKE_SPECIAL: u32 = 7;
const NEW_INVOKE_SPECIAL: u32 = 8;
const INVOKE_INTERFACE: u32 = 9;

fn upcall(
    thread: &Thread,
    name: &str,
    descriptor: &str,
    args: &[u64],
) -> Result<ObjectRef, Thrown> {
    let natives = thread.boot_class("java/lang/invoke/MethodHandleNatives")?;
    natives.initialize(thread)?;
    match natives.method_named(name, descriptor) {
        Some(method) => thread
            .call(method, args)
            .map(|object| ObjectRef(object as u32)),
        None => crate::console::fatal(&format!("MethodHandleNatives has no {name}{descriptor}")),
    }
}

/// The `MethodType` of a descriptor, as `holder` sees its classes.
pub(crate) fn method_type(
    thread: &Thread,
    holder: &'static Class,
    descriptor: &[u8],
) -> Result<ObjectRef, Thrown> {
    let (parameters, result) = reflect::signature_of(thread, holder, descriptor)?;
    let parameters = reflect::class_array(thread, &parameters)?;
    let signature = "(Ljava/lang/Class;[Ljava/lang/Class;)Ljava/lang/invoke/MethodType;";
    upcall(
        thread,
        "findMethodHandleType",
        signature,
        &[result.0.into(), parameters.0.into()],
    )
}

/// Whether a computed call is one of those that javac makes of the language's own: what computes it
/// has no effect that a program could see.
pub(crate) fn is_by_class_library(class: &'static Class, index: u16) -> bool {
    const HOLDERS: [&[u8]; 3] = [
        b"java/lang/invoke/LambdaMetafactory",
        b"java/lang/invoke/StringConcatFactory",
        b"java/lang/runtime/ObjectMethods",
    ];
    let file = &class.info.file;
    let method = file
        .constants
        .dynamic(index)
        .ok()
        .map(|(method, ..)| method);
    let method = method.and_then(|method| file.bootstrap_methods.get(usize::from(method)));
    let handle = method.and_then(|method| file.constants.get(method.handle).ok());
    let Some(Constant::MethodHandle(_, member)) = handle else {
        return false;
    };
    let holder = file
        .constants
        .member(member)
        .ok()
        .map(|member| member.class);
    holder.is_some_and(|holder| HOLDERS.contains(&holder))
}

/// The method that a `MemberName` names, if `object` is one and has been resolved.
pub(crate) fn named_by(object: ObjectRef) -> Option<&'static Method> {
    let is_member = object.class().is(Library::MemberName);
    is_member.then(|| target_of(object)).flatten()
}

/// What a method handle, its form, a call site or a list of them is made of.
pub(crate) fn parts_of(object: ObjectRef) -> Vec<ObjectRef> {
    let class = object.class();
    let is_any = |names: &[&str]| {
        names
            .iter()
            .any(|name| loaded(name).is_some_and(|kind| class.is_subtype_of(kind)))
    };
    if class.is(Library::LambdaForm) {
        return vec![object.get_ref(offset(class, "vmentry"))];
    }
    if core::ptr::eq(class, known().object_array) {
        return object.ref_elements().collect();
    }
    let is_list = class.is(Library::List12) || class.is(Library::ListN);
    let has_parts =
        is_list || is_any(&["java/lang/invoke/MethodHandle", "java/lang/invoke/CallSite"]);
    let slots = if has_parts {
        &class.info.slots[..]
    } else {
        &[]
    };
    slots.iter().map(|&slot| object.get_ref(slot)).collect()
}

/// The method record that a resolved `MemberName` leads to.
pub(crate) fn target_of(member: ObjectRef) -> Option<&'static Method> {
    let resolved = member.get_ref(offset(member.class(), "method")).some()?;
    match resolved.get::<u64>(offset(resolved.class(), "$target")) {
        0 => None,
        address => Some(Method::at(address)),
    }
}

/// Whether calls of the method behind a resolved `MemberName` ask no table of the receiver's class.
pub(crate) fn is_called_directly(member: ObjectRef) -> bool {
    let flags: u32 = member.get(offset(member.class(), "flags"));
    matches!(
        flags >> KIND_SHIFT & 0xf,
        INVOKE_STATIC | INVOKE_SPECIAL | NEW_INVOKE_SPECIAL
    )
}

/// Fills a `MemberName` for a method, as a direct call of it would see it.
pub(crate) fn fill_member(
    thread: &Thread,
    member: ObjectRef,
    method: &'static Method,
) -> Result<(), Thrown> {
    let kind = if method.is_static() {
        INVOKE_STATIC
    } else if method.is_constructor() {
        NEW_INVOKE_SPECIAL
    } else if method.is_private() {
        INVOKE_SPECIAL
    } else if method.class().is_interface() {
        INVOKE_INTERFACE
    } else {
        INVOKE_VIRTUAL
    };
    set_method(thread, member, (method.class(), method), kind)
}

/// `holder` is the class that the name says declares it.
fn set_method(
    thread: &Thread,
    member: ObjectRef,
    (holder, method): (&'static Class, &'static Method),
    kind: u32,
) -> Result<(), Thrown> {
    let class = member.class();
    let what = if method.is_constructor() {
        IS_CONSTRUCTOR
    } else {
        IS_METHOD
    };
    let sensitive = if method.flags.is_caller_sensitive {
        CALLER_SENSITIVE
    } else {
        0
    };
    let flags = u32::from(method.access) | what | sensitive | (kind << KIND_SHIFT);
    let name_class = thread.boot_class("java/lang/invoke/ResolvedMethodName")?;
    name_class.initialize(thread)?;
    let resolved = heap_binding::new_object(thread, name_class)?;
    resolved.put(offset(name_class, "$target"), method.address());
    if let Some(holder) = name_class.field_named("vmholder") {
        resolved.put_ref(holder.offset, method.class().mirror());
    }
    member.put(offset(class, "flags"), flags);
    member.put_ref(offset(class, "method"), resolved);
    member.put_ref(offset(class, "clazz"), holder.mirror());
    member.put(
        offset(class, "$index"),
        u64::from(method.vtable_offset().unwrap_or(0)),
    );
    Ok(())
}

fn set_field(member: ObjectRef, holder: &'static Class, field: &Field, is_setter: bool) {
    let class = member.class();
    let kind = if field.is_static() {
        GET_STATIC
    } else {
        GET_FIELD
    } + if is_setter { 2 } else { 0 };
    let is_final = field.access & access::FINAL != 0;
    let is_trusted = is_final
        && (field.is_static() || holder.info.is_hidden || holder.info.file.record.is_some());
    let trusted = if is_trusted { TRUSTED_FINAL } else { 0 };
    let flags = u32::from(field.access) | IS_FIELD | trusted | (kind << KIND_SHIFT);
    member.put(offset(class, "flags"), flags);
    member.put_ref(offset(class, "clazz"), holder.mirror());
    member.put(offset(class, "$index"), u64::from(field.offset));
}

/// `MethodHandleNatives.init`: from a reflected member.
pub(crate) fn init(thread: &Thread, member: ObjectRef, from: ObjectRef) -> Result<(), Thrown> {
    let class = member.class();
    if from.class().is(Library::Field) {
        let (holder, field) = reflect::field_of(from);
        set_field(member, holder, field, false);
        member.put_ref(
            offset(class, "name"),
            from.get_ref(offset(from.class(), "name")),
        );
        member.put_ref(
            offset(class, "type"),
            from.get_ref(offset(from.class(), "type")),
        );
        return Ok(());
    }
    fill_member(thread, member, reflect::method_of(from))
}

/// Descriptor of a `MethodType`, a `Class`, or a string.
fn descriptor_of(ty: ObjectRef) -> String {
    if ty.class().is(Library::String) {
        return string::text(ty);
    }
    if ty.class().is(Library::Class) {
        return class_descriptor(mirror::class_of(ty));
    }
    let parameters = ty.get_ref(offset(ty.class(), "ptypes"));
    let result = ty.get_ref(offset(ty.class(), "rtype"));
    let parameters: String = parameters
        .ref_elements()
        .map(|p| class_descriptor(mirror::class_of(p)))
        .collect();
    format!(
        "({parameters}){}",
        class_descriptor(mirror::class_of(result))
    )
}

fn class_descriptor(class: &'static Class) -> String {
    match class.info.kind {
        crate::classes::class::ClassKind::Primitive(kind) => {
            crate::classes::class::primitive_code(kind).to_string()
        }
        crate::classes::class::ClassKind::Array => class.name().to_string(),
        crate::classes::class::ClassKind::Instance => format!("L{};", class.name()),
    }
}

/// `MethodHandleNatives.resolve`, for a caller whose rights count if there is one. Null when
/// nothing is found and `speculates`.
pub(crate) fn resolve_member(
    thread: &Thread,
    member: ObjectRef,
    caller: Option<&'static Class>,
    speculates: bool,
) -> Result<ObjectRef, Thrown> {
    let class = member.class();
    let flags: u32 = member.get(offset(class, "flags"));
    let kind = (flags >> KIND_SHIFT) & 0xf;
    let Some(holder) = member.get_ref(offset(class, "clazz")).some() else {
        return Err(thread.throw("java/lang/InternalError", "nothing to resolve"));
    };
    let holder = mirror::class_of(holder);
    let name = string::text(member.get_ref(offset(class, "name")));
    let descriptor = descriptor_of(member.get_ref(offset(class, "type")));
    let name = Symbol::new(name.as_bytes());
    let descriptor = Symbol::new(descriptor.as_bytes());
    if flags & IS_FIELD != 0 {
        return match resolve::find_field(holder, name, descriptor) {
            Some((owner, field)) => {
                set_field(member, owner, field, kind == 3 || kind == 4);
                Ok(member)
            }
            None if speculates => Ok(ObjectRef::NULL),
            None => Err(thread.throw("java/lang/NoSuchFieldError", &name.to_string())),
        };
    }
    let reference = MethodReference {
        holder,
        is_interface: holder.is_interface(),
        name,
        descriptor,
    };
    let found = match caller {
        // The library speculates often: no exception is made for that.
        None if speculates => find_method(OnlyLoaded, reference, caller, kind).ok(),
        _ => match find_method(thread, reference, caller, kind) {
            Err(_) if speculates => {
                thread.take_exception();
                None
            }
            found => Some(found?),
        },
    };
    match found {
        Some((method, kind)) => {
            // As on HotSpot: a class takes an interface's method for its own.
            let is_taken = kind == INVOKE_VIRTUAL && method.class().is_interface();
            let declares = if is_taken { holder } else { method.class() };
            set_method(thread, member, (declares, method), kind)?;
            Ok(member)
        }
        None => Ok(ObjectRef::NULL),
    }
}

/// The method and the kind of call it really takes.
fn find_method<P: Policy>(
    policy: P,
    reference: MethodReference,
    caller: Option<&'static Class>,
    kind: u32,
) -> Result<(&'static Method, u32), P::Refusal> {
    let absent = || {
        policy.refuse("java/lang/NoSuchMethodError", || {
            reference.text(reference.holder)
        })
    };
    let invoke = match kind {
        INVOKE_STATIC => InvokeKind::Static,
        INVOKE_SPECIAL | NEW_INVOKE_SPECIAL => InvokeKind::Special,
        INVOKE_INTERFACE => InvokeKind::Interface,
        _ => InvokeKind::Virtual,
    };
    let method = reference.find(policy, caller)?;
    let is_inherited = !core::ptr::eq(method.class(), reference.holder);
    let is_polymorphic = method.flags.is_signature_polymorphic;
    let is_other = method.is_static() != (invoke == InvokeKind::Static);
    if method.is_constructor() && is_inherited || is_polymorphic && is_other {
        return Err(absent());
    }
    reference.check_kind(policy, method, invoke)?;
    if kind == INVOKE_SPECIAL && method.is_abstract() {
        return Err(policy.refuse("java/lang/AbstractMethodError", || {
            reference.text(method.class())
        }));
    }
    let is_virtual = matches!(kind, INVOKE_VIRTUAL | INVOKE_INTERFACE);
    let real = if is_virtual && (method.is_private() || is_polymorphic) {
        INVOKE_SPECIAL
    } else if is_virtual && reference.is_interface && method.class().is_interface() {
        INVOKE_INTERFACE
    } else if is_virtual {
        let is_final = method.access & access::FINAL != 0 || method.class().is_final();
        if is_final {
            INVOKE_SPECIAL
        } else {
            INVOKE_VIRTUAL
        }
    } else {
        kind
    };
    Ok((method, real))
}

/// Where a field's `MemberName` points: offset, and the class object if static.
pub(crate) fn field_place(member: ObjectRef) -> (u64, ObjectRef) {
    let class = member.class();
    let holder = mirror::class_of(member.get_ref(offset(class, "clazz")));
    (member.get(offset(class, "$index")), holder.statics())
}

fn one_element(thread: &Thread) -> Result<ObjectRef, Thrown> {
    array::new(thread, known().object_array, 1)
}

fn linked(
    thread: &Thread,
    member: ObjectRef,
    appendix: ObjectRef,
) -> Result<(&'static Method, ObjectRef), Thrown> {
    match member.some().and_then(target_of) {
        Some(method) => Ok((method, appendix.ref_element(0))),
        None => Err(thread.throw("java/lang/LinkageError", "a call site has no target")),
    }
}

/// Links a call of `MethodHandle.invokeExact` and the like.
pub(crate) fn link_method(
    thread: &Thread,
    class: &'static Class,
    index: u16,
) -> Result<(&'static Method, ObjectRef), Thrown> {
    let pool = &class.info.file.constants;
    let member = pool
        .member(index)
        .map_err(|error| thread.throw("java/lang/ClassFormatError", &error.to_string()))?;
    let holder = resolve::class_by_name(thread, class.info.loader, Symbol::new(member.class))?;
    let name = string::intern_mutf8(thread, member.name)?;
    let ty = method_type(thread, class, member.descriptor)?;
    let appendix = one_element(thread)?;
    let args = [
        class.mirror().0.into(),
        u64::from(INVOKE_VIRTUAL),
        holder.mirror().0.into(),
        name.0.into(),
        ty.0.into(),
        appendix.0.into(),
    ];
    let signature = "(Ljava/lang/Class;ILjava/lang/Class;Ljava/lang/String;Ljava/lang/Object;[Ljava/lang/Object;)Ljava/lang/invoke/MemberName;";
    let found = upcall(thread, "linkMethod", signature, &args)?;
    linked(thread, found, appendix)
}

/// Bootstrap handle and static arguments of a computed constant.
fn bootstrap(
    thread: &Thread,
    class: &'static Class,
    index: u16,
) -> Result<(ObjectRef, ObjectRef), Thrown> {
    let Some(method) = class.info.file.bootstrap_methods.get(usize::from(index)) else {
        return Err(thread.throw("java/lang/ClassFormatError", "no such bootstrap method"));
    };
    let handle = ObjectRef(constant_at(thread, class, method.handle)? as u32);
    let info = match method.arguments.as_slice() {
        [] => ObjectRef::NULL,
        [one] => argument_at(thread, class, *one)?,
        many => {
            let array = array::new(thread, known().object_array, many.len() as i32)?;
            for (place, &index) in many.iter().enumerate() {
                array.set_ref_element(place as u32, argument_at(thread, class, index)?);
            }
            array
        }
    };
    Ok((handle, info))
}

/// A static argument as an object.
fn argument_at(thread: &Thread, class: &'static Class, index: u16) -> Result<ObjectRef, Thrown> {
    let pool = &class.info.file.constants;
    match pool.get(index) {
        Ok(Constant::Integer(value)) => {
            reflect::box_value(thread, Some(MemoryKind::Int), u64::from(value as u32))
        }
        Ok(Constant::Float(bits)) => {
            reflect::box_value(thread, Some(MemoryKind::Float), u64::from(bits))
        }
        Ok(Constant::Long(value)) => {
            reflect::box_value(thread, Some(MemoryKind::Long), value as u64)
        }
        Ok(Constant::Double(bits)) => reflect::box_value(thread, Some(MemoryKind::Double), bits),
        Ok(Constant::String(_)) => resolve::string_at(thread, Holds::Any, class, index),
        Ok(Constant::Class(_)) => Ok(resolve::class_at(thread, class, index)?.mirror()),
        Ok(Constant::Dynamic(..)) => {
            let raw = constant_at(thread, class, index)?;
            let (_, _, descriptor) = pool.dynamic(index).expect("checked above");
            let kind = FieldType::parse(descriptor).ok();
            let kind = kind.as_ref().and_then(ir::bytecode::memory_kind);
            reflect::box_value(thread, kind, raw)
        }
        _ => constant_at(thread, class, index).map(|object| ObjectRef(object as u32)),
    }
}

/// Links an `invokedynamic`.
pub(crate) fn link_call_site(
    thread: &Thread,
    class: &'static Class,
    index: u16,
) -> Result<(&'static Method, ObjectRef), Thrown> {
    let pool = &class.info.file.constants;
    let (method, name, descriptor) = pool
        .dynamic(index)
        .map_err(|error| thread.throw("java/lang/ClassFormatError", &error.to_string()))?;
    let (handle, info) = bootstrap(thread, class, method)?;
    let name = string::intern_mutf8(thread, name)?;
    let ty = method_type(thread, class, descriptor)?;
    let appendix = one_element(thread)?;
    let args = [
        class.mirror().0.into(),
        u64::from(index),
        handle.0.into(),
        name.0.into(),
        ty.0.into(),
        info.0.into(),
        appendix.0.into(),
    ];
    let signature = "(Ljava/lang/Object;ILjava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;[Ljava/lang/Object;)Ljava/lang/invoke/MemberName;";
    let found = upcall(thread, "linkCallSite", signature, &args)?;
    linked(thread, found, appendix)
}

/// A method handle, method type or computed constant; primitives as bits.
pub(crate) fn constant_at(
    thread: &Thread,
    class: &'static Class,
    index: u16,
) -> Result<u64, Thrown> {
    let pool = &class.info.file.constants;
    let wrong =
        |error: classfile::Error| thread.throw("java/lang/ClassFormatError", &error.to_string());
    match pool.get(index).map_err(wrong)? {
        Constant::MethodType(descriptor) => {
            let descriptor = pool.utf8(descriptor).map_err(wrong)?;
            method_type(thread, class, descriptor).map(|object| object.0.into())
        }
        Constant::MethodHandle(kind, member) => {
            handle_constant(thread, class, kind as u32, member).map(|object| object.0.into())
        }
        Constant::Dynamic(..) => dynamic_constant(thread, class, index),
        _ => Err(wrong(classfile::Error::Malformed(
            "constant that cannot be loaded",
        ))),
    }
}

fn handle_constant(
    thread: &Thread,
    class: &'static Class,
    kind: u32,
    index: u16,
) -> Result<ObjectRef, Thrown> {
    let wrong =
        |error: classfile::Error| thread.throw("java/lang/ClassFormatError", &error.to_string());
    let pool = &class.info.file.constants;
    let member = pool.member(index).map_err(wrong)?;
    let holder = match pool.get(index).map_err(wrong)? {
        Constant::Field(holder, _)
        | Constant::Method(holder, _)
        | Constant::InterfaceMethod(holder, _) => resolve::class_at(thread, class, holder)?,
        _ => return Err(wrong(classfile::Error::Malformed("member expected"))),
    };
    let name = string::intern_mutf8(thread, member.name)?;
    let ty = if kind <= 4 {
        let ty = FieldType::parse(member.descriptor).map_err(wrong)?;
        reflect::class_of_type(thread, class, &ty)?.mirror()
    } else {
        method_type(thread, class, member.descriptor)?
    };
    let args = [
        class.mirror().0.into(),
        u64::from(kind),
        holder.mirror().0.into(),
        name.0.into(),
        ty.0.into(),
    ];
    let signature = "(Ljava/lang/Class;ILjava/lang/Class;Ljava/lang/String;Ljava/lang/Object;)Ljava/lang/invoke/MethodHandle;";
    upcall(thread, "linkMethodHandleConstant", signature, &args)
}

fn dynamic_constant(thread: &Thread, class: &'static Class, index: u16) -> Result<u64, Thrown> {
    let wrong =
        |error: classfile::Error| thread.throw("java/lang/ClassFormatError", &error.to_string());
    let (method, name, descriptor) = class.info.file.constants.dynamic(index).map_err(wrong)?;
    let (handle, info) = bootstrap(thread, class, method)?;
    let name = string::intern_mutf8(thread, name)?;
    let parsed = FieldType::parse(descriptor).map_err(wrong)?;
    let ty = reflect::class_of_type(thread, class, &parsed)?;
    let args = [
        class.mirror().0.into(),
        u64::from(index),
        handle.0.into(),
        name.0.into(),
        ty.mirror().0.into(),
        info.0.into(),
    ];
    let signature = "(Ljava/lang/Object;ILjava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;";
    let object = upcall(thread, "linkDynamicConstant", signature, &args)?;
    match object.some().and_then(reflect::unbox) {
        Some((_, raw)) if !parsed.is_reference() => Ok(raw),
        _ => Ok(object.0.into()),
    }
}

/// Classes that `invokeBasic` and `linkTo…` read, loaded before any is compiled.
pub(crate) fn start(thread: &Thread) -> Result<(), Thrown> {
    let names = [
        "java/lang/invoke/MethodHandle",
        "java/lang/invoke/ResolvedMethodName",
        "java/lang/invoke/MemberName",
        "java/lang/invoke/LambdaForm",
        "java/lang/invoke/MethodHandleNatives",
    ];
    for name in names {
        thread.boot_class(name)?;
    }
    debug_assert!(loaded(names[0]).is_some());
    let order = [names[0], names[1], names[2], names[4]];
    order
        .into_iter()
        .try_for_each(|name| thread.boot_class(name)?.initialize(thread))
}
