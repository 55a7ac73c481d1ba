// SPDX-License-Identifier: Apache-2.0
//! [`Outline`]: a DEX class as the class file that it would have been, without code.
//!
//! The machine links, resolves and reflects over class files only. A DEX class
//! is written down as one: its names, members, annotations and every constant
//! that its code uses. The code stays in the DEX file; [`translate`](super::translate)
//! finds the constants by the DEX file's own indices here.

use std::collections::HashMap;

use dex::{
    ClassDef, DexFile, EncodedValue, Field, Instruction, MethodHandleKind, Opcode, Operands, Unit,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::attributes::Annotations;
use super::pool::{Bytes, Pool};

/// What an instruction's index names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    String(u32),
    Field(u32),
    /// Whether an `invoke-interface` names it.
    Method(u32, bool),
    /// Named by an `invoke-super`.
    Super(u32),
    /// A method that takes any arguments, and those it is called with.
    Polymorphic(u32, u32),
    Proto(u32),
    Handle(u32),
    CallSite(u32),
    /// The field that holds the class object of a primitive type.
    Primitive(u8),
    /// The words about a `filled-new-array` of this type.
    BadFill(u32),
    /// The constructor of what is thrown with words.
    Thrown,
}

/// A class file without code, and where in it the DEX file's constants are.
pub struct Outline<'a> {
    /// The class file.
    pub bytes: Vec<u8>,
    /// The class's methods, in the order of the class file.
    pub methods: Vec<dex::Method>,
    /// The class's own descriptor.
    pub(super) class: &'a [u8],
    classes: HashMap<&'a [u8], u16>,
    indices: HashMap<Key, u16>,
    /// Constants that `invoke-super` alone uses.
    supers: FxHashSet<u16>,
    /// What is wrong with instructions, by method index. Nothing of such a method is in here.
    pub(super) faults: FxHashMap<u32, String>,
}

pub(super) const THROWABLE: &[u8] = b"Ljava/lang/Throwable;";
pub(super) const OBJECT: &[u8] = b"Ljava/lang/Object;";
const MAJOR: u16 = 61;
const SYNCHRONIZED: u32 = 0x20;
const DECLARED_SYNCHRONIZED: u32 = 0x2_0000;
const SUPER: u16 = 0x20;

/// Descriptor of the type at `index`.
pub(super) fn descriptor<'a>(file: &DexFile<'a>, index: u32) -> &'a [u8] {
    file.string(file.type_string(index))
}

/// Descriptor of the method type at `index`.
pub(super) fn method_descriptor(file: &DexFile<'_>, index: u32) -> Vec<u8> {
    let proto = file.proto(index);
    let mut text = vec![b'('];
    for parameter in proto.parameters.iter() {
        text.extend(descriptor(file, parameter));
    }
    text.push(b')');
    text.extend(descriptor(file, proto.return_type));
    text
}

impl<'a> Outline<'a> {
    /// Writes `class` of `file` down; says what a class file cannot hold.
    pub fn new(file: &DexFile<'a>, class: &ClassDef) -> Result<Self, String> {
        let mut writer = Writer::new(file);
        let data = class.data(file);
        let annotations = Annotations::new(file, class);
        check_flags(file, class, &data)?;
        let mut head = Bytes::default();
        let this = descriptor(file, class.class);
        let superclass = class.superclass.map(|index| descriptor(file, index));
        head.u16(class.access as u16 & !SUPER);
        head.u16(writer.class(this));
        head.u16(superclass.map_or(0, |it| writer.class(it)));
        let interfaces = class.interfaces(file);
        head.u16(interfaces.len() as u16);
        for interface in interfaces.iter() {
            head.u16(writer.class(descriptor(file, interface)));
        }
        let mut values = class.static_values(file).into_iter();
        head.u16(count(
            "fields",
            data.static_fields.len() + data.instance_fields.len(),
        )?);
        for field in &data.static_fields {
            writer.field(&mut head, field, values.next(), &annotations)?;
        }
        for field in &data.instance_fields {
            writer.field(&mut head, field, None, &annotations)?;
        }
        let methods: Vec<dex::Method> = data.methods().copied().collect();
        let mut faults = FxHashMap::default();
        head.u16(count("methods", methods.len())?);
        for method in &methods {
            writer.method(&mut head, method, &annotations)?;
            match method.check_code(file) {
                Ok(()) => writer.constants_of(method)?,
                Err(fault) => drop(faults.insert(method.method, fault.to_string())),
            }
        }
        let mut attributes = annotations.of_class(file, class, &mut writer.pool)?;
        if !writer.bootstraps.is_empty() {
            let mut body = Bytes::default();
            body.u16(writer.bootstraps.len() as u16);
            for bootstrap in &writer.bootstraps {
                body.bytes(bootstrap);
            }
            attributes.push(("BootstrapMethods", body.0));
        }
        write_attributes(&mut head, &mut writer.pool, attributes);
        let mut bytes = Bytes::default();
        bytes.u32(0xcafe_babe).u16(0).u16(MAJOR);
        bytes.bytes(&writer.pool.finish()?).bytes(&head.0);
        Ok(Self {
            bytes: bytes.0,
            methods,
            class: this,
            classes: writer.classes,
            indices: writer.indices,
            supers: writer.supers,
            faults,
        })
    }

    /// Whether the constant at `index` is what an `invoke-super` calls.
    pub fn is_super_call(&self, index: u16) -> bool {
        self.supers.contains(&index)
    }

    pub(super) fn class_index(&self, descriptor: &[u8]) -> Result<u32, String> {
        let found = self.classes.get(descriptor).copied();
        found.map(u32::from).ok_or_else(|| {
            let name = classfile::to_string_lossy(descriptor);
            format!("no constant for class {name}")
        })
    }

    pub(super) fn index(&self, key: Key) -> Result<u32, String> {
        let found = self.indices.get(&key).copied();
        found
            .map(u32::from)
            .ok_or_else(|| format!("no constant for {key:?}"))
    }
}

fn count(what: &str, count: usize) -> Result<u16, String> {
    u16::try_from(count).map_err(|_| format!("{count} {what} in one class, 65535 at most"))
}

/// Attributes of one thing: names and bodies.
pub(super) type Attributes = Vec<(&'static str, Vec<u8>)>;

pub(super) fn write_attributes(out: &mut Bytes, pool: &mut Pool, attributes: Attributes) {
    out.u16(attributes.len() as u16);
    for (name, body) in attributes {
        out.u16(pool.utf8(name.as_bytes()));
        out.u32(body.len() as u32).bytes(&body);
    }
}

struct Writer<'f, 'a> {
    file: &'f DexFile<'a>,
    pool: Pool,
    classes: HashMap<&'a [u8], u16>,
    indices: HashMap<Key, u16>,
    bootstraps: Vec<Vec<u8>>,
    supers: FxHashSet<u16>,
}

impl<'f, 'a> Writer<'f, 'a> {
    fn new(file: &'f DexFile<'a>) -> Self {
        Self {
            file,
            pool: Pool::new(),
            classes: HashMap::new(),
            indices: HashMap::new(),
            bootstraps: Vec::new(),
            supers: FxHashSet::default(),
        }
    }

    fn class(&mut self, descriptor: &'a [u8]) -> u16 {
        let index = self.pool.class(descriptor);
        self.classes.insert(descriptor, index);
        index
    }

    fn field(
        &mut self,
        out: &mut Bytes,
        field: &Field,
        value: Option<EncodedValue>,
        annotations: &Annotations,
    ) -> Result<(), String> {
        let id = self.file.field(field.field);
        let kind = descriptor(self.file, id.kind);
        out.u16(field.access as u16);
        out.u16(self.pool.utf8(self.file.string(id.name)));
        out.u16(self.pool.utf8(kind));
        let mut attributes = annotations.of_field(self.file, field.field, &mut self.pool)?;
        if let Some(value) = value
            && let Some(index) = self.initial(kind, &value)?
        {
            attributes.push(("ConstantValue", index.to_be_bytes().to_vec()));
        }
        write_attributes(out, &mut self.pool, attributes);
        Ok(())
    }

    /// The constant a static field starts with; none for null.
    fn initial(&mut self, kind: &[u8], value: &EncodedValue) -> Result<Option<u16>, String> {
        use EncodedValue as V;
        let is_any = |names: &[&[u8]]| names.contains(&kind);
        let texts: [&[u8]; 4] = [
            b"Ljava/lang/String;",
            OBJECT,
            b"Ljava/lang/CharSequence;",
            b"Ljava/lang/Comparable;",
        ];
        Ok(Some(match *value {
            V::Null if matches!(kind[0], b'L' | b'[') => return Ok(None),
            V::Boolean(it) if kind == b"Z" => self.pool.integer(it.into()),
            V::Byte(it) if kind == b"B" => self.pool.integer(it.into()),
            V::Short(it) if kind == b"S" => self.pool.integer(it.into()),
            V::Char(it) if kind == b"C" => self.pool.integer(it.into()),
            V::Int(it) if kind == b"I" => self.pool.integer(it),
            V::Long(it) if kind == b"J" => self.pool.long(it),
            V::Float(it) if kind == b"F" => self.pool.float(it),
            V::Double(it) if kind == b"D" => self.pool.double(it),
            V::String(it) if is_any(&texts) => self.pool.string(self.file.string(it)),
            V::Type(it) if is_any(&[b"Ljava/lang/Class;", OBJECT]) => {
                let named = descriptor(self.file, it);
                if !matches!(named[0], b'L' | b'[') {
                    return Err("a primitive type as initial value of a field".into());
                }
                self.class(named)
            }
            _ => {
                return Err(
                    "the initial value of a static field is not of the field's type".into(),
                );
            }
        }))
    }

    fn method(
        &mut self,
        out: &mut Bytes,
        method: &dex::Method,
        annotations: &Annotations,
    ) -> Result<(), String> {
        let id = self.file.method(method.method);
        let mut access = method.access;
        if access & DECLARED_SYNCHRONIZED != 0 {
            access |= SYNCHRONIZED;
        }
        out.u16(access as u16);
        out.u16(self.pool.utf8(self.file.string(id.name)));
        out.u16(self.pool.utf8(&method_descriptor(self.file, id.proto)));
        let attributes = annotations.of_method(self.file, method.method, &mut self.pool)?;
        write_attributes(out, &mut self.pool, attributes);
        Ok(())
    }

    /// Everything that the code of `method` names.
    fn constants_of(&mut self, method: &dex::Method) -> Result<(), String> {
        let Some(code) = method.code(self.file) else {
            return Ok(());
        };
        for handlers in &code.handlers {
            for &(kind, _) in &handlers.typed {
                self.class(descriptor(self.file, kind));
            }
        }
        for (_, unit) in code.units() {
            if let Ok(Unit::Instruction(it)) = unit {
                self.constant(&it)?;
            }
        }
        Ok(())
    }

    fn constant(&mut self, it: &Instruction) -> Result<(), String> {
        use dex::Pool as P;
        let (index, proto) = match it.operands {
            Operands::Index { index, .. } | Operands::AbIndex { index, .. } => (index, None),
            Operands::Call { index, proto, .. } => (index, proto),
            _ => return Ok(()),
        };
        match it.opcode.pool() {
            P::None => {}
            P::Type => self.named_type(it.opcode, index)?,
            P::String => self.keep(Key::String(index), |this| {
                Ok(this.pool.string(this.file.string(index)))
            })?,
            P::Field => self.keep(Key::Field(index), |this| Ok(this.field_id(index)))?,
            P::Method if matches!(it.opcode, Opcode::InvokeSuper | Opcode::InvokeSuperRange) => {
                self.keep(Key::Super(index), |this| Ok(this.super_method_id(index)))?;
            }
            P::Method => {
                let is_interface = matches!(
                    it.opcode,
                    Opcode::InvokeInterface | Opcode::InvokeInterfaceRange
                );
                self.keep(Key::Method(index, is_interface), |this| {
                    Ok(this.method_id(index, is_interface))
                })?;
            }
            P::MethodAndProto => {
                let proto = proto.ok_or("a call without a prototype")?;
                self.keep(Key::Polymorphic(index, proto), |this| {
                    Ok(this.method_as(index, proto, false))
                })?;
            }
            P::Proto => self.keep(Key::Proto(index), |this| Ok(this.method_type(index)))?,
            P::MethodHandle => self.keep(Key::Handle(index), |this| Ok(this.handle(index)))?,
            P::CallSite => self.keep(Key::CallSite(index), |this| this.call_site(index))?,
        }
        Ok(())
    }

    fn keep(
        &mut self,
        key: Key,
        make: impl FnOnce(&mut Self) -> Result<u16, String>,
    ) -> Result<(), String> {
        if !self.indices.contains_key(&key) {
            let index = make(self)?;
            self.indices.insert(key, index);
        }
        Ok(())
    }

    fn named_type(&mut self, opcode: Opcode, index: u32) -> Result<(), String> {
        let named = descriptor(self.file, index);
        if let (true, Some(words)) = (is_fill(opcode), bad_fill(named)) {
            self.keep(Key::BadFill(index), |this| {
                Ok(this.pool.string(words.as_bytes()))
            })?;
            self.class(RUNTIME_EXCEPTION);
            self.keep(Key::Thrown, |this| {
                let (name, descriptor) = (b"<init>", b"(Ljava/lang/String;)V");
                Ok(this.pool.method(RUNTIME_EXCEPTION, name, descriptor, false))
            })?;
        }
        match named {
            [b'[', element @ ..] => {
                self.class(named);
                if matches!(element[0], b'L' | b'[') {
                    self.class(element);
                }
            }
            [b'L', ..] => drop(self.class(named)),
            [code] if opcode == Opcode::ConstClass => {
                if let Some(holder) = box_of(*code) {
                    let field = self.pool.field(holder, b"TYPE", b"Ljava/lang/Class;");
                    self.indices.insert(Key::Primitive(*code), field);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn field_id(&mut self, index: u32) -> u16 {
        let id = self.file.field(index);
        let (class, kind) = (
            descriptor(self.file, id.class),
            descriptor(self.file, id.kind),
        );
        self.pool.field(class, self.file.string(id.name), kind)
    }

    fn method_id(&mut self, index: u32, is_interface: bool) -> u16 {
        self.method_as(index, self.file.method(index).proto, is_interface)
    }

    /// Has a constant of its own: an `invoke-direct` of the same method calls another one.
    fn super_method_id(&mut self, index: u32) -> u16 {
        let id = self.file.method(index);
        let class = descriptor(self.file, id.class);
        let descriptor = method_descriptor(self.file, id.proto);
        let name = self.file.string(id.name);
        let constant = self.pool.method_apart(class, name, &descriptor);
        self.supers.insert(constant);
        constant
    }

    fn method_as(&mut self, index: u32, proto: u32, is_interface: bool) -> u16 {
        let id = self.file.method(index);
        let class = descriptor(self.file, id.class);
        let descriptor = method_descriptor(self.file, proto);
        let name = self.file.string(id.name);
        self.pool.method(class, name, &descriptor, is_interface)
    }

    fn method_type(&mut self, proto: u32) -> u16 {
        self.pool.method_type(&method_descriptor(self.file, proto))
    }

    fn handle(&mut self, index: u32) -> u16 {
        use MethodHandleKind as K;
        let handle = self.file.method_handle(index);
        let kind = match handle.kind {
            K::InstanceGet => 1,
            K::StaticGet => 2,
            K::InstancePut => 3,
            K::StaticPut => 4,
            K::InvokeInstance => 5,
            K::InvokeStatic => 6,
            K::InvokeDirect => 7,
            K::InvokeConstructor => 8,
            K::InvokeInterface => 9,
        };
        let member = if handle.kind.is_accessor() {
            self.field_id(handle.target)
        } else {
            self.method_id(handle.target, handle.kind == K::InvokeInterface)
        };
        self.pool.method_handle(kind, member)
    }

    fn call_site(&mut self, index: u32) -> Result<u16, String> {
        let values = self.file.call_site(index);
        let [
            EncodedValue::MethodHandle(handle),
            EncodedValue::String(name),
            EncodedValue::MethodType(proto),
            arguments @ ..,
        ] = &values[..]
        else {
            return Err(format!("call site {index} has no handle, name and type"));
        };
        let mut bootstrap = Bytes::default();
        bootstrap
            .u16(self.handle(*handle))
            .u16(arguments.len() as u16);
        for argument in arguments {
            bootstrap.u16(self.argument(argument)?);
        }
        let number = count("call sites", self.bootstraps.len())?;
        self.bootstraps.push(bootstrap.0);
        let name = self.file.string(*name);
        let descriptor = method_descriptor(self.file, *proto);
        Ok(self.pool.invoke_dynamic(number, name, &descriptor))
    }

    /// A static argument of a bootstrap method.
    fn argument(&mut self, value: &EncodedValue) -> Result<u16, String> {
        use EncodedValue as V;
        Ok(match *value {
            V::Boolean(it) => self.pool.integer(it.into()),
            V::Byte(it) => self.pool.integer(it.into()),
            V::Short(it) => self.pool.integer(it.into()),
            V::Char(it) => self.pool.integer(it.into()),
            V::Int(it) => self.pool.integer(it),
            V::Long(it) => self.pool.long(it),
            V::Float(it) => self.pool.float(it),
            V::Double(it) => self.pool.double(it),
            V::String(it) => self.pool.string(self.file.string(it)),
            V::Type(it) => match descriptor(self.file, it) {
                named @ [b'L' | b'[', ..] => self.class(named),
                _ => return Err("a primitive type as a call site's argument".into()),
            },
            V::MethodType(it) => self.method_type(it),
            V::MethodHandle(it) => self.handle(it),
            _ => return Err("a call site's argument is not supported".into()),
        })
    }
}

/// Flags that no class and no method may have together.
fn check_flags(file: &DexFile<'_>, class: &ClassDef, data: &dex::ClassData) -> Result<(), String> {
    use dex::access::{ABSTRACT, FINAL, INTERFACE, NATIVE};
    if class.access & (ABSTRACT | FINAL) == ABSTRACT | FINAL {
        return Err(format!("illegal modifiers {:#x}", class.access));
    }
    let is_interface = class.access & INTERFACE != 0;
    let mut methods = data.methods();
    match methods.find(|it| is_interface && it.access & NATIVE != 0) {
        Some(method) => {
            let name = file.text(file.method(method.method).name);
            Err(format!(
                "illegal modifiers {:#x} of method {name}",
                method.access
            ))
        }
        None => Ok(()),
    }
}

pub(super) const RUNTIME_EXCEPTION: &[u8] = b"Ljava/lang/RuntimeException;";

fn is_fill(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::FilledNewArray | Opcode::FilledNewArrayRange)
}

/// What ART says when it runs a `filled-new-array` of elements that no register holds.
fn bad_fill(array: &[u8]) -> Option<String> {
    let name = classfile::to_string_lossy(array);
    matches!(array, [b'[', b'J' | b'D'])
        .then(|| format!("Bad filled array request for type {name}"))
}

/// The class of boxes of a primitive type.
fn box_of(code: u8) -> Option<&'static [u8]> {
    Some(match code {
        b'Z' => b"Ljava/lang/Boolean;",
        b'B' => b"Ljava/lang/Byte;",
        b'C' => b"Ljava/lang/Character;",
        b'S' => b"Ljava/lang/Short;",
        b'I' => b"Ljava/lang/Integer;",
        b'J' => b"Ljava/lang/Long;",
        b'F' => b"Ljava/lang/Float;",
        b'D' => b"Ljava/lang/Double;",
        b'V' => b"Ljava/lang/Void;",
        _ => return None,
    })
}
