// SPDX-License-Identifier: Apache-2.0
//! Class definitions: members belong to their class, code is where it must be and nowhere else.

use crate::class::{ClassDef, Field, Method, access};
use crate::cursor::Cursor;
use crate::header::Kind;
use crate::verify::items::Offsets;
use crate::{DexFile, Error, Fault};

/// From this version on a superclass must be defined before its subclasses.
const ORDERED_SINCE: u8 = 37;

pub(super) fn check(file: &DexFile<'_>, offsets: &Offsets) -> Result<(), Error> {
    let mut is_defined = vec![false; file.type_count() as usize];
    let mut all = vec![false; file.type_count() as usize];
    for class in file.classes() {
        if let Some(known) = all.get_mut(class.class as usize) {
            *known = true;
        }
    }
    for index in 0..file.class_count() {
        let offset = file.header.classes.offset as usize + index as usize * 32;
        let at = Cursor::new(file.bytes, offset, "class_def_item");
        let class = file.class(index);
        check_class(file, offsets, &at, &class)?;
        if is_defined[class.class as usize] {
            return Err(at.fault(Fault::Order("classes, each once")));
        }
        if let Some(superclass) = class.superclass.map(|it| it as usize) {
            let is_late = all[superclass] && !is_defined[superclass];
            if is_late && file.version() >= ORDERED_SINCE {
                return Err(at.fault(Fault::Order("superclasses before their subclasses")));
            }
        }
        is_defined[class.class as usize] = true;
        check_members(file, offsets, &class)?;
    }
    Ok(())
}

fn check_class(
    file: &DexFile<'_>,
    offsets: &Offsets,
    at: &Cursor<'_>,
    class: &ClassDef,
) -> Result<(), Error> {
    at.below("class", class.class, file.type_count())?;
    let is_class = |index| file.string(file.type_string(index))[0] == b'L';
    if !is_class(class.class) {
        return Err(at.malformed("the definition is of no class"));
    }
    if let Some(superclass) = class.superclass {
        at.below("superclass", superclass, file.type_count())?;
        if superclass == class.class || !is_class(superclass) {
            return Err(at.malformed("the superclass is the class itself, or no class"));
        }
    }
    if let Some(source) = class.source_file {
        at.below("source file", source, file.string_count())?;
    }
    let references = [
        (Kind::TypeList, "interfaces", class.interfaces_offset),
        (
            Kind::AnnotationsDirectory,
            "annotations",
            class.annotations_offset,
        ),
        (Kind::ClassData, "class data", class.data_offset),
        (
            Kind::EncodedArray,
            "static values",
            class.static_values_offset,
        ),
    ];
    for (kind, what, offset) in references {
        offsets.check_optional(at, kind, what, offset)?;
    }
    Ok(())
}

fn check_members(file: &DexFile<'_>, offsets: &Offsets, class: &ClassDef) -> Result<(), Error> {
    if class.data_offset == 0 {
        return Ok(());
    }
    let at = Cursor::new(file.bytes, class.data_offset as usize, "class_data_item");
    let data = class.data(file);
    let fields = data.static_fields.iter().map(|it| (it, true));
    for (field, is_static) in fields.chain(data.instance_fields.iter().map(|it| (it, false))) {
        check_field(file, &at, class, field, is_static)?;
    }
    let methods = data.direct_methods.iter().map(|it| (it, true));
    for (method, is_direct) in methods.chain(data.virtual_methods.iter().map(|it| (it, false))) {
        check_method(file, offsets, &at, class, method, is_direct)?;
    }
    Ok(())
}

fn check_field(
    file: &DexFile<'_>,
    at: &Cursor<'_>,
    class: &ClassDef,
    field: &Field,
    is_static: bool,
) -> Result<(), Error> {
    at.below("field index", field.field, file.field_count())?;
    if file.field(field.field).class != class.class {
        return Err(at.malformed(format!("field {} belongs to another class", field.field)));
    }
    if (field.access & access::STATIC != 0) != is_static {
        return Err(at.malformed(format!(
            "field {} is in the wrong list: static or not",
            field.field
        )));
    }
    Ok(())
}

fn check_method(
    file: &DexFile<'_>,
    offsets: &Offsets,
    at: &Cursor<'_>,
    class: &ClassDef,
    method: &Method,
    is_direct: bool,
) -> Result<(), Error> {
    at.below("method index", method.method, file.method_count())?;
    let id = file.method(method.method);
    let wrong = |text: &str| Err(at.malformed(format!("method {}: {text}", method.method)));
    if id.class != class.class {
        return wrong("belongs to another class");
    }
    let direct = access::STATIC | access::PRIVATE | access::CONSTRUCTOR;
    if (method.access & direct != 0) != is_direct {
        return wrong("is in the wrong list: direct or virtual");
    }
    let is_bodyless = method.access & (access::NATIVE | access::ABSTRACT) != 0;
    if is_bodyless != (method.code_offset == 0) {
        return wrong("has code and is native or abstract, or is neither and has none");
    }
    if method.code_offset == 0 {
        return Ok(());
    }
    offsets.check(at, Kind::Code, "code", method.code_offset)?;
    let code = method.code(file).expect("the offset is not zero");
    offsets.check_optional(at, Kind::DebugInfo, "debug info", code.debug_offset)
}
