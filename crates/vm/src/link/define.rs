// SPDX-License-Identifier: Apache-2.0
//! Defining classes: from bytes to a linked [`Class`].
//!
//! Everything that does not run Java code of the class happens here at once:
//! superclasses are loaded, fields laid out, vtable and interface table built.

use core::sync::atomic::Ordering;
use std::sync::OnceLock;

use classfile::{ClassFile, access};

use crate::classes::class::{Class, ClassKind};
use crate::classes::dex::DexClass;
use crate::classes::object::ObjectRef;
use crate::code::cache;
use crate::console;
use crate::link::boot_path;
use crate::link::build;
use crate::link::circle;
use crate::link::heritage;
use crate::link::loader::{self, Loader, Refusal};
use crate::link::mirror;
use crate::memory;
use crate::memory::symbol::Symbol;
use crate::objects::heap_binding;
use crate::sync::lock::Lock;
use crate::threads::ledger::{self, Ledger};
use crate::threads::thread::{Thread, Thrown};

/// What is to be defined.
pub(crate) struct Definition {
    pub(crate) loader: &'static Loader,
    /// The name expected, if one is.
    pub(crate) name: Option<Symbol>,
    pub(crate) bytes: &'static [u8],
    pub(crate) protection_domain: ObjectRef,
    /// For a hidden class.
    pub(crate) hidden: Option<Hidden>,
    /// Where the code is, if `bytes` are the outline of a DEX class.
    pub(crate) dex: Option<&'static DexClass>,
    /// Whether it was written for ART.
    pub(crate) is_android: bool,
}

/// What a hidden class is defined with.
pub(crate) struct Hidden {
    pub(crate) host: &'static Class,
    pub(crate) is_nestmate: bool,
    pub(crate) class_data: ObjectRef,
}

impl Definition {
    pub(crate) fn plain(
        loader: &'static Loader,
        name: Option<Symbol>,
        bytes: &'static [u8],
    ) -> Self {
        Self {
            loader,
            name,
            bytes,
            protection_domain: ObjectRef::NULL,
            hidden: None,
            dex: None,
            is_android: false,
        }
    }
}

/// What may replace a class file.
type Transform = fn(&Thread, &Definition) -> Option<Vec<u8>>;

static TRANSFORM: OnceLock<Transform> = OnceLock::new();

/// From now on `transform` sees each class file, but those of hidden classes, before it is parsed.
pub(crate) fn transform_by(transform: Transform) {
    let _ = TRANSFORM.set(transform);
}

/// Parses, checks and links one class.
pub(crate) fn define(thread: &Thread, definition: Definition) -> Result<&'static Class, Thrown> {
    let note = |ledger: &Ledger, ns, outcome: &Result<&'static Class, Thrown>| {
        if let Ok(class) = outcome {
            ledger.late_class(class, ns);
        }
    };
    ledger::timed(thread, || define_now(thread, definition), note)
}

fn define_now(thread: &Thread, mut definition: Definition) -> Result<&'static Class, Thrown> {
    if let Some(transform) = TRANSFORM.get()
        && definition.hidden.is_none()
        && definition.dex.is_none()
        && let Some(bytes) = transform(thread, &definition)
    {
        definition.bytes = boot_path::make_foreign(bytes);
    }
    let file = parse(thread, &definition)?;
    let loader = definition.loader;
    let own_name = Symbol::new(file.name);
    if let Some(expected) = definition.name
        && expected != own_name
        && definition.hidden.is_none()
    {
        let message = format!("{expected} (wrong name: {own_name})");
        return Err(thread.throw("java/lang/NoClassDefFoundError", &message));
    }
    if definition.hidden.is_none()
        && let Some(known) = loader.loaded(own_name)
    {
        return Err(Refusal::Taken(known).thrown(thread, loader, known));
    }
    let (super_class, interfaces) = load_parents(thread, &definition, &file)?;
    if !loader.is_boot() {
        heritage::check(thread, &definition, &file, super_class, &interfaces)?;
        check_package(thread, loader, own_name)?;
    }
    let methods = file.methods.len() as u64;
    if !memory::has_metadata(build::metadata_bound(&file, super_class, &interfaces)) {
        return Err(thread.throw_out_of_memory("Metaspace"));
    }
    if cache::is_full() && methods > 0 {
        // Each method has a stub.
        return Err(thread.throw_out_of_memory("Code cache"));
    }
    // Takes as long as the class is large, and touches no object.
    let class = thread.outside(|| {
        build::instance_class(
            definition.loader,
            file,
            super_class,
            interfaces,
            &definition,
        )
    });
    mirror::attach(thread, class)?;
    heap_binding::keep(definition.protection_domain);
    class
        .info
        .protection_domain
        .store(definition.protection_domain.0, Ordering::Release);
    if let Some(hidden) = &definition.hidden {
        heap_binding::keep(hidden.class_data);
        class
            .info
            .class_data
            .store(hidden.class_data.0, Ordering::Release);
        mirror::set_class_data(class, hidden.class_data);
    }
    loader::enter(loader, class).map_err(|refusal| refusal.thrown(thread, loader, class))?;
    if crate::options::get()
        .is_verbose_class
        .load(Ordering::Relaxed)
    {
        class_loaded(class);
    }
    Ok(class)
}

/// Packages of the library's own (`java/`) are the platform loader's, and the boot loader's. The
/// library looks at the name that it is given; who gives none has it in the class file.
fn check_package(thread: &Thread, loader: &Loader, name: Symbol) -> Result<(), Thrown> {
    let dotted = name.dotted();
    let package = dotted.rsplit_once('.').map_or("", |(package, _)| package);
    let is_library = dotted.starts_with("java.");
    if !is_library || mirror::is_platform_loader(loader) {
        return Ok(());
    }
    let message = format!(
        "Class loader (instance of): {} tried to load prohibited package name: {package}",
        mirror::loader_name(loader)
    );
    Err(thread.throw("java/lang/SecurityException", &message))
}

fn parse(thread: &Thread, definition: &Definition) -> Result<ClassFile<'static>, Thrown> {
    let name = || {
        definition
            .name
            .map_or_else(|| "unknown".to_owned(), |name| name.to_string())
    };
    let is_library = definition.loader.is_boot() && !boot_path::is_foreign(definition.bytes);
    let is_trusted = is_library && !crate::options::get().is_library_verified;
    // An outline is made of a DEX file, which has rules of its own: `dex::verify`.
    let is_checked = !is_trusted && definition.dex.is_none();
    let read = || {
        let file = ClassFile::parse(definition.bytes)?;
        if is_checked {
            file.check()?;
        }
        Ok(file)
    };
    // The bytes may still be on disk.
    let file = thread.outside(read).map_err(|error| match error {
        classfile::Error::Module => {
            let message = format!("{} is {error}", name());
            thread.throw("java/lang/NoClassDefFoundError", &message)
        }
        classfile::Error::Version { major, minor } => {
            let message = format!(
                "{} has been compiled by a more recent version of the Java Runtime (class file version {major}.{minor}), this version of the Java Runtime only recognizes class file versions up to 61.0",
                name()
            );
            thread.throw("java/lang/UnsupportedClassVersionError", &message)
        }
        error => {
            let message = format!("{error} in class file {}", name());
            thread.throw("java/lang/ClassFormatError", &message)
        }
    })?;
    if file.super_name.is_none() && file.name != b"java/lang/Object" {
        let message = format!("Invalid superclass index 0 in class file {}", name());
        return Err(thread.throw("java/lang/ClassFormatError", &message));
    }
    Ok(file)
}

/// The superclass and the interfaces.
type Parents = (Option<&'static Class>, Vec<&'static Class>);

/// As on HotSpot the interfaces are loaded first.
fn load_parents(
    thread: &Thread,
    definition: &Definition,
    file: &ClassFile<'static>,
) -> Result<Parents, Thrown> {
    let (loader, name) = (definition.loader, Symbol::new(file.name));
    // A hidden class has another name than its file.
    let is_plain = definition.hidden.is_none();
    if is_plain && file.super_name == Some(file.name) {
        return Err(circular(thread, name));
    }
    let loading = match is_plain {
        true => {
            let begun = circle::begin(loader.id(), name);
            Some(begun.ok_or_else(|| circular(thread, name))?)
        }
        false => None,
    };
    let go_to = |parent| match &loading {
        Some(loading) => loading
            .go_to(parent)
            .map_err(|closing| circular(thread, closing)),
        None => Ok(()),
    };
    let interfaces = file.interfaces.iter().map(|it| {
        let parent = Symbol::new(it);
        go_to(parent)?;
        load_interface(thread, loader, name, parent)
    });
    let interfaces = interfaces.collect::<Result<_, _>>()?;
    let Some(parent) = file.super_name.map(Symbol::new) else {
        return Ok((None, interfaces));
    };
    go_to(parent)?;
    Ok((Some(load_super(thread, loader, name, parent)?), interfaces))
}

fn circular(thread: &Thread, name: Symbol) -> Thrown {
    thread.throw("java/lang/ClassCircularityError", &name.to_string())
}

fn load_interface(
    thread: &Thread,
    loader: &'static Loader,
    heir: Symbol,
    name: Symbol,
) -> Result<&'static Class, Thrown> {
    let interface = crate::link::resolve::class_by_name(thread, loader, name)?;
    if interface.is_interface() {
        return Ok(interface);
    }
    let message = format!(
        "class {} can not implement {}, because it is not an interface",
        heir.dotted(),
        interface.java_name()
    );
    Err(thread.throw("java/lang/IncompatibleClassChangeError", &message))
}

fn load_super(
    thread: &Thread,
    loader: &'static Loader,
    heir: Symbol,
    name: Symbol,
) -> Result<&'static Class, Thrown> {
    let parent = crate::link::resolve::class_by_name(thread, loader, name)?;
    let own = heir.dotted();
    let wrong = if parent.is_interface() {
        Some(format!(
            "class {own} has interface {} as super class",
            parent.java_name()
        ))
    } else if parent.is_final() {
        Some(format!(
            "class {own} cannot inherit from final class {}",
            parent.java_name()
        ))
    } else {
        None
    };
    match wrong {
        Some(message) => Err(thread.throw("java/lang/IncompatibleClassChangeError", &message)),
        None => Ok(parent),
    }
}

static ARRAYS: Lock<()> = Lock::new(());

/// The class of arrays of `element`, if it was made before.
pub(crate) fn array_of_loaded(element: &'static Class) -> Option<&'static Class> {
    match element.array_class.load(Ordering::Acquire) {
        0 => None,
        address => Some(Class::at(address)),
    }
}

/// The class of arrays of `element`.
pub(crate) fn array_of(thread: &Thread, element: &'static Class) -> Result<&'static Class, Thrown> {
    if let Some(found) = array_of_loaded(element) {
        return Ok(found);
    }
    if !memory::has_metadata(build::ARRAY_BYTES_MAX) {
        return Err(thread.throw_out_of_memory("Metaspace"));
    }
    let class = build::array_class(element);
    mirror::attach(thread, class)?;
    let _making = ARRAYS.lock();
    if let Some(found) = array_of_loaded(element) {
        return Ok(found);
    }
    element
        .array_class
        .store(class.address(), Ordering::Release);
    class.info.init.set_done();
    // Nobody else makes it: `ARRAYS`.
    let _ = loader::enter(element.info.loader, class);
    Ok(class)
}

/// The class of a primitive type or of void.
pub(crate) fn primitive(name: &str, kind: Option<ir::MemoryKind>) -> &'static Class {
    let class = build::finish(build::Parts {
        access: access::PUBLIC | access::FINAL | access::ABSTRACT,
        ..build::Parts::new(
            ClassKind::Primitive(kind),
            Symbol::new(name.as_bytes()),
            loader::boot(),
        )
    });
    class.info.init.set_done();
    class
}

/// One line per class for `-verbose:class`.
fn class_loaded(class: &'static Class) {
    console::note(&format!("[class,load] {}", class.java_name()));
}
