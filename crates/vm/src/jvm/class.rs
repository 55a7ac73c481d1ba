// SPDX-License-Identifier: Apache-2.0
//! Finding, defining and describing classes.

use core::sync::atomic::Ordering;

use classfile::access;

use crate::classes::class::Class;
use crate::classes::known::{known, primitive_by_name};
use crate::classes::object::ObjectRef;
use crate::invoke::reflect;
use crate::jni::{c_bytes, of, outcome};
use crate::link::access::nest_host;
use crate::link::define::{self, Definition, Hidden};
use crate::link::loader;
use crate::link::mirror;
use crate::link::resolve;
use crate::link::verification;
use crate::memory;
use crate::memory::symbol::Symbol;
use crate::objects::heap_binding;
use crate::objects::string;
use crate::options::android;
use crate::threads::thread::{Thread, Thrown};

pub(super) fn class_of(env: u64, mirror: u64) -> &'static Class {
    mirror::class_of(of(env).object_of(mirror))
}

fn local_mirror(env: u64, class: Result<&'static Class, Thrown>) -> u64 {
    outcome(class.map(|class| of(env).new_local(class.mirror())))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_FindPrimitiveClass(env: u64, name: u64) -> u64 {
    let name = crate::jni::c_text(name);
    primitive_by_name(&name).map_or(0, |class| of(env).new_local(class.mirror()))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_FindClassFromBootLoader(env: u64, name: u64) -> u64 {
    let thread = &*of(env);
    let found = loader::find_boot(thread, Symbol::new(&c_bytes(name)));
    outcome(found.map(|class| class.map_or(0, |class| thread.new_local(class.mirror()))))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_FindClassFromCaller(
    env: u64,
    name: u64,
    initialize: u8,
    loader: u64,
    caller: u64,
) -> u64 {
    let thread = &*of(env);
    let find = || {
        let loader = loader::of(thread.object_of(loader));
        let name = Symbol::new(&c_bytes(name));
        let is_dex = caller != 0 && class_of(env, caller).info.dex.is_some();
        let class = match loader.load(thread, name) {
            Err(thrown) if is_dex => return Err(not_found(thread, name, thrown)),
            found => found?,
        };
        if initialize != 0 {
            class.initialize(thread)?;
        }
        Ok(class)
    };
    local_mirror(env, find())
}

/// To DEX code every class that cannot be linked is one that is not found, as in ART: applications
/// ask so whether an optional library is there.
fn not_found(thread: &Thread, name: Symbol, thrown: Thrown) -> Thrown {
    let exception = thread.exception();
    // Not loaded for this: memory may be exhausted, and then the exception is none.
    let linkage = crate::classes::loader::loaded("java/lang/LinkageError");
    if linkage.is_none_or(|linkage| !exception.is_instance_of(linkage)) {
        return thrown;
    }
    thread.take_exception();
    let class = "java/lang/ClassNotFoundException";
    thread.throw_with(class, Some(&name.dotted()), exception)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_FindClassFromClass(env: u64, name: u64, initialize: u8, from: u64) -> u64 {
    let thread = &*of(env);
    let find = || {
        let loader = class_of(env, from).info.loader;
        let class = resolve::class_by_name(thread, loader, Symbol::new(&c_bytes(name)))?;
        if initialize != 0 {
            class.initialize(thread)?;
        }
        Ok(class)
    };
    local_mirror(env, find())
}

#[unsafe(no_mangle)]
extern "C" fn JVM_FindLoadedClass(env: u64, loader: u64, name: u64) -> u64 {
    let thread = &*of(env);
    let name = string::text(thread.object_of(name)).replace('.', "/");
    let found = loader::of(thread.object_of(loader)).loaded(Symbol::new(name.as_bytes()));
    found.map_or(0, |class| thread.new_local(class.mirror()))
}

fn leak(bytes: u64, size: i32) -> &'static [u8] {
    Box::leak(memory::bytes_at(bytes, size as usize).into_boxed_slice())
}

#[unsafe(no_mangle)]
extern "C" fn JVM_DefineClassWithSource(
    env: u64,
    name: u64,
    loader: u64,
    bytes: u64,
    size: i32,
    protection_domain: u64,
    source: u64,
) -> u64 {
    let thread = &*of(env);
    let name = (name != 0).then(|| Symbol::new(&c_bytes(name)));
    let loader = loader::of(thread.object_of(loader));
    let definition = Definition {
        protection_domain: thread.object_of(protection_domain),
        is_android: source != 0 && android::is_source(&c_bytes(source)),
        ..Definition::plain(loader, name, thread.outside(|| leak(bytes, size)))
    };
    local_mirror(env, define::define(thread, definition))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_DefineClass(
    env: u64,
    name: u64,
    loader: u64,
    bytes: u64,
    size: i32,
    protection_domain: u64,
) -> u64 {
    JVM_DefineClassWithSource(env, name, loader, bytes, size, protection_domain, 0)
}

const HIDDEN_NESTMATE: i32 = 1;
const HIDDEN_CLASS: i32 = 2;

#[unsafe(no_mangle)]
extern "C" fn JVM_LookupDefineClass(
    env: u64,
    lookup: u64,
    name: u64,
    bytes: u64,
    size: i32,
    protection_domain: u64,
    initialize: u8,
    flags: i32,
    class_data: u64,
) -> u64 {
    let thread = &*of(env);
    let define = || {
        let host = class_of(env, lookup);
        let bytes = leak(bytes, size);
        let name = (name != 0).then(|| Symbol::new(&c_bytes(name)));
        let hidden = (flags & HIDDEN_CLASS != 0).then(|| Hidden {
            host,
            is_nestmate: flags & HIDDEN_NESTMATE != 0,
            class_data: thread.object_of(class_data),
        });
        let definition = Definition {
            protection_domain: thread.object_of(protection_domain),
            hidden,
            // A lambda's class is a part of the class that it is in.
            is_android: host.info.is_android,
            ..Definition::plain(host.info.loader, name, bytes)
        };
        let class = define::define(thread, definition)?;
        if class.info.is_hidden {
            // As on HotSpot: who defines one is told at once that its code is wrong.
            verification::verify(thread, class)?;
        }
        if initialize != 0 {
            class.initialize(thread)?;
        }
        Ok(class)
    };
    local_mirror(env, define())
}

#[unsafe(no_mangle)]
extern "C" fn JVM_InitClassName(env: u64, mirror: u64) -> u64 {
    let thread = &*of(env);
    let name = class_of(env, mirror).java_name();
    let make = || {
        let text = string::new_string(thread, &name)?;
        let text = string::intern(thread, text)?;
        thread.object_of(mirror).put_ref(known().mirror_name, text);
        Ok::<_, Thrown>(thread.new_local(text))
    };
    outcome(make())
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassInterfaces(env: u64, mirror: u64) -> u64 {
    let thread = &*of(env);
    let class = class_of(env, mirror);
    let mirrors: Vec<_> = class
        .info
        .interfaces
        .iter()
        .map(|interface| interface.mirror())
        .collect();
    outcome(reflect::class_array(thread, &mirrors).map(|array| thread.new_local(array)))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_IsInterface(env: u64, mirror: u64) -> u8 {
    u8::from(class_of(env, mirror).is_interface())
}

#[unsafe(no_mangle)]
extern "C" fn JVM_IsArrayClass(env: u64, mirror: u64) -> u8 {
    u8::from(class_of(env, mirror).is_array())
}

#[unsafe(no_mangle)]
extern "C" fn JVM_IsPrimitiveClass(env: u64, mirror: u64) -> u8 {
    u8::from(class_of(env, mirror).is_primitive())
}

#[unsafe(no_mangle)]
extern "C" fn JVM_IsHiddenClass(env: u64, mirror: u64) -> u8 {
    u8::from(class_of(env, mirror).info.is_hidden)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_IsRecord(env: u64, mirror: u64) -> u8 {
    let class = class_of(env, mirror);
    u8::from(class.info.file.record.is_some() && class.is_final())
}

/// As the class says of itself in InnerClasses, if it does.
fn modifiers(class: &'static Class) -> i32 {
    let file = &class.info.file;
    let inner = file.inner_classes.iter().find(|inner| {
        file.constants
            .class_name(inner.inner)
            .is_ok_and(|name| name == file.name)
    });
    let access = inner.map_or(class.info.access, |inner| inner.access);
    i32::from(access & !access::SUPER)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassModifiers(env: u64, mirror: u64) -> i32 {
    let class = class_of(env, mirror);
    let mut innermost = class;
    while let Some(element) = innermost.info.element {
        innermost = element;
    }
    if class.is_array() {
        let visible = access::PUBLIC | access::PRIVATE | access::PROTECTED;
        return modifiers(innermost) & i32::from(visible)
            | i32::from(access::FINAL | access::ABSTRACT);
    }
    modifiers(class)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassAccessFlags(env: u64, mirror: u64) -> i32 {
    i32::from(class_of(env, mirror).info.access)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassSigners(env: u64, mirror: u64) -> u64 {
    let signers = class_of(env, mirror).info.signers.load(Ordering::Acquire);
    of(env).new_local(ObjectRef(signers))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_SetClassSigners(env: u64, mirror: u64, signers: u64) {
    let thread = &*of(env);
    let signers = thread.object_of(signers);
    heap_binding::keep(signers);
    class_of(env, mirror)
        .info
        .signers
        .store(signers.0, Ordering::Release);
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetProtectionDomain(env: u64, mirror: u64) -> u64 {
    let domain = class_of(env, mirror)
        .info
        .protection_domain
        .load(Ordering::Acquire);
    of(env).new_local(ObjectRef(domain))
}

fn text_or_null(thread: &Thread, bytes: Option<&[u8]>) -> u64 {
    let make = |bytes: &[u8]| string::intern_mutf8(thread, bytes);
    bytes.map_or(0, |bytes| {
        outcome(make(bytes).map(|text| thread.new_local(text)))
    })
}

fn bytes_or_null(thread: &Thread, bytes: Option<&[u8]>) -> u64 {
    let make = |bytes: &[u8]| string::new_bytes(thread, bytes);
    bytes.map_or(0, |bytes| {
        outcome(make(bytes).map(|array| thread.new_local(array)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassSignature(env: u64, mirror: u64) -> u64 {
    text_or_null(&of(env), class_of(env, mirror).info.file.signature)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassAnnotations(env: u64, mirror: u64) -> u64 {
    bytes_or_null(&of(env), class_of(env, mirror).info.file.annotations)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassTypeAnnotations(env: u64, mirror: u64) -> u64 {
    bytes_or_null(&of(env), class_of(env, mirror).info.file.type_annotations)
}

/// The own row of InnerClasses.
fn own_row(class: &'static Class) -> Option<classfile::InnerClass> {
    let file = &class.info.file;
    let is_own = |inner: &&classfile::InnerClass| {
        file.constants
            .class_name(inner.inner)
            .is_ok_and(|name| name == file.name)
    };
    file.inner_classes.iter().find(is_own).copied()
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetDeclaringClass(env: u64, mirror: u64) -> u64 {
    let class = class_of(env, mirror);
    let Some(row) = own_row(class).filter(|row| row.outer != 0) else {
        return 0;
    };
    let thread = &*of(env);
    let find = || {
        let outer = resolve::class_at(thread, class, row.outer)?;
        check_declared(thread, outer, class)?;
        Ok(outer)
    };
    local_mirror(env, find())
}

/// Throws IncompatibleClassChangeError unless `outer` too says that `inner` is its member: nobody
/// is taken for one who only says so.
fn check_declared(
    thread: &Thread,
    outer: &'static Class,
    inner: &'static Class,
) -> Result<(), Thrown> {
    let file = &outer.info.file;
    let is_named = |index, class: &Class| {
        let name = file.constants.class_name(index);
        let is_own = index == file.this_class && core::ptr::eq(class, outer);
        is_own || name.is_ok_and(|name| Symbol::new(name) == class.name())
    };
    let mut rows = file.inner_classes.iter();
    if rows.any(|row| row.outer != 0 && is_named(row.outer, outer) && is_named(row.inner, inner)) {
        return Ok(());
    }
    let message = format!(
        "{} and {} disagree on InnerClasses attribute",
        outer.java_name(),
        inner.java_name()
    );
    Err(thread.throw("java/lang/IncompatibleClassChangeError", &message))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetSimpleBinaryName(env: u64, mirror: u64) -> u64 {
    let class = class_of(env, mirror);
    let row = own_row(class).filter(|row| row.name != 0);
    let name = row.and_then(|row| class.info.file.constants.utf8(row.name).ok());
    text_or_null(&of(env), name)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetDeclaredClasses(env: u64, mirror: u64) -> u64 {
    let thread = &*of(env);
    let class = class_of(env, mirror);
    let file = &class.info.file;
    let name_at = |outer| file.constants.class_name(outer);
    let rows = file.inner_classes.iter();
    let declared = rows
        .filter(|row| row.outer != 0 && row.name != 0)
        .filter(|row| name_at(row.outer).is_ok_and(|name| name == file.name))
        .map(|row| row.inner);
    let find = || {
        let mut mirrors = Vec::new();
        for index in declared {
            let inner = resolve::class_at(thread, class, index)?;
            check_declared(thread, class, inner)?;
            mirrors.push(inner.mirror());
        }
        let array = reflect::class_array(thread, &mirrors)?;
        Ok::<_, Thrown>(thread.new_local(array))
    };
    outcome(find())
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetEnclosingMethodInfo(env: u64, mirror: u64) -> u64 {
    let thread = &*of(env);
    let class = class_of(env, mirror);
    let Some(enclosing) = class.info.file.enclosing_method else {
        return 0;
    };
    let make = || {
        let array = crate::objects::array::new(thread, known().object_array, 3)?;
        let outer = resolve::class_at(thread, class, enclosing.class)?;
        array.set_ref_element(0, outer.mirror());
        if enclosing.method != 0
            && let Ok((name, descriptor)) =
                class.info.file.constants.name_and_type(enclosing.method)
        {
            array.set_ref_element(1, string::intern_mutf8(thread, name)?);
            array.set_ref_element(2, string::intern_mutf8(thread, descriptor)?);
        }
        Ok::<_, Thrown>(thread.new_local(array))
    };
    outcome(make())
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetNestHost(env: u64, mirror: u64) -> u64 {
    let thread = &*of(env);
    thread.new_local(nest_host(thread, class_of(env, mirror)).mirror())
}

#[unsafe(no_mangle)]
extern "C" fn JVM_AreNestMates(env: u64, first: u64, second: u64) -> u8 {
    let thread = &*of(env);
    let host = |mirror| nest_host(thread, class_of(env, mirror));
    u8::from(core::ptr::eq(host(first), host(second)))
}

/// The host first, then the members that it lists, that are there and that name it as their host.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetNestMembers(env: u64, mirror: u64) -> u64 {
    let thread = &*of(env);
    let host = nest_host(thread, class_of(env, mirror));
    let members = host.info.file.nest_members.iter().copied();
    let is_member = |class| core::ptr::eq(nest_host(thread, class), host);
    outcome(classes_at(
        thread,
        host,
        vec![host.mirror()],
        members,
        is_member,
    ))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetPermittedSubclasses(env: u64, mirror: u64) -> u64 {
    let thread = &*of(env);
    let class = class_of(env, mirror);
    let Some(permitted) = &class.info.file.permitted_subclasses else {
        return 0;
    };
    let permitted = permitted.iter().copied();
    outcome(classes_at(thread, class, Vec::new(), permitted, |_| true))
}

/// A local array of `mirrors` and behind them those of the classes that `class` names at `indices`
/// and that are shown. Those that cannot be loaded are left out, unless the machine is at its end.
fn classes_at(
    thread: &Thread,
    class: &'static Class,
    mut mirrors: Vec<ObjectRef>,
    indices: impl Iterator<Item = u16>,
    is_shown: impl Fn(&'static Class) -> bool,
) -> Result<u64, Thrown> {
    for index in indices {
        match resolve::class_at(thread, class, index) {
            Ok(found) if found.is_array() || !is_shown(found) => {}
            Ok(found) => mirrors.push(found.mirror()),
            Err(thrown) => {
                let fatal = thread.boot_class("java/lang/VirtualMachineError")?;
                if thread.exception().is_instance_of(fatal) {
                    return Err(thrown);
                }
                thread.take_exception();
            }
        }
    }
    let array = reflect::class_array(thread, &mirrors)?;
    Ok(thread.new_local(array))
}
