// SPDX-License-Identifier: Apache-2.0
//! Members of classes, and calling through them.

use classfile::access;

use super::class::class_of;
use crate::classes::class::{Class, Method};
use crate::classes::known::offset;
use crate::classes::library::Library;
use crate::classes::object::ObjectRef;
use crate::invoke::reflect;
use crate::jni::{of, outcome};
use crate::link::resolve;
use crate::objects::string;
use crate::threads::locals::Scope;
use crate::threads::thread::{Thread, Thrown};
use crate::threads::unwind;

fn members(
    thread: &Thread,
    class: &str,
    make: impl FnOnce(&Scope<'_>) -> Result<Vec<ObjectRef>, Thrown>,
) -> u64 {
    let build = || {
        let scope = thread.scope();
        let objects = make(&scope)?;
        let class = thread.array_class(thread.boot_class(class)?)?;
        reflect::array_of(thread, class, &objects)
    };
    outcome(build().map(|array| thread.new_local(array)))
}

/// Methods of `Class` that look for one member among those that they ask the machine for.
const SEEKERS: [&str; 5] = [
    "getMethodsRecursive",
    "getDeclaredMethod",
    "getConstructor0",
    "getField0",
    "getDeclaredField",
];

/// Whether the library wants all members in order to find one.
fn seeks_one(thread: &Thread) -> bool {
    let mut seeks = false;
    unwind::walk(thread, |frame| {
        let name = frame.method.name;
        let is_between =
            frame.method.is_native() || name.bytes().starts_with(b"privateGetDeclared");
        seeks = !is_between && SEEKERS.iter().any(|seeker| name.is(seeker));
        is_between
    });
    seeks
}

/// Members of `holder`. As in ART, one whose types are not there is in nobody's way who looks for
/// another one: of a DEX class it is left out then, and the library is told not to keep the list.
fn all_of<T>(
    thread: &Thread,
    holder: &'static Class,
    scope: &Scope<'_>,
    shown: impl Iterator<Item = T>,
    make: impl Fn(T) -> Result<ObjectRef, Thrown>,
) -> Result<Vec<ObjectRef>, Thrown> {
    let may_leave_out = holder.info.dex.is_some() && seeks_one(thread);
    let (mut objects, mut is_whole) = (Vec::new(), true);
    for member in shown {
        match make(member) {
            Ok(object) => objects.push(scope.hold(object)),
            Err(_) if may_leave_out && is_absence(thread) => {
                thread.take_exception();
                is_whole = false;
            }
            Err(thrown) => return Err(thrown),
        }
    }
    if !is_whole {
        let mirror = holder.mirror();
        let count = offset(mirror.class(), "classRedefinedCount");
        mirror.put(count, mirror.get::<i32>(count).wrapping_add(1));
    }
    Ok(objects)
}

fn is_absence(thread: &Thread) -> bool {
    let exception = thread.exception();
    exception.class().is(Library::NoClassDefFoundError)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassDeclaredFields(env: u64, mirror: u64, public_only: u8) -> u64 {
    let thread = &*of(env);
    let class = class_of(env, mirror);
    members(thread, "java/lang/reflect/Field", |scope| {
        let fields = class
            .info
            .fields
            .iter()
            .filter(|field| field.index.is_some());
        let shown = fields.filter(|f| public_only == 0 || f.access & access::PUBLIC != 0);
        let make = |field| reflect::field(thread, class, field);
        all_of(thread, class, scope, shown, make)
    })
}

fn executables(
    env: u64,
    mirror: u64,
    class: &str,
    is_shown: impl Fn(&'static Method) -> bool,
) -> u64 {
    let thread = &*of(env);
    let holder = class_of(env, mirror);
    members(thread, class, |scope| {
        let methods = holder.info.methods.iter().copied();
        let shown = methods.filter(|method| is_shown(method));
        let make = |method| reflect::executable(thread, method);
        all_of(thread, holder, scope, shown, make)
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassDeclaredMethods(env: u64, mirror: u64, public_only: u8) -> u64 {
    executables(env, mirror, "java/lang/reflect/Method", |method| {
        !method.name.bytes().starts_with(b"<")
            && (public_only == 0 || method.access & access::PUBLIC != 0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassDeclaredConstructors(env: u64, mirror: u64, public_only: u8) -> u64 {
    executables(env, mirror, "java/lang/reflect/Constructor", |method| {
        method.is_constructor() && (public_only == 0 || method.access & access::PUBLIC != 0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_InvokeMethod(env: u64, method: u64, receiver: u64, arguments: u64) -> u64 {
    let thread = &*of(env);
    let method = reflect::method_of(thread.object_of(method));
    let (receiver, arguments) = (thread.object_of(receiver), thread.object_of(arguments));
    let result = reflect::invoke(thread, method, receiver, arguments);
    outcome(result.map(|object| thread.new_local(object)))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_NewInstanceFromConstructor(env: u64, constructor: u64, arguments: u64) -> u64 {
    let thread = &*of(env);
    let constructor = reflect::method_of(thread.object_of(constructor));
    let make = || {
        let class = constructor.class();
        if class.is_abstract() {
            let name = class.java_name();
            return Err(thread.throw("java/lang/InstantiationException", &name));
        }
        class.initialize(thread)?;
        let object = resolve::new_object(thread, class)?;
        reflect::invoke(thread, constructor, object, thread.object_of(arguments))?;
        Ok::<_, Thrown>(thread.new_local(object))
    };
    outcome(make())
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetFieldTypeAnnotations(env: u64, field: u64) -> u64 {
    let thread = &*of(env);
    let (class, field) = reflect::field_of(thread.object_of(field));
    let parsed = field.index.map(|index| &class.info.file.fields[index]);
    bytes(thread, parsed.and_then(|parsed| parsed.type_annotations))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetMethodTypeAnnotations(env: u64, method: u64) -> u64 {
    let thread = &*of(env);
    let method = reflect::method_of(thread.object_of(method));
    bytes(thread, method.file().type_annotations)
}

fn bytes(thread: &Thread, bytes: Option<&[u8]>) -> u64 {
    let make = |bytes: &[u8]| string::new_bytes(thread, bytes).map(|array| thread.new_local(array));
    bytes.map_or(0, |bytes| outcome(make(bytes)))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetMethodParameters(env: u64, method: u64) -> u64 {
    let thread = &*of(env);
    let executable = thread.object_of(method);
    let method = reflect::method_of(executable);
    let Some(parameters) = &method.file().parameters else {
        return 0;
    };
    let constants = &method.class().info.file.constants;
    let is_wrong = |&(name, _): &(u16, u16)| name != 0 && constants.utf8(name).is_err();
    if parameters.iter().any(is_wrong) {
        // The library makes a MalformedParametersException of it.
        let message = "Wrong type at constant pool index";
        let _ = thread.throw("java/lang/IllegalArgumentException", message);
        return 0;
    }
    members(thread, "java/lang/reflect/Parameter", |scope| {
        let mut objects = Vec::new();
        let class = thread.boot_class("java/lang/reflect/Parameter")?;
        class.initialize(thread)?;
        for (index, &(name, flags)) in parameters.iter().enumerate() {
            let object = crate::objects::heap_binding::new_object(thread, class)?;
            if let Ok(name) = constants.utf8(name) {
                object.put_ref(offset(class, "name"), string::intern_mutf8(thread, name)?);
            }
            object.put(offset(class, "modifiers"), i32::from(flags));
            object.put_ref(offset(class, "executable"), executable);
            object.put(offset(class, "index"), index as i32);
            objects.push(scope.hold(object));
        }
        Ok(objects)
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetRecordComponents(env: u64, mirror: u64) -> u64 {
    let thread = &*of(env);
    let holder = class_of(env, mirror);
    let Some(components) = &holder.info.file.record else {
        return 0;
    };
    members(thread, "java/lang/reflect/RecordComponent", |scope| {
        let class = thread.boot_class("java/lang/reflect/RecordComponent")?;
        class.initialize(thread)?;
        let mut objects = Vec::new();
        for component in components {
            let object = crate::objects::heap_binding::new_object(thread, class)?;
            let name = string::intern_mutf8(thread, component.name)?;
            let ty = classfile::FieldType::parse(component.descriptor)
                .map_err(|error| thread.throw("java/lang/ClassFormatError", &error.to_string()))?;
            let ty = reflect::class_of_type(thread, holder, &ty)?;
            object.put_ref(offset(class, "clazz"), holder.mirror());
            object.put_ref(offset(class, "name"), name);
            object.put_ref(offset(class, "type"), ty.mirror());
            let descriptor = format!("(){}", classfile::to_string_lossy(component.descriptor));
            let accessor =
                holder.method_named(&classfile::to_string_lossy(component.name), &descriptor);
            if let Some(accessor) = accessor.filter(|method| !method.is_static()) {
                let accessor = reflect::executable(thread, accessor)?;
                object.put_ref(offset(class, "accessor"), accessor);
            }
            let signature = component.signature;
            if let Some(text) = signature.and_then(|i| holder.info.file.constants.utf8(i).ok()) {
                let text = string::intern_mutf8(thread, text)?;
                object.put_ref(offset(class, "signature"), text);
            }
            if let Some(bytes) = component.annotations {
                let array = string::new_bytes(thread, bytes)?;
                object.put_ref(offset(class, "annotations"), array);
            }
            if let Some(bytes) = component.type_annotations {
                let array = string::new_bytes(thread, bytes)?;
                object.put_ref(offset(class, "typeAnnotations"), array);
            }
            objects.push(scope.hold(object));
        }
        Ok(objects)
    })
}
