// SPDX-License-Identifier: Apache-2.0
//! [`Class`], [`Method`] and [`Field`]: linked classes.
//!
//! A class record lies in the metadata span with its vtable behind it; compiled
//! code reads its head at the offsets of `compiler::class_record`. What only
//! the machine needs is in [`ClassInfo`]. All are immortal.

use core::mem::offset_of;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use std::sync::OnceLock;

use abi::layout::Layout;
use classfile::{ClassFile, access};
use compiler::{Shape, class_record, method_record};
use ir::MemoryKind;

use crate::classes::dex::DexClass;
use crate::classes::failure::Failures;
use crate::classes::field_id::FieldId;
use crate::classes::library::Library;
use crate::classes::loader::Loader;
use crate::classes::object::ObjectRef;
use crate::classes::site::{Site, SiteKind};
use crate::classes::state::InitState;
use crate::memory;
use crate::memory::hash::Map;
use crate::memory::sum::{Sum, sum_of};
use crate::memory::symbol::Symbol;
use crate::sync::lock::Lock;

/// A class, interface, array class or primitive type.
#[repr(C, align(16))]
pub(crate) struct Class {
    pub(crate) layout: Layout,
    pub(crate) display: [u32; class_record::DISPLAY_COUNT as usize],
    pub(crate) interfaces: u64,
    pub(crate) interfaces_mask: u32,
    pub(crate) depth: u32,
    pub(crate) element: u32,
    pub(crate) mirror: AtomicU32,
    pub(crate) statics: AtomicU32,
    pub(crate) interface_id: u32,
    pub(crate) array_class: AtomicU32,
    pub(crate) vtable_count: u32,
    pub(crate) info: &'static ClassInfo,
    /// What `alloc` needs to know; zeroes if Rust code makes all instances.
    pub(crate) bump_range: u16,
    pub(crate) longest_array: u16,
    pub(crate) cell_bytes: u32,
    /// Not zero: initialised, and `bump_range` is there.
    pub(crate) is_ready: AtomicU32,
    /// Set before anyone sees the class.
    pub(crate) has_finalizer: AtomicBool,
}

const _: () = {
    assert!(offset_of!(Class, display) == class_record::DISPLAY as usize);
    assert!(offset_of!(Class, interfaces) == class_record::INTERFACES as usize);
    assert!(offset_of!(Class, interfaces_mask) == class_record::INTERFACES_MASK as usize);
    assert!(offset_of!(Class, depth) == class_record::DEPTH as usize);
    assert!(offset_of!(Class, element) == class_record::ELEMENT as usize);
    assert!(offset_of!(Class, mirror) == class_record::MIRROR as usize);
    assert!(offset_of!(Class, is_ready) == class_record::IS_READY as usize);
    assert!(size_of::<Class>() == class_record::VTABLE as usize);
    assert!(offset_of!(Method, entry) == method_record::ENTRY as usize);
    assert!(offset_of!(Method, vtable_offset) == method_record::VTABLE_OFFSET as usize);
    assert!(offset_of!(Method, native) == method_record::NATIVE as usize);
};

/// What kind of type a class record stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ClassKind {
    Instance,
    Array,
    /// `None` is void.
    Primitive(Option<MemoryKind>),
}

/// The part of a class that compiled code does not read.
pub(crate) struct ClassInfo {
    pub(crate) kind: ClassKind,
    /// Internal name; for an array its descriptor, for a hidden class with its suffix.
    pub(crate) name: Symbol,
    pub(crate) access: u16,
    pub(crate) super_class: Option<&'static Class>,
    /// Direct superinterfaces.
    pub(crate) interfaces: Vec<&'static Class>,
    /// All superinterfaces, each once.
    pub(crate) all_interfaces: Vec<&'static Class>,
    pub(crate) loader: &'static Loader,
    /// Which of the classes it is that the machine treats in a way of its own.
    pub(crate) library: Option<Library>,
    pub(crate) file: ClassFile<'static>,
    /// The bytes that `file` was read from.
    pub(crate) bytes: &'static [u8],
    /// Their sum, once asked for.
    pub(crate) content: OnceLock<Sum>,
    /// Where the code is, if it is DEX code; the file is then its outline.
    pub(crate) dex: Option<&'static DexClass>,
    /// Written for ART: from DEX, or Android's own. Its code keeps references as ART does.
    pub(crate) is_android: bool,
    pub(crate) fields: Vec<Field>,
    /// What a `jfieldID` of each field points to, once one is asked for.
    pub(crate) field_ids: OnceLock<Box<[FieldId]>>,
    pub(crate) methods: Vec<&'static Method>,
    /// The whole vtable.
    pub(crate) vtable: Vec<&'static Method>,
    /// Of an array: what its elements are.
    pub(crate) element: Option<&'static Class>,
    pub(crate) is_hidden: bool,
    /// The class whose nest a hidden class joins.
    pub(crate) host: Option<&'static Class>,
    pub(crate) init: InitState,
    /// Every method is proven, or trusted.
    pub(crate) is_verified: AtomicBool,
    /// Which of its constants could not be resolved.
    pub(crate) failures: Failures,
    /// One per computed call in compiled code.
    pub(crate) call_sites: Lock<Vec<&'static Site>>,
    /// What sites have found out, by kind and index.
    pub(crate) sites: Lock<Map<(SiteKind, u32), &'static Site>>,
    /// Layout record of the class object, if static fields lie in it.
    pub(crate) statics_layout: Option<u32>,
    /// Where fields end, before rounding.
    pub(crate) fields_end: u32,
    /// Offsets of strong slots.
    pub(crate) slots: Vec<u32>,
    /// Live objects patched into a hidden class's constants.
    pub(crate) class_data: AtomicU32,
    pub(crate) signers: AtomicU32,
    pub(crate) protection_domain: AtomicU32,
}

/// A field of an object or class.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub(crate) name: Symbol,
    pub(crate) descriptor: Symbol,
    pub(crate) access: u16,
    pub(crate) kind: MemoryKind,
    /// From the start of the object, or of the class object.
    pub(crate) offset: u32,
    /// Its place in the class file; injected fields have none.
    pub(crate) index: Option<usize>,
}

impl Field {
    pub(crate) fn is_static(&self) -> bool {
        self.access & access::STATIC != 0
    }

    pub(crate) fn is_volatile(&self) -> bool {
        self.access & access::VOLATILE != 0
    }
}

/// A method.
#[repr(C)]
pub(crate) struct Method {
    pub(crate) entry: AtomicU64,
    pub(crate) vtable_offset: AtomicU32,
    /// Place among its interface's methods.
    pub(crate) interface_place: u32,
    pub(crate) native: AtomicU64,
    pub(crate) class: core::cell::OnceCell<&'static Class>,
    pub(crate) name: Symbol,
    pub(crate) descriptor: Symbol,
    pub(crate) access: u16,
    /// Its place in the class file.
    pub(crate) index: usize,
    pub(crate) shape: Shape,
    pub(crate) flags: MethodFlags,
    /// A real-time thread runs it: its entry stays.
    pub(crate) stays: AtomicBool,
    /// A loaded class has another one in its place: see [`Method::is_overridden`].
    pub(crate) overridden: AtomicBool,
    /// Its code, once there is some; its entry may be a stub again meanwhile (`compile/again`).
    pub(crate) code: AtomicU64,
    /// Address of the adapter for its shape, once made.
    pub(crate) adapter: AtomicU64,
    /// Whose turn it is to compile it.
    pub(crate) turn: Lock<()>,
}

// SAFETY: 1. `class` is set once, before the method is published with its class.
unsafe impl Sync for Method {}
// SAFETY: 1. Nothing in a method belongs to a thread.
unsafe impl Send for Method {}

/// What annotations say of a method.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct MethodFlags {
    pub(crate) is_caller_sensitive: bool,
    pub(crate) is_hidden: bool,
    /// A lambda form's code: it stands for no caller, though its class may.
    pub(crate) is_form: bool,
    pub(crate) is_signature_polymorphic: bool,
}

impl Method {
    pub(crate) fn class(&self) -> &'static Class {
        self.class
            .get()
            .expect("a method is published with its class")
    }

    pub(crate) fn is_static(&self) -> bool {
        self.access & access::STATIC != 0
    }

    pub(crate) fn is_native(&self) -> bool {
        self.access & access::NATIVE != 0
    }

    pub(crate) fn is_abstract(&self) -> bool {
        self.access & access::ABSTRACT != 0
    }

    /// Whether a class overrides it that is loaded by now: a hint, for others may come.
    pub(crate) fn is_overridden(&self) -> bool {
        self.overridden.load(Ordering::Relaxed)
    }

    pub(crate) fn is_private(&self) -> bool {
        self.access & access::PRIVATE != 0
    }

    pub(crate) fn is_constructor(&self) -> bool {
        self.name.is("<init>")
    }

    pub(crate) fn address(&'static self) -> u64 {
        core::ptr::from_ref(self) as u64
    }

    /// The method whose record lies at `address`.
    pub(crate) fn at(address: u64) -> &'static Method {
        debug_assert!(address != 0);
        // SAFETY: 1. Method addresses come from `address` only, and methods are immortal.
        unsafe { &*(address as *const Method) }
    }

    /// Offset of its vtable place in a class record; none if calls go to it directly.
    pub(crate) fn vtable_offset(&self) -> Option<u32> {
        match self.vtable_offset.load(Ordering::Relaxed) {
            0 | method_record::VTABLE_ASK => None,
            offset => Some(offset),
        }
    }

    pub(crate) fn file(&self) -> &'static classfile::Method<'static> {
        &self.class().info.file.methods[self.index]
    }

    pub(crate) fn has_code(&self) -> bool {
        match self.class().info.dex {
            Some(dex) => dex.has_code(self),
            None => self.file().code.is_some(),
        }
    }

    /// Its code as IR; the error says why it does not verify.
    pub(crate) fn translate(&self) -> Result<ir::Function, ir::bytecode::TranslateError> {
        let info = self.class().info;
        let mut function = match info.dex {
            Some(dex) => dex.translate(self),
            None => ir::bytecode::translate(&info.file, self.file()),
        }?;
        function.keeps_references = info.is_android;
        Ok(function)
    }

    /// Whether it has code, and less than that.
    pub(crate) fn is_shorter_than(&self, bytes: usize) -> bool {
        self.code_bytes().is_some_and(|it| it < bytes)
    }

    /// How long its code is: of a class file or in code units of DEX, two bytes each.
    pub(crate) fn code_bytes(&self) -> Option<usize> {
        match self.class().info.dex {
            Some(dex) => dex.code_bytes(self),
            None => Some(self.file().code.as_ref()?.bytes.len()),
        }
    }

    /// Whether it only returns.
    fn does_nothing(&self) -> bool {
        match self.class().info.dex {
            Some(dex) => dex.is_empty(self),
            None => self
                .file()
                .code
                .as_ref()
                .is_some_and(|code| code.bytes == [0xb1]),
        }
    }

    /// The source line of the instruction at bytecode offset or code unit `at`.
    pub(crate) fn line(&self, at: u32) -> Option<i32> {
        match self.class().info.dex {
            Some(dex) => dex.line(self, at).map(|line| line as i32),
            None => {
                let code = self.file().code.as_ref()?;
                code.line(at as u16).map(i32::from)
            }
        }
    }

    pub(crate) fn full_name(&self) -> String {
        format!(
            "{}.{}{}",
            self.class().info.name.dotted(),
            self.name,
            self.descriptor
        )
    }
}

impl Class {
    pub(crate) fn at(address: u32) -> &'static Class {
        debug_assert!(
            memory::map().metadata.contains(address),
            "no class at {address:#x}"
        );
        // SAFETY: 1. Class words hold addresses of finished records only, and classes are immortal.
        unsafe { &*(u64::from(address) as *const Class) }
    }

    pub(crate) fn address(&'static self) -> u32 {
        core::ptr::from_ref(self) as u64 as u32
    }

    pub(crate) fn name(&self) -> Symbol {
        self.info.name
    }

    /// As messages and `Class.getName` have it.
    pub(crate) fn java_name(&self) -> String {
        if self.info.is_hidden {
            // The last slash of a hidden class stays.
            let name = self.info.name.to_string();
            return match name.rsplit_once('/') {
                Some((front, suffix)) => format!("{}/{suffix}", front.replace('/', ".")),
                None => name,
            };
        }
        let mut innermost = self;
        while let Some(element) = innermost.info.element {
            innermost = element;
        }
        if innermost.info.is_hidden {
            let brackets = self.info.name.bytes().iter().take_while(|&&it| it == b'[');
            return format!(
                "{}L{};",
                "[".repeat(brackets.count()),
                innermost.java_name()
            );
        }
        self.info.name.dotted()
    }

    pub(crate) fn is_interface(&self) -> bool {
        self.info.access & access::INTERFACE != 0
    }

    pub(crate) fn is_array(&self) -> bool {
        self.info.kind == ClassKind::Array
    }

    pub(crate) fn is_primitive(&self) -> bool {
        matches!(self.info.kind, ClassKind::Primitive(_))
    }

    pub(crate) fn is_abstract(&self) -> bool {
        self.info.access & access::ABSTRACT != 0
    }

    pub(crate) fn is_final(&self) -> bool {
        self.info.access & access::FINAL != 0
    }

    /// What the class's code is kept under.
    pub(crate) fn content(&self) -> Sum {
        *self.info.content.get_or_init(|| match self.info.dex {
            Some(dex) => self.sum_with(&[self.info.bytes, dex.file_sum()]),
            None if self.info.is_hidden => self.unnumbered_content(),
            None => self.sum_with(&[self.info.bytes]),
        })
    }

    /// Of the parts of a class file; its code differs where it keeps references.
    fn sum_with(&self, parts: &[&[u8]]) -> Sum {
        let keeping: &[&[u8]] = if self.info.is_android {
            &[b"android"]
        } else {
            &[]
        };
        sum_of(&[parts, keeping].concat())
    }

    /// Of a hidden class: lambdas are numbered as they are made, which says nothing of their code.
    fn unnumbered_content(&self) -> Sum {
        let (bytes, name) = (self.info.bytes, self.info.file.name);
        let at = (name.as_ptr() as usize).wrapping_sub(bytes.as_ptr() as usize);
        let number = name.iter().rev().take_while(|it| it.is_ascii_digit());
        let plain = &name[..name.len() - number.count()];
        let is_lambda = plain.ends_with(b"$$Lambda$");
        let behind = at.checked_add(name.len());
        let rest = behind.and_then(|behind| bytes.get(behind..));
        match (bytes.get(..at), rest) {
            // Before a constant's text stand two bytes of its length.
            (Some([before @ .., _, _]), Some(rest)) if is_lambda => {
                self.sum_with(&[before, plain, rest])
            }
            _ => self.sum_with(&[bytes]),
        }
    }

    pub(crate) fn super_class(&self) -> Option<&'static Class> {
        self.info.super_class
    }

    pub(crate) fn mirror(&self) -> ObjectRef {
        ObjectRef(self.mirror.load(Ordering::Acquire))
    }

    pub(crate) fn statics(&self) -> ObjectRef {
        ObjectRef(self.statics.load(Ordering::Acquire))
    }

    /// Of array elements, or of the type itself.
    pub(crate) fn memory_kind(&self) -> Option<MemoryKind> {
        match self.info.kind {
            ClassKind::Primitive(kind) => kind,
            _ => Some(MemoryKind::Ref),
        }
    }

    /// Entry `index` of the vtable.
    pub(crate) fn vtable_entry(&'static self, offset: u32) -> &'static Method {
        debug_assert!(offset >= class_record::VTABLE as u32);
        debug_assert!((offset - class_record::VTABLE as u32) / 8 < self.vtable_count);
        Method::at(memory::read(u64::from(self.address()) + u64::from(offset)))
    }

    pub(crate) fn is_subtype_of(&'static self, other: &'static Class) -> bool {
        if core::ptr::eq(self, other) {
            return true;
        }
        if other.is_interface() {
            return self
                .info
                .all_interfaces
                .iter()
                .any(|&i| core::ptr::eq(i, other));
        }
        if let (Some(own), Some(target)) = (self.info.element, other.info.element) {
            return !own.is_primitive() && !target.is_primitive() && own.is_subtype_of(target);
        }
        let mut next = self.super_class();
        while let Some(class) = next {
            if core::ptr::eq(class, other) {
                return true;
            }
            next = class.super_class();
        }
        false
    }

    /// A record with nothing but layout and info.
    pub(crate) fn with_zeroes(layout: Layout, info: &'static ClassInfo) -> Self {
        Self {
            layout,
            display: [0; class_record::DISPLAY_COUNT as usize],
            interfaces: 0,
            interfaces_mask: 0,
            depth: 0,
            element: 0,
            mirror: AtomicU32::new(0),
            statics: AtomicU32::new(0),
            interface_id: 0,
            array_class: AtomicU32::new(0),
            vtable_count: 0,
            info,
            bump_range: 0,
            longest_array: 0,
            cell_bytes: 0,
            is_ready: AtomicU32::new(0),
            has_finalizer: AtomicBool::new(false),
        }
    }

    /// Whether instances must be registered with the finaliser.
    pub(crate) fn has_finalizer(&self) -> bool {
        self.has_finalizer.load(Ordering::Relaxed)
    }

    /// Looks for a `finalize` that does something.
    pub(crate) fn finds_finalizer(&self) -> bool {
        let finalize = self
            .info
            .vtable
            .iter()
            .find(|method| method.name.is("finalize") && method.descriptor.is("()V"));
        finalize
            .is_some_and(|method| method.class().super_class().is_some() && !method.does_nothing())
    }

    /// The package's internal name; empty for the unnamed one.
    pub(crate) fn package(&self) -> &'static [u8] {
        let mut name = self.info.name.bytes();
        if self.info.is_hidden {
            // The suffix behind the last slash is no part of the name.
            let end = name
                .iter()
                .rposition(|&b| b == b'/' || b == b'+')
                .unwrap_or(name.len());
            name = &name[..end];
        }
        match name.iter().rposition(|&b| b == b'/') {
            Some(end) => &name[..end],
            None => b"",
        }
    }

    /// The same package of the same loader.
    pub(crate) fn is_in_package_of(&self, other: &Class) -> bool {
        core::ptr::eq(self.info.loader, other.info.loader) && self.package() == other.package()
    }

    /// A field declared here.
    pub(crate) fn declared_field(&self, name: Symbol, descriptor: Symbol) -> Option<&Field> {
        self.info
            .fields
            .iter()
            .find(|field| field.name == name && field.descriptor == descriptor)
    }

    /// A method declared here.
    pub(crate) fn declared_method(
        &self,
        name: Symbol,
        descriptor: Symbol,
    ) -> Option<&'static Method> {
        let methods = self.info.methods.iter().copied();
        methods
            .into_iter()
            .find(|method| method.name == name && method.descriptor == descriptor)
    }

    /// A field by name alone, here or in a superclass.
    pub(crate) fn field_named(&'static self, name: &str) -> Option<&'static Field> {
        let mut next = Some(self);
        while let Some(class) = next {
            if let Some(field) = class.info.fields.iter().find(|field| field.name.is(name)) {
                return Some(field);
            }
            next = class.super_class();
        }
        None
    }

    /// A method by name and descriptor, here or in a superclass.
    pub(crate) fn method_named(
        &'static self,
        name: &str,
        descriptor: &str,
    ) -> Option<&'static Method> {
        let (name, descriptor) = (
            Symbol::new(name.as_bytes()),
            Symbol::new(descriptor.as_bytes()),
        );
        let mut next = Some(self);
        while let Some(class) = next {
            if let Some(method) = class.declared_method(name, descriptor) {
                return Some(method);
            }
            next = class.super_class();
        }
        None
    }
}

/// The letter of a primitive type in descriptors.
pub(crate) fn primitive_code(kind: Option<MemoryKind>) -> char {
    match kind {
        None => 'V',
        Some(MemoryKind::Boolean) => 'Z',
        Some(MemoryKind::Byte) => 'B',
        Some(MemoryKind::Char) => 'C',
        Some(MemoryKind::Short) => 'S',
        Some(MemoryKind::Int) => 'I',
        Some(MemoryKind::Long) => 'J',
        Some(MemoryKind::Float) => 'F',
        Some(MemoryKind::Double) => 'D',
        Some(MemoryKind::Ref) => 'L',
    }
}
