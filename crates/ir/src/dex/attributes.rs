// SPDX-License-Identifier: Apache-2.0
//! Annotations of a DEX class as attributes of a class file.
//!
//! What a class file has attributes for (inner classes, signatures, exceptions)
//! is in annotations of `dalvik.annotation` here; the others keep their form.

use dex::{
    Annotation, ClassDef, DexFile, Directory, EncodedAnnotation, EncodedValue as V, Visibility,
};

use super::outline::{Attributes, descriptor, method_descriptor};
use super::pool::{Bytes, Pool};

/// Where the annotations of a class and its members are.
pub(super) struct Annotations {
    directory: Directory,
    /// Defaults of an annotation type's elements, by name.
    defaults: Vec<(u32, V)>,
}

type Result<T> = core::result::Result<T, String>;

impl Annotations {
    pub(super) fn new(file: &DexFile<'_>, class: &ClassDef) -> Self {
        let directory = class.annotations(file);
        let set = Directory::set(file, directory.class);
        let default = set
            .iter()
            .find(|it| is_system(file, it, "AnnotationDefault"));
        let defaults = match default.and_then(|it| element(file, &it.annotation, "value")) {
            Some(V::Annotation(it)) => it.elements.clone(),
            _ => Vec::new(),
        };
        Self {
            directory,
            defaults,
        }
    }

    pub(super) fn of_field(
        &self,
        file: &DexFile<'_>,
        field: u32,
        pool: &mut Pool,
    ) -> Result<Attributes> {
        let set = set_of(file, &self.directory.fields, field);
        let mut attributes = Attributes::new();
        push_visible(file, pool, &set, &mut attributes)?;
        push_signature(file, pool, &set, &mut attributes)?;
        Ok(attributes)
    }

    pub(super) fn of_method(
        &self,
        file: &DexFile<'_>,
        method: u32,
        pool: &mut Pool,
    ) -> Result<Attributes> {
        let set = set_of(file, &self.directory.methods, method);
        let mut attributes = Attributes::new();
        push_visible(file, pool, &set, &mut attributes)?;
        push_signature(file, pool, &set, &mut attributes)?;
        if let Some(V::Array(thrown)) = system(file, &set, "Throws", "value") {
            let body = class_list(file, pool, thrown);
            attributes.push(("Exceptions", body));
        }
        push_parameters(file, pool, &set, &mut attributes)?;
        let lists = &self.directory.parameters;
        if let Some((_, list)) = lists.iter().find(|(index, _)| *index == method) {
            let mut body = Bytes::default();
            let sets = Directory::parameter_sets(file, *list);
            body.u8(u8::try_from(sets.len()).map_err(|_| "more than 255 parameters")?);
            for set in &sets {
                visible(file, pool, set, &mut body)?;
            }
            attributes.push(("RuntimeVisibleParameterAnnotations", body.0));
        }
        let name = file.method(method).name;
        if let Some((_, value)) = self.defaults.iter().find(|(own, _)| *own == name) {
            let mut body = Bytes::default();
            element_value(file, pool, value, &mut body)?;
            attributes.push(("AnnotationDefault", body.0));
        }
        Ok(attributes)
    }

    pub(super) fn of_class(
        &self,
        file: &DexFile<'_>,
        class: &ClassDef,
        pool: &mut Pool,
    ) -> Result<Attributes> {
        let set = Directory::set(file, self.directory.class);
        let mut attributes = Attributes::new();
        push_visible(file, pool, &set, &mut attributes)?;
        push_signature(file, pool, &set, &mut attributes)?;
        if let Some(source) = class.source_file {
            let body = pool.utf8(file.string(source)).to_be_bytes().to_vec();
            attributes.push(("SourceFile", body));
        }
        push_enclosing(file, pool, &set, &mut attributes);
        push_inner_classes(file, pool, class, &set, &mut attributes)?;
        if let Some(V::Type(host)) = system(file, &set, "NestHost", "host") {
            let body = pool.class(descriptor(file, *host)).to_be_bytes().to_vec();
            attributes.push(("NestHost", body));
        }
        let lists = [("NestMembers", "classes"), ("PermittedSubclasses", "value")];
        for (name, member) in lists {
            if let Some(V::Array(classes)) = system(file, &set, name, member) {
                let body = class_list(file, pool, classes);
                attributes.push((name, body));
            }
        }
        push_record(file, pool, &set, &mut attributes)?;
        Ok(attributes)
    }
}

fn set_of(file: &DexFile<'_>, sets: &[(u32, u32)], member: u32) -> Vec<Annotation> {
    let found = sets.iter().find(|(index, _)| *index == member);
    found.map_or_else(Vec::new, |(_, offset)| Directory::set(file, *offset))
}

fn is_system(file: &DexFile<'_>, annotation: &Annotation, name: &str) -> bool {
    let kind = descriptor(file, annotation.annotation.kind);
    annotation.visibility == Visibility::System
        && kind.strip_prefix(b"Ldalvik/annotation/") == Some(format!("{name};").as_bytes())
}

fn element<'v>(file: &DexFile<'_>, annotation: &'v EncodedAnnotation, name: &str) -> Option<&'v V> {
    let mut elements = annotation.elements.iter();
    let found = elements.find(|(own, _)| file.string(*own) == name.as_bytes());
    found.map(|(_, value)| value)
}

/// Element `member` of the annotation that the format itself defines by this name.
fn system<'v>(
    file: &DexFile<'_>,
    set: &'v [Annotation],
    name: &str,
    member: &str,
) -> Option<&'v V> {
    let found = set.iter().find(|it| is_system(file, it, name));
    found.and_then(|it| element(file, &it.annotation, member))
}

fn class_list(file: &DexFile<'_>, pool: &mut Pool, values: &[V]) -> Vec<u8> {
    let mut body = Bytes::default();
    let types = values.iter().filter_map(|value| match value {
        V::Type(index) => Some(*index),
        _ => None,
    });
    let indices: Vec<u16> = types.map(|it| pool.class(descriptor(file, it))).collect();
    body.u16(indices.len() as u16);
    for index in indices {
        body.u16(index);
    }
    body.0
}

fn push_visible(
    file: &DexFile<'_>,
    pool: &mut Pool,
    set: &[Annotation],
    attributes: &mut Attributes,
) -> Result<()> {
    if set.iter().any(|it| it.visibility == Visibility::Runtime) {
        let mut body = Bytes::default();
        visible(file, pool, set, &mut body)?;
        attributes.push(("RuntimeVisibleAnnotations", body.0));
    }
    Ok(())
}

fn visible(file: &DexFile<'_>, pool: &mut Pool, set: &[Annotation], out: &mut Bytes) -> Result<()> {
    let shown = || set.iter().filter(|it| it.visibility == Visibility::Runtime);
    out.u16(shown().count() as u16);
    shown().try_for_each(|it| annotation(file, pool, &it.annotation, out))
}

fn annotation(
    file: &DexFile<'_>,
    pool: &mut Pool,
    it: &EncodedAnnotation,
    out: &mut Bytes,
) -> Result<()> {
    out.u16(pool.utf8(descriptor(file, it.kind)));
    out.u16(it.elements.len() as u16);
    for (name, value) in &it.elements {
        out.u16(pool.utf8(file.string(*name)));
        element_value(file, pool, value, out)?;
    }
    Ok(())
}

fn element_value(file: &DexFile<'_>, pool: &mut Pool, value: &V, out: &mut Bytes) -> Result<()> {
    match value {
        V::Boolean(it) => out.u8(b'Z').u16(pool.integer((*it).into())),
        V::Byte(it) => out.u8(b'B').u16(pool.integer((*it).into())),
        V::Short(it) => out.u8(b'S').u16(pool.integer((*it).into())),
        V::Char(it) => out.u8(b'C').u16(pool.integer((*it).into())),
        V::Int(it) => out.u8(b'I').u16(pool.integer(*it)),
        V::Long(it) => out.u8(b'J').u16(pool.long(*it)),
        V::Float(it) => out.u8(b'F').u16(pool.float(*it)),
        V::Double(it) => out.u8(b'D').u16(pool.double(*it)),
        V::String(it) => out.u8(b's').u16(pool.utf8(file.string(*it))),
        V::Type(it) => out.u8(b'c').u16(pool.utf8(descriptor(file, *it))),
        V::Enum(it) => {
            let field = file.field(*it);
            let kind = pool.utf8(descriptor(file, field.kind));
            out.u8(b'e')
                .u16(kind)
                .u16(pool.utf8(file.string(field.name)))
        }
        V::Annotation(it) => {
            out.u8(b'@');
            return annotation(file, pool, it, out);
        }
        V::Array(values) => {
            let count =
                u16::try_from(values.len()).map_err(|_| "an annotation's array is too long")?;
            out.u8(b'[').u16(count);
            return values
                .iter()
                .try_for_each(|value| element_value(file, pool, value, out));
        }
        V::Null | V::Field(_) | V::Method(_) | V::MethodType(_) | V::MethodHandle(_) => {
            return Err("an annotation's element is of no type that Java has for it".into());
        }
    };
    Ok(())
}

/// The signature is cut into strings, so that parts can be shared.
fn signature(file: &DexFile<'_>, value: &V) -> Vec<u8> {
    let V::Array(parts) = value else {
        return Vec::new();
    };
    let parts = parts.iter().filter_map(|part| match part {
        V::String(index) => Some(file.string(*index)),
        _ => None,
    });
    parts.flatten().copied().collect()
}

fn push_signature(
    file: &DexFile<'_>,
    pool: &mut Pool,
    set: &[Annotation],
    attributes: &mut Attributes,
) -> Result<()> {
    if let Some(value) = system(file, set, "Signature", "value") {
        let index = pool.utf8(&signature(file, value));
        attributes.push(("Signature", index.to_be_bytes().to_vec()));
    }
    Ok(())
}

fn push_parameters(
    file: &DexFile<'_>,
    pool: &mut Pool,
    set: &[Annotation],
    attributes: &mut Attributes,
) -> Result<()> {
    let names = system(file, set, "MethodParameters", "names");
    let flags = system(file, set, "MethodParameters", "accessFlags");
    let (Some(V::Array(names)), Some(V::Array(flags))) = (names, flags) else {
        return Ok(());
    };
    let mut body = Bytes::default();
    body.u8(u8::try_from(names.len()).map_err(|_| "more than 255 parameters")?);
    for (name, flags) in names.iter().zip(flags) {
        let name = match name {
            V::String(index) => pool.utf8(file.string(*index)),
            _ => 0,
        };
        let flags = if let V::Int(flags) = flags {
            *flags as u16
        } else {
            0
        };
        body.u16(name).u16(flags);
    }
    if names.len() == flags.len() {
        attributes.push(("MethodParameters", body.0));
    }
    Ok(())
}

/// A local or anonymous class names its method, or its class alone.
fn push_enclosing(
    file: &DexFile<'_>,
    pool: &mut Pool,
    set: &[Annotation],
    attributes: &mut Attributes,
) {
    let mut body = Bytes::default();
    if let Some(V::Method(index)) = system(file, set, "EnclosingMethod", "value") {
        let id = file.method(*index);
        body.u16(pool.class(descriptor(file, id.class)));
        let name = file.string(id.name);
        // As javac has it: code of initialisers is in no method.
        body.u16(match name {
            b"<clinit>" => 0,
            name => pool.name_and_type(name, &method_descriptor(file, id.proto)),
        });
    } else {
        let outer = system(file, set, "EnclosingClass", "value");
        let name = system(file, set, "InnerClass", "name");
        let (Some(V::Type(outer)), Some(V::Null)) = (outer, name) else {
            return;
        };
        body.u16(pool.class(descriptor(file, *outer))).u16(0);
    }
    attributes.push(("EnclosingMethod", body.0));
}

/// The class's own row, and one for each member class.
fn push_inner_classes(
    file: &DexFile<'_>,
    pool: &mut Pool,
    class: &ClassDef,
    set: &[Annotation],
    attributes: &mut Attributes,
) -> Result<()> {
    let own = descriptor(file, class.class);
    let mut rows: Vec<[u16; 4]> = Vec::new();
    if let Some(V::Int(flags)) = system(file, set, "InnerClass", "accessFlags") {
        let outer = match system(file, set, "EnclosingClass", "value") {
            Some(V::Type(outer)) => pool.class(descriptor(file, *outer)),
            _ => 0,
        };
        let name = match system(file, set, "InnerClass", "name") {
            Some(V::String(name)) => pool.utf8(file.string(*name)),
            _ => 0,
        };
        let is_member = name != 0 && outer != 0;
        let outer = if is_member { outer } else { 0 };
        rows.push([pool.class(own), outer, name, *flags as u16]);
    }
    if let Some(V::Array(members)) = system(file, set, "MemberClasses", "value") {
        for member in members {
            let V::Type(member) = member else { continue };
            let inner = descriptor(file, *member);
            let name = simple_name(own, inner);
            rows.push([pool.class(inner), pool.class(own), pool.utf8(name), 0]);
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    let mut body = Bytes::default();
    body.u16(u16::try_from(rows.len()).map_err(|_| "too many inner classes")?);
    for index in rows.into_iter().flatten() {
        body.u16(index);
    }
    attributes.push(("InnerClasses", body.0));
    Ok(())
}

/// What follows the outer class's name; the whole name where it does not.
fn simple_name<'a>(outer: &[u8], inner: &'a [u8]) -> &'a [u8] {
    let inner = inner.strip_suffix(b";").unwrap_or(inner);
    let outer = outer.strip_suffix(b";").unwrap_or(outer);
    let rest = inner
        .strip_prefix(outer)
        .and_then(|it| it.strip_prefix(b"$"));
    rest.unwrap_or_else(|| inner.strip_prefix(b"L").unwrap_or(inner))
}

fn push_record(
    file: &DexFile<'_>,
    pool: &mut Pool,
    set: &[Annotation],
    attributes: &mut Attributes,
) -> Result<()> {
    let names = system(file, set, "Record", "componentNames");
    let types = system(file, set, "Record", "componentTypes");
    let (Some(V::Array(names)), Some(V::Array(types))) = (names, types) else {
        return Ok(());
    };
    let signatures = system(file, set, "Record", "componentSignatures");
    let mut body = Bytes::default();
    body.u16(u16::try_from(names.len()).map_err(|_| "too many components")?);
    for (place, (name, kind)) in names.iter().zip(types).enumerate() {
        let (V::String(name), V::Type(kind)) = (name, kind) else {
            return Err("a record's component without name or type".into());
        };
        body.u16(pool.utf8(file.string(*name)));
        body.u16(pool.utf8(descriptor(file, *kind)));
        let text = match signatures {
            Some(V::Array(all)) => match all.get(place) {
                Some(V::Annotation(it)) => element(file, it, "value").map(|it| signature(file, it)),
                _ => None,
            },
            _ => None,
        };
        match text {
            Some(text) => {
                let (attribute, text) = (pool.utf8(b"Signature"), pool.utf8(&text));
                body.u16(1).u16(attribute).u32(2).u16(text);
            }
            None => drop(body.u16(0)),
        }
    }
    attributes.push(("Record", body.0));
    Ok(())
}
