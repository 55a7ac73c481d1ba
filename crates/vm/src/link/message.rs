// SPDX-License-Identifier: Apache-2.0
//! Texts of errors, as HotSpot words them.

use classfile::{FieldType, MethodDescriptor, Primitive};

use crate::classes::class::{Class, ClassKind, Field, Method};
use crate::classes::object::ObjectRef;
use crate::link::constraint::Assumption;
use crate::link::loader::Loader;
use crate::link::mirror;
use crate::link::module::Refusal;
use crate::memory::symbol::Symbol;
use crate::monitors::monitor;

/// A type as the language writes it.
pub(crate) fn type_name(ty: &FieldType<'_>) -> String {
    match ty {
        FieldType::Void => "void".into(),
        FieldType::Primitive(primitive) => match primitive {
            Primitive::Boolean => "boolean",
            Primitive::Char => "char",
            Primitive::Float => "float",
            Primitive::Double => "double",
            Primitive::Byte => "byte",
            Primitive::Short => "short",
            Primitive::Int => "int",
            Primitive::Long => "long",
        }
        .into(),
        FieldType::Class(name) => classfile::to_string_lossy(name).replace('/', "."),
        FieldType::Array(descriptor) => match FieldType::parse(&descriptor[1..]) {
            Ok(element) => format!("{}[]", type_name(&element)),
            Err(_) => classfile::to_string_lossy(descriptor),
        },
    }
}

/// `int pack.Class.name(long, java.lang.String)`.
pub(crate) fn method(holder: &'static Class, name: Symbol, descriptor: Symbol) -> String {
    signature(&format!("{}.{name}", holder.java_name()), descriptor)
}

/// `int name(long, java.lang.String)`.
fn signature(name: &str, descriptor: Symbol) -> String {
    let Ok(parsed) = MethodDescriptor::parse(descriptor.bytes()) else {
        return format!("{name}{descriptor}");
    };
    let parameters: Vec<_> = parsed.parameters.iter().map(type_name).collect();
    let result = type_name(&parsed.result);
    format!("{result} {name}({})", parameters.join(", "))
}

/// Which module and loader a class is of, for cast errors.
fn home(class: &'static Class) -> String {
    let mut innermost = class;
    while let Some(element) = innermost.info.element {
        innermost = element;
    }
    if matches!(innermost.info.kind, ClassKind::Primitive(_)) {
        return "module java.base of loader 'bootstrap'".into();
    }
    let loader = mirror::loader_name(innermost.info.loader);
    match mirror::module_name(innermost) {
        Some((module, Some(version))) => format!("module {module}@{version} of loader {loader}"),
        Some((module, None)) => format!("module {module} of loader {loader}"),
        None => format!("unnamed module of loader {loader}"),
    }
}

/// As [`home`], and where the loader asks first.
fn home_and_parent(class: &'static Class) -> String {
    let parent = mirror::parent_loader_name(class.info.loader);
    let parent = parent.map(|parent| format!(", parent loader {parent}"));
    format!("{}{}", home(class), parent.unwrap_or_default())
}

/// `A and B are in …`, or where each of them is.
fn homes(first: &'static Class, second: &'static Class) -> String {
    homes_by(home, first, second)
}

fn homes_and_parents(first: &'static Class, second: &'static Class) -> String {
    homes_by(home_and_parent, first, second)
}

fn homes_by(
    home: fn(&'static Class) -> String,
    first: &'static Class,
    second: &'static Class,
) -> String {
    let (first_name, second_name) = (first.java_name(), second.java_name());
    let (first_home, second_home) = (home(first), home(second));
    if first_home == second_home {
        format!("{first_name} and {second_name} are in {first_home}")
    } else {
        format!("{first_name} is in {first_home}; {second_name} is in {second_home}")
    }
}

/// As [`homes`], of a class that is not there yet. Application classes have no modules of their own
/// here.
pub(crate) fn homes_of_heir(name: &str, loader: &'static Loader, parent: &'static Class) -> String {
    let own_home = format!("unnamed module of loader {}", mirror::loader_name(loader));
    let (parent_name, parent_home) = (parent.java_name(), home(parent));
    if own_home == parent_home {
        format!("{name} and {parent_name} are in {own_home}")
    } else {
        format!("{name} is in {own_home}; {parent_name} is in {parent_home}")
    }
}

/// `class A cannot be cast to class B (…)`.
pub(crate) fn cast(own: &'static Class, target: &'static Class) -> String {
    let (own_name, target_name) = (own.java_name(), target.java_name());
    let homes = homes(own, target);
    format!("class {own_name} cannot be cast to class {target_name} ({homes})")
}

/// `failed to access class A from class B (…)`.
pub(crate) fn hidden_class(from: &'static Class, class: &'static Class) -> String {
    let (name, from_name) = (class.java_name(), from.java_name());
    let homes = homes(class, from);
    format!("failed to access class {name} from class {from_name} ({homes})")
}

/// `class A (in module M) cannot access class B (in module N) because …`.
pub(crate) fn hidden_by_module(
    from: &str,
    module: ObjectRef,
    class: &'static Class,
    refusal: Refusal,
) -> String {
    let [own, other] = [module, mirror::module_of(class)].map(module_text);
    let why = match refusal {
        Refusal::NotRead => format!("{own} does not read {other}"),
        Refusal::NotExported => {
            let package = Symbol::new(class.package()).dotted();
            format!("{other} does not export {package} to {own}")
        }
    };
    let name = class.java_name();
    format!("class {from} (in {own}) cannot access class {name} (in {other}) because {why}")
}

/// As `Module.toString` names it, but for the number of one without a name.
fn module_text(module: ObjectRef) -> String {
    match mirror::name_of_module(module) {
        Some((name, _)) => format!("module {name}"),
        None => format!("unnamed module @0x{:x}", monitor::identity_hash(module)),
    }
}

/// `class A tried to access private field B.f (…)`; `member` is the part from `private` on.
pub(crate) fn hidden_member(from: &'static Class, holder: &'static Class, member: &str) -> String {
    let from_name = from.java_name();
    let homes = homes(from, holder);
    format!("class {from_name} tried to access {member} ({homes})")
}

pub(crate) fn wrong_kind_of_class(holder: &'static Class) -> String {
    let name = holder.java_name();
    if holder.is_interface() {
        format!("Found interface {name}, but class was expected")
    } else {
        format!("Found class {name}, but interface was expected")
    }
}

pub(crate) fn receiver(class: &'static Class, interface: &'static Class) -> String {
    format!(
        "Receiver class {} must be the current class or a subtype of interface {}",
        class.java_name(),
        interface.java_name()
    )
}

pub(crate) fn abstract_method(class: &'static Class, called: &'static Method) -> String {
    let holder = called.class();
    let kind = if called.is_abstract() {
        "abstract "
    } else {
        ""
    };
    format!(
        "Receiver class {} does not define or inherit an implementation of the resolved method '{kind}{}' of {} {}.",
        class.java_name(),
        signature(&called.name.to_string(), called.descriptor),
        external_kind(holder),
        holder.java_name()
    )
}

/// Of a method that takes any arguments. HotSpot has no such words for VarHandle's.
pub(crate) fn not_reflective(method: &'static Method) -> String {
    let class = method.class().java_name();
    let simple = class.rsplit('.').next().unwrap_or_default();
    format!("{simple}.{} cannot be invoked reflectively", method.name)
}

pub(crate) fn conflicting_defaults(defaults: &[&'static Method]) -> String {
    let names = defaults.iter();
    let names = names.map(|it| format!(" {}.{}", it.class().name(), it.name));
    format!("Conflicting default methods:{}", names.collect::<String>())
}

fn external_kind(class: &'static Class) -> &'static str {
    match (class.is_interface(), class.is_abstract()) {
        (true, _) => "interface",
        (_, true) => "abstract class",
        _ => "class",
    }
}

pub(crate) fn duplicate_class(loader: &Loader, class: &'static Class) -> String {
    let (kind, name) = (external_kind(class), class.java_name());
    let loader = mirror::loader_name(loader);
    let home = home_and_parent(class);
    format!(
        "loader {loader} attempted duplicate {kind} definition for {name}. ({name} is in {home})"
    )
}

/// `loader` gets a class whose name it has agreed to mean `agreed`.
pub(crate) fn other_class(loader: &Loader, agreed: &'static Class) -> String {
    let (kind, name) = (external_kind(agreed), agreed.java_name());
    let (loader, other) = (
        mirror::loader_name(loader),
        mirror::loader_name(agreed.info.loader),
    );
    let home = home_and_parent(agreed);
    format!(
        "loader constraint violation: loader {loader} wants to load {kind} {name}. A different {kind} with the same name was previously loaded by {other}. ({name} is in {home})"
    )
}

/// `loader` gets a class of which verified code assumed something else when it was not there.
pub(crate) fn unfit_class(loader: &Loader, class: &'static Class, assumed: Assumption) -> String {
    let (loader, class) = (mirror::loader_name(loader), class.java_name());
    let (from, to) = (assumed.from.dotted(), assumed.to.dotted());
    format!(
        "loader {loader} may not load class {class}: verified code takes each {from} for a {to}, one of which could not be loaded then"
    )
}

pub(crate) fn field_disagrees(
    class: &'static Class,
    holder: &'static Class,
    field: &Field,
    ty: &str,
) -> String {
    let field_type = FieldType::parse(field.descriptor.bytes()).map(|ty| type_name(&ty));
    format!(
        "loader constraint violation: when resolving field \"{}\" of type {}, the class loader {} of the current class, {}, and the class loader {} for the field's defining class, {}, have different Class objects for type {ty} ({})",
        field.name,
        field_type.unwrap_or_default(),
        mirror::loader_name(class.info.loader),
        class.java_name(),
        mirror::loader_name(holder.info.loader),
        holder.java_name(),
        homes_and_parents(class, holder)
    )
}

pub(crate) fn method_disagrees(
    class: &'static Class,
    found: &'static Method,
    is_interface: bool,
    ty: &str,
) -> String {
    let holder = found.class();
    format!(
        "loader constraint violation: when resolving {} '{}' the class loader {} of the current class, {}, and the class loader {} for the method's defining class, {}, have different Class objects for the type {ty} used in the signature ({})",
        if is_interface {
            "interface method"
        } else {
            "method"
        },
        method(holder, found.name, found.descriptor),
        mirror::loader_name(class.info.loader),
        class.java_name(),
        mirror::loader_name(holder.info.loader),
        holder.java_name(),
        homes_and_parents(class, holder)
    )
}

pub(crate) fn overriding_disagrees(
    own: &'static Method,
    inherited: &'static Method,
    ty: &str,
) -> String {
    let (class, parent) = (own.class(), inherited.class());
    format!(
        "loader constraint violation for class {}: when selecting overriding method '{}' the class loader {} of the selected method's type {}, and the class loader {} for its super type {} have different Class objects for the type {ty} used in the signature ({})",
        class.java_name(),
        method(class, own.name, own.descriptor),
        mirror::loader_name(class.info.loader),
        class.java_name(),
        mirror::loader_name(parent.info.loader),
        parent.java_name(),
        homes_and_parents(class, parent)
    )
}

pub(crate) fn implementing_disagrees(
    class: &'static Class,
    declared: &'static Method,
    chosen: &'static Method,
    ty: &str,
) -> String {
    let (interface, holder) = (declared.class(), chosen.class());
    format!(
        "loader constraint violation in interface itable initialization for class {}: when selecting method '{}' the class loader {} for super interface {}, and the class loader {} of the selected method's {}, {} have different Class objects for the type {ty} used in the signature ({})",
        class.java_name(),
        method(interface, declared.name, declared.descriptor),
        mirror::loader_name(interface.info.loader),
        interface.java_name(),
        mirror::loader_name(holder.info.loader),
        external_kind(holder),
        holder.java_name(),
        homes_and_parents(interface, holder)
    )
}
