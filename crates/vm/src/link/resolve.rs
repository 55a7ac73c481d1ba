// SPDX-License-Identifier: Apache-2.0
//! Resolution of constants: classes, fields, methods, strings.

use classfile::{Constant, access as flags};
use ir::InvokeKind;

use crate::classes::class::{Class, Field, Method};
use crate::classes::failure::{Failure, Unresolved};
use crate::classes::library::Library;
use crate::classes::object::ObjectRef;
use crate::classes::write::Write;
use crate::link::access::{self, Found};
use crate::link::constraint;
use crate::link::dex_call::Call;
use crate::link::failure;
use crate::link::loader::{self, Loader};
use crate::link::message;
use crate::link::refusal;
use crate::link::tables::{self, Selected};
use crate::memory::symbol::Symbol;
use crate::objects::heap_binding;
use crate::objects::string;
use crate::threads::thread::{Holds, Thread, Thrown};
use crate::threads::unwind;

/// What resolution may do to find what code refers to: one of `&Thread` and [`OnlyLoaded`].
pub(crate) trait Policy: Copy {
    /// What comes back where nothing is found, or where it may not be used.
    type Refusal;

    /// The class that `loader` has or finds under a name.
    fn class(self, loader: &'static Loader, name: Symbol) -> Result<&'static Class, Self::Refusal>;

    /// A refusal of this Java class; a policy that does not throw asks for no message.
    fn refuse(self, error: &str, message: impl FnOnce() -> String) -> Self::Refusal;

    /// Refuses unless both loaders mean the same classes by a descriptor; the message names the
    /// type of which they mean two.
    fn agree(
        self,
        loaders: (&Loader, &Loader),
        descriptor: Symbol,
        message: impl FnOnce(&str) -> String,
    ) -> Result<(), Self::Refusal>;

    /// Refuses as an earlier attempt was refused.
    fn refuse_again(self, failure: &Failure) -> Self::Refusal;

    /// Has a constant of `class` refused from now on as it was this time, if that lasts.
    fn keep(self, refusal: Self::Refusal, class: &'static Class, index: u16) -> Self::Refusal;

    /// Whether the answer may go on without what was refused.
    fn forgives(self, refusal: Self::Refusal) -> bool;
}

/// Loads classes as the language does, and throws on this thread.
impl Policy for &Thread {
    type Refusal = Thrown;

    fn class(self, loader: &'static Loader, name: Symbol) -> Result<&'static Class, Thrown> {
        class_by_name(self, loader, name)
    }

    fn refuse(self, error: &str, message: impl FnOnce() -> String) -> Thrown {
        self.throw(error, &message())
    }

    fn agree(
        self,
        (own, other): (&Loader, &Loader),
        descriptor: Symbol,
        message: impl FnOnce(&str) -> String,
    ) -> Result<(), Thrown> {
        let agreed = constraint::link(own, other, descriptor);
        agreed.map_err(|ty| self.throw("java/lang/LinkageError", &message(&ty)))
    }

    fn refuse_again(self, failure: &Failure) -> Thrown {
        failure::throw_again(self, failure)
    }

    fn keep(self, thrown: Thrown, class: &'static Class, index: u16) -> Thrown {
        failure::keep(self, class, Unresolved::Constant(index));
        thrown
    }

    fn forgives(self, _: Thrown) -> bool {
        self.take_exception();
        true
    }
}

/// Takes what is there already: it loads nothing, throws nothing and agrees on nothing new.
#[derive(Clone, Copy)]
pub(crate) struct OnlyLoaded;

/// Something is not there yet, or may not be used.
pub(crate) struct Absent;

impl Policy for OnlyLoaded {
    type Refusal = Absent;

    fn class(self, loader: &'static Loader, name: Symbol) -> Result<&'static Class, Absent> {
        loader.visible(name).ok_or(Absent)
    }

    fn refuse(self, _: &str, _: impl FnOnce() -> String) -> Absent {
        Absent
    }

    fn agree(
        self,
        (own, other): (&Loader, &Loader),
        descriptor: Symbol,
        _: impl FnOnce(&str) -> String,
    ) -> Result<(), Absent> {
        let has_agreed = constraint::is_linked(own, other, descriptor);
        has_agreed.then_some(()).ok_or(Absent)
    }

    fn refuse_again(self, _: &Failure) -> Absent {
        Absent
    }

    fn keep(self, absent: Absent, _: &'static Class, _: u16) -> Absent {
        absent
    }

    fn forgives(self, _: Absent) -> bool {
        false
    }
}

/// A class that code refers to: not finding it is an error, not an exception.
pub(crate) fn class_by_name(
    thread: &Thread,
    loader: &'static Loader,
    name: Symbol,
) -> Result<&'static Class, Thrown> {
    loader.load(thread, name).map_err(|thrown| {
        let exception = thread.exception();
        // Not loaded for this: memory may be exhausted, and then the exception is none.
        let not_found = crate::classes::loader::loaded("java/lang/ClassNotFoundException");
        if not_found.is_none_or(|not_found| !exception.is_instance_of(not_found)) {
            return thrown;
        }
        thread.take_exception();
        let class = "java/lang/NoClassDefFoundError";
        thread.throw_with(class, Some(&name.to_string()), exception)
    })
}

fn bad_constant<P: Policy>(
    policy: P,
    class: &'static Class,
    error: &classfile::Error,
) -> P::Refusal {
    policy.refuse("java/lang/ClassFormatError", || {
        format!("{error} in class file {}", class.name())
    })
}

/// The class at a constant's index.
pub(crate) fn class_at<P: Policy>(
    policy: P,
    class: &'static Class,
    index: u16,
) -> Result<&'static Class, P::Refusal> {
    if index == class.info.file.this_class {
        return Ok(class);
    }
    if let Some(failure) = class.info.failures.find(Unresolved::Constant(index)) {
        return Err(policy.refuse_again(failure));
    }
    let name = class.info.file.constants.class_name(index);
    let name = name.map_err(|error| bad_constant(policy, class, &error))?;
    let found = policy.class(class.info.loader, Symbol::new(name));
    let found = found.and_then(|found| access::check_class(policy, class, found).map(|()| found));
    found.map_err(|refusal| policy.keep(refusal, class, index))
}

/// The literal at a constant's index; `holds` is for the callers.
pub(crate) fn string_at(
    thread: &Thread,
    holds: Holds,
    class: &'static Class,
    index: u16,
) -> Result<ObjectRef, Thrown> {
    let pool = &class.info.file.constants;
    let text = pool.get(index).and_then(|constant| match constant {
        Constant::String(text) => pool.utf8(text),
        _ => Err(classfile::Error::Malformed("String constant expected")),
    });
    let text = text.map_err(|error| bad_constant(thread, class, &error))?;
    string::intern_literal(thread, holds, text)
}

/// A field here, in a superinterface or in a superclass.
pub(crate) fn find_field(
    class: &'static Class,
    name: Symbol,
    descriptor: Symbol,
) -> Option<(&'static Class, &'static Field)> {
    let mut next = Some(class);
    while let Some(holder) = next {
        if let Some(field) = holder.declared_field(name, descriptor) {
            return Some((holder, field));
        }
        for &interface in &holder.info.interfaces {
            if let Some(found) = find_field(interface, name, descriptor) {
                return Some(found);
            }
        }
        next = holder.super_class();
    }
    None
}

/// A method of a class: its own, a superclass's, or a superinterface's.
pub(crate) fn find_method(
    class: &'static Class,
    name: Symbol,
    descriptor: Symbol,
) -> Option<&'static Method> {
    let mut next = Some(class);
    while let Some(holder) = next {
        if let Some(method) = holder.declared_method(name, descriptor) {
            return Some(method);
        }
        next = holder.super_class();
    }
    polymorphic(class, name).or_else(|| find_in_interfaces(class, name, descriptor))
}

/// `MethodHandle.invokeExact` and the like take any arguments. Classes below theirs do not have
/// them.
fn polymorphic(class: &'static Class, name: Symbol) -> Option<&'static Method> {
    let mut methods = class.info.methods.iter().copied();
    methods.find(|method| method.flags.is_signature_polymorphic && method.name == name)
}

fn find_in_interfaces(
    class: &'static Class,
    name: Symbol,
    descriptor: Symbol,
) -> Option<&'static Method> {
    let best = tables::most_specific(&class.info.all_interfaces, (name, descriptor));
    let default = best.iter().find(|method| !method.is_abstract());
    default.or(best.first()).copied()
}

/// A method of an interface.
pub(crate) fn find_interface_method(
    interface: &'static Class,
    name: Symbol,
    descriptor: Symbol,
) -> Option<&'static Method> {
    if let Some(method) = interface.declared_method(name, descriptor) {
        return Some(method);
    }
    let object = interface.super_class()?;
    let of_object = object.declared_method(name, descriptor);
    let of_object =
        of_object.filter(|method| method.access & flags::PUBLIC != 0 && !method.is_static());
    of_object.or_else(|| find_in_interfaces(interface, name, descriptor))
}

/// The field at a constant's index.
pub(crate) fn field_at<P: Policy>(
    policy: P,
    class: &'static Class,
    index: u16,
    is_static: bool,
) -> Result<(&'static Class, &'static Field), P::Refusal> {
    let pool = &class.info.file.constants;
    let member = pool
        .member(index)
        .map_err(|error| bad_constant(policy, class, &error))?;
    let (Constant::Field(holder, _) | Constant::Method(holder, _)) =
        pool.get(index).unwrap_or(Constant::Unusable)
    else {
        let error = classfile::Error::Malformed("Field constant expected");
        return Err(bad_constant(policy, class, &error));
    };
    let resolved = class_at(policy, class, holder)?;
    let (name, descriptor) = (Symbol::new(member.name), Symbol::new(member.descriptor));
    let Some((holder, field)) = find_field(resolved, name, descriptor) else {
        return Err(policy.refuse("java/lang/NoSuchFieldError", || name.to_string()));
    };
    let found = Found {
        resolved,
        holder,
        access: field.access,
    };
    access::check_member(policy, class, found, || {
        format!("field {}.{name}", holder.java_name())
    })?;
    if field.is_static() != is_static {
        let expected = if is_static { "static" } else { "non-static" };
        return Err(policy.refuse("java/lang/IncompatibleClassChangeError", || {
            format!("Expected {expected} field {}.{name}", holder.java_name())
        }));
    }
    let loaders = (class.info.loader, holder.info.loader);
    policy.agree(loaders, descriptor, |ty| {
        message::field_disagrees(class, holder, field, ty)
    })?;
    Ok((holder, field))
}

impl Write {
    /// Throws IllegalAccessError unless code of `class` may write `field` so.
    pub(crate) fn check(
        self,
        thread: &Thread,
        class: &'static Class,
        holder: &'static Class,
        field: &Field,
    ) -> Result<(), Thrown> {
        if self.is_allowed(class, holder, field) {
            return Ok(());
        }
        let (kind, initializer) = match self.is_static {
            true => ("static", "<clinit>"),
            false => ("non-static", "<init>"),
        };
        let what = format!("{kind} final field {}.{}", holder.java_name(), field.name);
        let message = if core::ptr::eq(class, holder) {
            let mut writer = "?".to_owned();
            unwind::walk(thread, |frame| {
                writer = frame.method.name.to_string();
                false
            });
            // HotSpot's text, its last space included.
            format!(
                "Update to {what} attempted from a different method ({writer}) than the initializer method {initializer} "
            )
        } else {
            let class = class.java_name();
            format!(
                "Update to {what} attempted from a different class ({class}) than the field's declaring class"
            )
        };
        Err(thread.throw("java/lang/IllegalAccessError", &message))
    }
}

fn holder_of(class: &'static Class, index: u16) -> Option<(u16, bool)> {
    match class.info.file.constants.get(index).ok()? {
        Constant::Method(holder, _) => Some((holder, false)),
        Constant::InterfaceMethod(holder, _) => Some((holder, true)),
        _ => None,
    }
}

/// Arrays have a public `clone`.
fn found_in(resolved: &'static Class, method: &'static Method) -> Found {
    let is_array_clone = resolved.is_array() && method.name.is("clone");
    let public = if is_array_clone { flags::PUBLIC } else { 0 };
    Found {
        resolved,
        holder: method.class(),
        access: method.access | public,
    }
}

/// DEX code does not say of direct calls whether they are of an interface's method.
fn may_be_either(class: &'static Class, holder: &'static Class, kind: InvokeKind) -> bool {
    let is_direct = matches!(kind, InvokeKind::Static | InvokeKind::Special);
    class.info.dex.is_some() && is_direct && holder.is_interface()
}

/// A method as code or a handle names it.
#[derive(Clone, Copy)]
pub(crate) struct MethodReference {
    pub(crate) holder: &'static Class,
    pub(crate) is_interface: bool,
    pub(crate) name: Symbol,
    pub(crate) descriptor: Symbol,
}

impl MethodReference {
    /// As messages have it, of the class where it was found.
    pub(crate) fn text(self, class: &'static Class) -> String {
        format!("'{}'", message::method(class, self.name, self.descriptor))
    }

    /// The method, if `from` may use it; who is nobody may use all.
    pub(crate) fn find<P: Policy>(
        self,
        policy: P,
        from: Option<&'static Class>,
    ) -> Result<&'static Method, P::Refusal> {
        let Self {
            holder,
            is_interface,
            name,
            descriptor,
        } = self;
        if holder.is_interface() != is_interface {
            return Err(policy.refuse("java/lang/IncompatibleClassChangeError", || {
                message::wrong_kind_of_class(holder)
            }));
        }
        let found = if is_interface {
            find_interface_method(holder, name, descriptor)
        } else {
            find_method(holder, name, descriptor)
        };
        let Some(method) = found else {
            return Err(policy.refuse("java/lang/NoSuchMethodError", || self.text(holder)));
        };
        if let Some(from) = from {
            access::check_member(policy, from, found_in(holder, method), || {
                format!("method {}", self.text(method.class()))
            })?;
        }
        Ok(method)
    }

    /// Refuses a static method where `kind` calls one of an object, and the other way round.
    pub(crate) fn check_kind<P: Policy>(
        self,
        policy: P,
        method: &'static Method,
        kind: InvokeKind,
    ) -> Result<(), P::Refusal> {
        if method.is_static() == (kind == InvokeKind::Static) {
            return Ok(());
        }
        // HotSpot's words.
        let expected = match kind {
            InvokeKind::Static => "Expected static",
            _ if self.is_interface => "Expected instance not static",
            _ => "Expecting non-static",
        };
        Err(policy.refuse("java/lang/IncompatibleClassChangeError", || {
            format!("{expected} method {}", self.text(method.class()))
        }))
    }
}

/// The method at a constant's index, as `kind` calls it.
pub(crate) fn method_at<P: Policy>(
    policy: P,
    class: &'static Class,
    index: u16,
    kind: InvokeKind,
) -> Result<&'static Method, P::Refusal> {
    let pool = &class.info.file.constants;
    let member = pool
        .member(index)
        .map_err(|error| bad_constant(policy, class, &error))?;
    let Some((holder, is_interface)) = holder_of(class, index) else {
        let error = classfile::Error::Malformed("Method constant expected");
        return Err(bad_constant(policy, class, &error));
    };
    let holder = class_at(policy, class, holder)?;
    let reference = MethodReference {
        holder,
        is_interface: is_interface || may_be_either(class, holder, kind),
        name: Symbol::new(member.name),
        descriptor: Symbol::new(member.descriptor),
    };
    let method = reference.find(policy, Some(class))?;
    let loaders = (class.info.loader, method.class().info.loader);
    policy.agree(loaders, method.descriptor, |ty| {
        message::method_disagrees(class, method, reference.is_interface, ty)
    })?;
    reference.check_kind(policy, method, kind)?;
    if class.info.dex.is_some() {
        let call = Call {
            class,
            index,
            kind,
            holder,
        };
        return call.target(policy, method);
    }
    Ok(if kind == InvokeKind::Special {
        special_target(class, method, holder)
    } else {
        method
    })
}

/// `invokespecial` of a superclass's method starts at the direct superclass.
fn special_target(
    class: &'static Class,
    method: &'static Method,
    holder: &'static Class,
) -> &'static Method {
    let calls_super = !method.is_constructor()
        && !method.is_private()
        && !holder.is_interface()
        && !core::ptr::eq(class, holder)
        && class.is_subtype_of(holder);
    let parent = class.super_class().filter(|_| calls_super);
    let found = parent.and_then(|parent| find_method(parent, method.name, method.descriptor));
    found.unwrap_or(method)
}

/// What a receiver of `class` runs for an interface's method.
pub(crate) fn select_interface(
    thread: &Thread,
    class: &'static Class,
    method: &'static Method,
) -> Result<&'static Method, Thrown> {
    if let Some(found) = tables::find_in_row(class, method)
        && !found.is_abstract()
    {
        return Ok(found);
    }
    let interface = method.class();
    if !class.is_subtype_of(interface) {
        let message = format!(
            "Class {} does not implement the requested interface {}",
            class.java_name(),
            interface.java_name()
        );
        return Err(thread.throw("java/lang/IncompatibleClassChangeError", &message));
    }
    match tables::select(class, method) {
        Selected::Method(selected) => Ok(selected),
        refused => Err(refusal::thrown(thread, class, method, &refused)),
    }
}

/// Only ordinary classes have instances.
pub(crate) fn check_instantiable(thread: &Thread, class: &'static Class) -> Result<(), Thrown> {
    if class.is_abstract() || class.is_interface() || class.is_array() || class.is_primitive() {
        return Err(thread.throw("java/lang/InstantiationError", &class.java_name()));
    }
    // The machine alone makes class objects.
    if class.is(Library::Class) {
        return Err(thread.throw("java/lang/IllegalAccessError", &class.java_name()));
    }
    Ok(())
}

/// A new object of an initialised class, registered with the finaliser if it must be.
pub(crate) fn new_object(thread: &Thread, class: &'static Class) -> Result<ObjectRef, Thrown> {
    let object = heap_binding::new_object(thread, class)?;
    if class.has_finalizer() {
        let finalizer = thread.boot_class("java/lang/ref/Finalizer")?;
        finalizer.initialize(thread)?;
        let register = finalizer.method_named("register", "(Ljava/lang/Object;)V");
        thread.call(register.expect("Finalizer registers"), &[object.0.into()])?;
    }
    Ok(object)
}

/// A class's loader among those that Java code made.
pub(crate) fn is_boot(class: &'static Class) -> bool {
    core::ptr::eq(class.info.loader, loader::boot())
}
