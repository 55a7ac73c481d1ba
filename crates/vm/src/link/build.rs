// SPDX-License-Identifier: Apache-2.0
//! Building class records.

use std::mem::offset_of;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use abi::layout::{Layout, MAP_WORDS, ReferenceKind, Shape as ObjectShape};
use abi::object::{ALIGNMENT, HEADER_BYTES};
use classfile::{ClassFile, FieldType, MethodDescriptor, access};
use compiler::{Shape, class_record};
use ir::{MemoryKind, bytecode::memory_kind};

use crate::classes::alloc;
use crate::classes::class::{Class, ClassInfo, ClassKind, Field, Method, MethodFlags};
use crate::classes::dex::DexClass;
use crate::classes::failure::Failures;
use crate::classes::known::OWN_LAYOUT;
use crate::classes::library::Library;
use crate::classes::state::InitState;
use crate::code::cache;
use crate::link::define::Definition;
use crate::link::loader::Loader;
use crate::link::tables;
use crate::memory;
use crate::memory::symbol::Symbol;
use crate::sync::lock::Lock;

/// Fields that the machine adds to classes of the library.
const INJECTED: [(Library, &str, MemoryKind); 6] = [
    (Library::Class, "$class", MemoryKind::Int),
    (Library::Class, OWN_LAYOUT, MemoryKind::Int),
    (Library::ClassLoader, "$loader", MemoryKind::Int),
    (Library::ResolvedMethodName, "$target", MemoryKind::Long),
    (Library::MemberName, "$index", MemoryKind::Long),
    (Library::Throwable, "$frames", MemoryKind::Int),
];

/// What a class record is made from.
pub(crate) struct Parts {
    pub(crate) kind: ClassKind,
    pub(crate) name: Symbol,
    pub(crate) access: u16,
    pub(crate) loader: &'static Loader,
    pub(crate) library: Option<Library>,
    pub(crate) super_class: Option<&'static Class>,
    pub(crate) interfaces: Vec<&'static Class>,
    pub(crate) file: ClassFile<'static>,
    pub(crate) bytes: &'static [u8],
    pub(crate) dex: Option<&'static DexClass>,
    pub(crate) is_android: bool,
    pub(crate) fields: Vec<Field>,
    pub(crate) methods: Vec<&'static Method>,
    pub(crate) layout: Layout,
    pub(crate) fields_end: u32,
    pub(crate) slots: Vec<u32>,
    pub(crate) statics_layout: Option<u32>,
    pub(crate) element: Option<&'static Class>,
    pub(crate) is_hidden: bool,
    pub(crate) host: Option<&'static Class>,
}

impl Parts {
    pub(crate) fn new(kind: ClassKind, name: Symbol, loader: &'static Loader) -> Self {
        Self {
            kind,
            name,
            access: 0,
            loader,
            library: None,
            super_class: None,
            interfaces: Vec::new(),
            file: ClassFile::default(),
            bytes: &[],
            dex: None,
            is_android: false,
            fields: Vec::new(),
            methods: Vec::new(),
            layout: Layout::fields(HEADER_BYTES, &[]),
            fields_end: HEADER_BYTES,
            slots: Vec::new(),
            statics_layout: None,
            element: None,
            is_hidden: false,
            host: None,
        }
    }
}

/// What an array's class takes at most: its record, Object's methods, two interfaces.
pub(super) const ARRAY_BYTES_MAX: u64 = 4096;

/// What a class takes of metadata at most: its record, its tables, its layouts.
pub(super) fn metadata_bound(
    file: &ClassFile<'static>,
    super_class: Option<&'static Class>,
    interfaces: &[&'static Class],
) -> u64 {
    let (vtable, slots) = super_class.map_or((0, 0), |parent| {
        (parent.info.vtable.len(), parent.info.slots.len())
    });
    let tables = (vtable + file.methods.len()) * 8;
    let layouts = 2 * size_of::<Layout>() + (slots + file.fields.len()) * 4;
    let is_concrete = file.access & (access::INTERFACE | access::ABSTRACT) == 0;
    let selection = if is_concrete {
        tables::interface_bound(&tables::all_interfaces(super_class, interfaces))
    } else {
        0
    };
    // Each piece is rounded up to 16 bytes.
    (size_of::<Class>() + tables + layouts + selection + 64) as u64
}

/// Builds the tables and writes the record.
pub(crate) fn finish(parts: Parts) -> &'static Class {
    let is_interface = parts.access & access::INTERFACE != 0 && parts.element.is_none();
    let all_interfaces = tables::all_interfaces(parts.super_class, &parts.interfaces);
    let vtable = if is_interface {
        tables::mark_interface_methods(&parts.methods);
        parts
            .super_class
            .map_or_else(Vec::new, |object| object.info.vtable.clone())
    } else {
        // Package-private overriding looks at the holders of inherited methods only.
        tables::vtable(parts.name, parts.loader, parts.super_class, &parts.methods)
    };
    let address = memory::metadata(size_of::<Class>() + vtable.len() * 8);
    let depth = parts.super_class.map_or(0, |parent| parent.depth + 1);
    let mut display = parts.super_class.map_or([0; 8], |parent| parent.display);
    if depth < class_record::DISPLAY_COUNT {
        display[depth as usize] = address as u32;
    }
    let is_instantiable = !is_interface && parts.access & access::ABSTRACT == 0;
    let needs_table = is_instantiable || parts.element.is_some();
    let methods = parts.methods.clone();
    let interface_id = if is_interface {
        tables::next_interface_id()
    } else {
        0
    };
    let (count, element) = (vtable.len() as u32, parts.element);
    let layout = parts.layout;
    for (place, method) in vtable.iter().enumerate() {
        let at = address + class_record::VTABLE as u64 + place as u64 * 8;
        memory::write(at, method.address());
    }
    let pending = vtable.clone();
    let info = keep_info(parts, vtable, all_interfaces);
    let record = Class {
        display,
        interfaces: 0,
        interfaces_mask: 0,
        depth,
        element: element.map_or(0, Class::address),
        interface_id,
        vtable_count: count,
        ..Class::with_zeroes(layout, info)
    };
    let class = Class::write(address, record);
    for method in methods {
        let _ = method.class.set(class);
    }
    let selected = if needs_table { &pending[..] } else { &[] };
    let interfaces = if needs_table {
        &info.all_interfaces[..]
    } else {
        &[]
    };
    let (table, mask) = tables::interface_table(selected, interfaces);
    class.set_interfaces(address, table, mask);
    let is_plain = is_instantiable && class.info.kind == ClassKind::Instance;
    if class.info.kind == ClassKind::Array {
        let longest = alloc::longest_array(&class.layout);
        memory::write(address + offset_of!(Class, longest_array) as u64, longest);
    } else if is_plain && class.finds_finalizer() {
        class.has_finalizer.store(true, Ordering::Relaxed);
    } else if is_plain {
        let (bump_range, cell_bytes) = alloc::instance(&class.layout);
        memory::write(address + offset_of!(Class, bump_range) as u64, bump_range);
        memory::write(address + offset_of!(Class, cell_bytes) as u64, cell_bytes);
    }
    class
}

fn keep_info(
    parts: Parts,
    vtable: Vec<&'static Method>,
    all_interfaces: Vec<&'static Class>,
) -> &'static ClassInfo {
    Box::leak(Box::new(ClassInfo {
        kind: parts.kind,
        name: parts.name,
        access: parts.access,
        super_class: parts.super_class,
        interfaces: parts.interfaces,
        all_interfaces,
        loader: parts.loader,
        library: parts.library,
        file: parts.file,
        bytes: parts.bytes,
        content: OnceLock::new(),
        dex: parts.dex,
        is_android: parts.is_android,
        fields: parts.fields,
        field_ids: OnceLock::new(),
        methods: parts.methods,
        vtable,
        element: parts.element,
        is_hidden: parts.is_hidden,
        host: parts.host,
        init: InitState::new(),
        is_verified: core::sync::atomic::AtomicBool::new(false),
        failures: Failures::new(),
        call_sites: Lock::new(Vec::new()),
        sites: Lock::default(),
        statics_layout: parts.statics_layout,
        fields_end: parts.fields_end,
        slots: parts.slots,
        class_data: AtomicU32::new(0),
        signers: AtomicU32::new(0),
        protection_domain: AtomicU32::new(0),
    }))
}

impl Class {
    /// Puts a record at its place in metadata.
    fn write(address: u64, record: Class) -> &'static Class {
        // SAFETY: 1. `address` was handed out by `memory::metadata` for a record and its vtable.
        // 2. It is 16-byte aligned. 3. Nobody else knows it yet.
        unsafe {
            (address as *mut Class).write(record);
        }
        Class::at(address as u32)
    }

    /// Sets the interface table of a record that is not yet published.
    fn set_interfaces(&self, address: u64, table: u64, mask: u32) {
        memory::write(address + class_record::INTERFACES as u64, table);
        memory::write(address + class_record::INTERFACES_MASK as u64, mask);
    }
}

/// The class of arrays of `element`, not yet published.
pub(super) fn array_class(element: &'static Class) -> &'static Class {
    let known = crate::classes::known::known_early();
    let layout = match element.memory_kind() {
        Some(MemoryKind::Ref) => Layout::reference_array(),
        Some(kind) => Layout::primitive_array(kind.size_log2()),
        None => unreachable!("no arrays of void are asked for"),
    };
    let name = match element.info.kind {
        ClassKind::Instance => format!("[L{};", element.name()),
        ClassKind::Array => format!("[{}", element.name()),
        ClassKind::Primitive(kind) => format!("[{}", crate::classes::class::primitive_code(kind)),
    };
    let visibility = element.info.access & (access::PUBLIC | access::PRIVATE | access::PROTECTED);
    let mut parts = Parts::new(
        ClassKind::Array,
        Symbol::new(name.as_bytes()),
        element.info.loader,
    );
    parts.access = visibility | access::FINAL | access::ABSTRACT;
    parts.super_class = Some(known.object);
    parts.interfaces = known.array_interfaces.clone();
    parts.layout = layout;
    parts.element = Some(element);
    finish(parts)
}

static NEXT_HIDDEN: AtomicU32 = AtomicU32::new(1);

/// A class or interface from its file, not yet published.
pub(super) fn instance_class(
    loader: &'static Loader,
    file: ClassFile<'static>,
    super_class: Option<&'static Class>,
    interfaces: Vec<&'static Class>,
    definition: &Definition,
) -> &'static Class {
    let mut name = Symbol::new(file.name);
    let is_hidden = definition.hidden.is_some();
    if is_hidden {
        let number = NEXT_HIDDEN.fetch_add(1, Ordering::Relaxed);
        // The library makes classes of several names from one file.
        let front = definition.name.unwrap_or(name);
        name = Symbol::new(format!("{front}/0x{number:016x}").as_bytes());
    }
    let mut parts = Parts::new(ClassKind::Instance, name, loader);
    parts.access = file.access;
    parts.is_hidden = is_hidden;
    parts.library = (!is_hidden)
        .then(|| Library::of(loader, file.name))
        .flatten();
    parts.host = definition
        .hidden
        .as_ref()
        .filter(|hidden| hidden.is_nestmate)
        .map(|hidden| hidden.host);
    lay_out(&mut parts, &file, super_class);
    let origin = Origin {
        library: parts.library,
        // As on HotSpot: others may write what they like, and it says nothing.
        may_annotate: loader.is_boot() || crate::link::mirror::is_platform_loader(loader),
        is_hidden,
    };
    parts.methods = (0..file.methods.len())
        .map(|index| build_method(&file, index, &origin))
        .collect();
    let mut place = 0;
    let is_interface = file.access & access::INTERFACE != 0;
    if is_interface {
        for method in &mut parts.methods {
            if tables::has_place(method) {
                *method = with_place(method, place);
                place += 1;
            }
        }
    }
    parts.super_class = super_class;
    parts.interfaces = interfaces;
    parts.file = file;
    parts.bytes = definition.bytes;
    parts.dex = definition.dex;
    parts.is_android = definition.is_android;
    finish(parts)
}

fn with_place(method: &Method, place: u32) -> &'static Method {
    publish(Method {
        interface_place: place,
        ..unpublished_copy(method)
    })
}

/// A record with the name and class of a published method, but without code.
pub(super) fn abstract_twin(method: &Method) -> &'static Method {
    publish(Method {
        class: core::cell::OnceCell::from(method.class()),
        access: method.access | access::ABSTRACT,
        ..unpublished_copy(method)
    })
}

fn unpublished_copy(method: &Method) -> Method {
    Method {
        entry: AtomicU64::new(0),
        vtable_offset: AtomicU32::new(0),
        native: AtomicU64::new(0),
        class: core::cell::OnceCell::new(),
        shape: method.shape.clone(),
        stays: AtomicBool::new(false),
        overridden: AtomicBool::new(false),
        code: AtomicU64::new(0),
        adapter: AtomicU64::new(0),
        turn: Lock::default(),
        ..*method
    }
}

fn publish(method: Method) -> &'static Method {
    let method: &'static Method = Box::leak(Box::new(method));
    method
        .entry
        .store(cache::stub_for(method), Ordering::Release);
    method
}

/// What a method's class says of it.
struct Origin {
    library: Option<Library>,
    /// Whether annotations may ask something of the machine.
    may_annotate: bool,
    is_hidden: bool,
}

fn build_method(file: &ClassFile<'static>, index: usize, origin: &Origin) -> &'static Method {
    let parsed = &file.methods[index];
    let is_static = parsed.access & access::STATIC != 0;
    let descriptor = MethodDescriptor::parse(parsed.descriptor).expect("parsed with the file");
    let receiver = (!is_static).then_some(ir::Type::Ref);
    let kinds = descriptor.parameters.iter().filter_map(memory_kind);
    let shape = Shape {
        parameters: receiver
            .into_iter()
            .chain(kinds.map(MemoryKind::register_type))
            .collect(),
        result: memory_kind(&descriptor.result).map(MemoryKind::register_type),
    };
    let mut flags = if origin.may_annotate {
        annotation_flags(file, parsed.annotations)
    } else {
        MethodFlags::default()
    };
    // Frames of hidden classes are not shown.
    flags.is_hidden |= origin.is_hidden;
    let is_handle = matches!(
        origin.library,
        Some(Library::MethodHandle | Library::VarHandle)
    );
    let polymorphic = access::NATIVE | access::VARARGS;
    flags.is_signature_polymorphic = is_handle && parsed.access & polymorphic == polymorphic;
    publish(Method {
        entry: AtomicU64::new(0),
        vtable_offset: AtomicU32::new(0),
        interface_place: 0,
        native: AtomicU64::new(0),
        class: core::cell::OnceCell::new(),
        name: Symbol::new(parsed.name),
        descriptor: Symbol::new(parsed.descriptor),
        access: parsed.access,
        index,
        shape,
        flags,
        stays: AtomicBool::new(false),
        overridden: AtomicBool::new(false),
        code: AtomicU64::new(0),
        adapter: AtomicU64::new(0),
        turn: Lock::default(),
    })
}

/// Looks for the type names of the annotations that matter to the machine.
fn annotation_flags(file: &ClassFile<'static>, annotations: Option<&[u8]>) -> MethodFlags {
    let mut flags = MethodFlags::default();
    let Some(bytes) = annotations else {
        return flags;
    };
    // The marker annotations have no elements: two bytes of type, two of count.
    let count = bytes
        .get(..2)
        .map_or(0, |b| u16::from_be_bytes([b[0], b[1]]));
    let mut at = 2;
    for _ in 0..count {
        let Some(head) = bytes.get(at..at + 4) else {
            break;
        };
        let ty = file
            .constants
            .utf8(u16::from_be_bytes([head[0], head[1]]))
            .unwrap_or_default();
        flags.is_caller_sensitive |= ty == b"Ljdk/internal/reflect/CallerSensitive;";
        flags.is_hidden |= ty == b"Ljdk/internal/vm/annotation/Hidden;"
            || ty == b"Ljava/lang/invoke/LambdaForm$Hidden;";
        flags.is_form |= ty == b"Ljava/lang/invoke/LambdaForm$Compiled;";
        if head[2..] != [0, 0] {
            break;
        }
        at += 4;
    }
    flags
}

/// Gives every field its offset.
fn lay_out(parts: &mut Parts, file: &ClassFile<'static>, super_class: Option<&'static Class>) {
    let mut fields: Vec<Field> = file.fields.iter().enumerate().map(field_of).collect();
    for (_, name, kind) in INJECTED
        .iter()
        .filter(|(class, ..)| Some(*class) == parts.library)
    {
        fields.push(Field {
            name: Symbol::new(name.as_bytes()),
            descriptor: Symbol::new(b""),
            access: access::PRIVATE,
            kind: *kind,
            offset: 0,
            index: None,
        });
    }
    let start = super_class.map_or(HEADER_BYTES, |parent| parent.info.fields_end);
    let mut slots = super_class.map_or_else(Vec::new, |parent| parent.info.slots.clone());
    let (end, own_slots) = place_fields(&mut fields, start, false);
    slots.extend(own_slots);
    let kind = reference_kind(parts.library, super_class);
    let mut referent = 0;
    if kind != ReferenceKind::Strong {
        let reference = super_class.and_then(|parent| parent.field_named("referent"));
        referent = reference.map_or(0, |field| field.offset);
        slots.retain(|&slot| slot != referent);
    }
    parts.layout = make_layout(end, &slots);
    parts.layout.reference_kind = kind;
    parts.layout.referent_offset = referent;
    let is_class = parts.library == Some(Library::Class);
    if is_class {
        let own = fields
            .iter()
            .find(|field| field.name == Symbol::new(OWN_LAYOUT.as_bytes()));
        let offset = own.expect("it is injected").offset;
        parts.layout.own_offset = u8::try_from(offset).expect("class objects are small");
        let _ = CLASS_OBJECTS.set((end, slots.clone()));
    }
    parts.statics_layout = lay_out_statics(&mut fields);
    (parts.fields, parts.fields_end, parts.slots) = (fields, end, slots);
}

/// Gives the static fields their places in the class object; the address of that one's layout, if
/// there are any.
fn lay_out_statics(fields: &mut [Field]) -> Option<u32> {
    if !fields.iter().any(Field::is_static) {
        return None;
    }
    let (start, slots) = CLASS_OBJECTS
        .get()
        .expect("no class before java.lang.Class has static fields");
    let (end, own_slots) = place_fields(fields, *start, true);
    let record = memory::metadata(size_of::<Layout>());
    write_layout(record, make_layout(end, &[&slots[..], &own_slots].concat()));
    Some(record as u32)
}

/// Where the fields of all class objects end, and which of them are references.
static CLASS_OBJECTS: OnceLock<(u32, Vec<u32>)> = OnceLock::new();

fn write_layout(address: u64, layout: Layout) {
    // SAFETY: 1. Fresh metadata of a layout's size. 2. Aligned to 16.
    unsafe { (address as *mut Layout).write(layout) }
}

fn field_of((index, parsed): (usize, &classfile::Field<'static>)) -> Field {
    let ty = FieldType::parse(parsed.descriptor).expect("parsed with the file");
    Field {
        name: Symbol::new(parsed.name),
        descriptor: Symbol::new(parsed.descriptor),
        access: parsed.access,
        kind: memory_kind(&ty).expect("no field is void"),
        offset: 0,
        index: Some(index),
    }
}

/// Places the static or the other fields from `start` on: wide ones first, with
/// a small one before them where alignment would leave a gap.
fn place_fields(fields: &mut [Field], start: u32, is_static: bool) -> (u32, Vec<u32>) {
    let mut order: Vec<usize> = (0..fields.len())
        .filter(|&i| fields[i].is_static() == is_static)
        .collect();
    order.sort_by_key(|&index| core::cmp::Reverse(fields[index].kind.size_log2()));
    let (mut next, mut slots) = (start, Vec::new());
    let mut place = |field: &mut Field, next: &mut u32| {
        let size = 1 << field.kind.size_log2();
        field.offset = next.next_multiple_of(size);
        *next = field.offset + size;
        if field.kind == MemoryKind::Ref {
            slots.push(field.offset);
        }
    };
    let has_wide = order
        .first()
        .is_some_and(|&index| fields[index].kind.size_log2() == 3);
    if has_wide {
        next = next.next_multiple_of(4);
        if !next.is_multiple_of(8)
            && let Some(at) = order.iter().position(|&i| fields[i].kind.size_log2() == 2)
        {
            let filler = order.remove(at);
            place(&mut fields[filler], &mut next);
        }
    }
    for index in order {
        place(&mut fields[index], &mut next);
    }
    (next, slots)
}

fn reference_kind(library: Option<Library>, super_class: Option<&'static Class>) -> ReferenceKind {
    match library {
        Some(Library::SoftReference) => ReferenceKind::Soft,
        Some(Library::WeakReference) => ReferenceKind::Weak,
        Some(Library::FinalReference) => ReferenceKind::Final,
        Some(Library::PhantomReference) => ReferenceKind::Phantom,
        _ => super_class.map_or(ReferenceKind::Strong, |parent| parent.layout.reference_kind),
    }
}

/// A layout of any size; slots beyond the map go to a list in metadata.
fn make_layout(bytes: u32, slots: &[u32]) -> Layout {
    let is_near = |slot: &u32| (slot - HEADER_BYTES) / 4 < MAP_WORDS;
    let near: Vec<u32> = slots.iter().copied().filter(is_near).collect();
    let mut far: Vec<u32> = slots
        .iter()
        .copied()
        .filter(|slot| !is_near(slot))
        .collect();
    let mut layout = Layout::fields(bytes.max(HEADER_BYTES), &near);
    debug_assert_eq!(layout.shape, ObjectShape::Fields);
    if !far.is_empty() {
        far.sort_unstable();
        let list = memory::metadata(far.len() * 4);
        for (place, slot) in far.iter().enumerate() {
            memory::write(list + place as u64 * 4, *slot);
        }
        layout.far_slots = list as u32;
        layout.far_count = far.len() as u32;
        layout.slot_count = slots.len() as u32;
    }
    debug_assert!(layout.bytes.is_multiple_of(ALIGNMENT));
    layout
}
