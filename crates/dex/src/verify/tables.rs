// SPDX-License-Identifier: Apache-2.0
//! The identifier tables: in order, each entry once, names and descriptors well-formed.

use crate::cursor::Cursor;
use crate::header::{Kind, Section};
use crate::verify::items::Offsets;
use crate::{DexFile, EncodedValue, Error, Fault, MethodHandleKind};

/// What a call can pass; longer lists could also be compared again and again.
const PARAMETERS_MAX: usize = 255;

pub(super) fn check(file: &DexFile<'_>, offsets: &Offsets) -> Result<(), Error> {
    strings(file, offsets)?;
    let mut names = Names::new(file);
    types(file)?;
    protos(file, offsets)?;
    fields(file, &mut names)?;
    methods(file, &mut names)?;
    method_handles(file)?;
    call_sites(file, offsets)
}

/// A cursor at entry `index` of a table.
fn entry<'a>(
    file: &DexFile<'a>,
    section: Section,
    size: u32,
    index: u32,
    item: &'static str,
) -> Cursor<'a> {
    Cursor::new(file.bytes, (section.offset + index * size) as usize, item)
}

fn strings(file: &DexFile<'_>, offsets: &Offsets) -> Result<(), Error> {
    let mut last: Option<Vec<u16>> = None;
    for index in 0..file.string_count() {
        let start = entry(file, file.header.strings, 4, index, "string_id_item");
        let offset = start.clone().u32("offset")?;
        offsets.check(&start, Kind::StringData, "string offset", offset)?;
        let bytes = file.string_at(offset as usize)?;
        let units = classfile::to_utf16(bytes)
            .map_err(|_| start.malformed("the string is not modified UTF-8"))?;
        if last.as_ref().is_some_and(|last| *last >= units) {
            return Err(start.fault(Fault::Order("strings by UTF-16 units, each once")));
        }
        last = Some(units);
    }
    Ok(())
}

fn types(file: &DexFile<'_>) -> Result<(), Error> {
    let mut last = None;
    for index in 0..file.type_count() {
        let start = entry(file, file.header.types, 4, index, "type_id_item");
        let string = start.clone().u32("descriptor")?;
        start.below("string index", string, file.string_count())?;
        if last.is_some_and(|last| last >= string) {
            return Err(start.fault(Fault::Order("types by descriptor, each once")));
        }
        last = Some(string);
        if !is_descriptor(file.string(string)) {
            let text = format!("'{}' is no type descriptor", file.text(string));
            return Err(start.malformed(text));
        }
    }
    Ok(())
}

fn protos(file: &DexFile<'_>, offsets: &Offsets) -> Result<(), Error> {
    for index in 0..file.proto_count() {
        let start = entry(file, file.header.protos, 12, index, "proto_id_item");
        let mut at = start;
        let shorty = at.u32("shorty")?;
        start.below("string index", shorty, file.string_count())?;
        start.below("return type", at.u32("return type")?, file.type_count())?;
        let list = at.u32("parameters")?;
        offsets.check_optional(&start, Kind::TypeList, "parameters", list)?;
        let proto = file.proto(index);
        if proto.parameters.len() > PARAMETERS_MAX {
            let (what, limit) = ("number of parameters", PARAMETERS_MAX as u64 + 1);
            let value = proto.parameters.len() as u64;
            return Err(start.fault(Fault::Range { what, value, limit }));
        }
        let kinds = std::iter::once(proto.return_type).chain(proto.parameters.iter());
        let letters = kinds.map(|it| short(file.string(file.type_string(it))[0]));
        if !letters.eq(file.string(shorty).iter().copied()) {
            let text = format!(
                "the short form '{}' is not that of the types",
                file.text(shorty)
            );
            return Err(start.malformed(text));
        }
        if proto
            .parameters
            .iter()
            .any(|it| file.string(file.type_string(it)) == b"V")
        {
            return Err(start.malformed("a parameter of type void"));
        }
        if index > 0 {
            let last = file.proto(index - 1);
            let before = (last.return_type, last.parameters.iter().collect::<Vec<_>>());
            let this = (
                proto.return_type,
                proto.parameters.iter().collect::<Vec<_>>(),
            );
            if before >= this {
                return Err(start.fault(Fault::Order("protos by result and parameters, each once")));
            }
        }
    }
    Ok(())
}

fn short(first: u8) -> u8 {
    if first == b'[' { b'L' } else { first }
}

fn fields(file: &DexFile<'_>, names: &mut Names<'_, '_>) -> Result<(), Error> {
    let mut last = None;
    for index in 0..file.field_count() {
        let start = entry(file, file.header.fields, 8, index, "field_id_item");
        let field = file.field(index);
        start.below("class", field.class, file.type_count())?;
        start.below("type", field.kind, file.type_count())?;
        names.check(&start, field.name)?;
        if file.string(file.type_string(field.class))[0] != b'L' {
            return Err(start.malformed("the field's class is no class"));
        }
        if file.string(file.type_string(field.kind)) == b"V" {
            return Err(start.malformed("a field of type void"));
        }
        let key = (field.class, field.name, field.kind);
        if last.is_some_and(|last| last >= key) {
            return Err(start.fault(Fault::Order("fields by class, name and type, each once")));
        }
        last = Some(key);
    }
    Ok(())
}

fn methods(file: &DexFile<'_>, names: &mut Names<'_, '_>) -> Result<(), Error> {
    let mut last = None;
    for index in 0..file.method_count() {
        let start = entry(file, file.header.methods, 8, index, "method_id_item");
        let method = file.method(index);
        start.below("class", method.class, file.type_count())?;
        start.below("proto", method.proto, file.proto_count())?;
        names.check(&start, method.name)?;
        if !matches!(file.string(file.type_string(method.class))[0], b'L' | b'[') {
            return Err(start.malformed("the method's class is no class"));
        }
        let key = (method.class, method.name, method.proto);
        if last.is_some_and(|last| last >= key) {
            return Err(start.fault(Fault::Order("methods by class, name and proto, each once")));
        }
        last = Some(key);
    }
    Ok(())
}

fn method_handles(file: &DexFile<'_>) -> Result<(), Error> {
    for index in 0..file.method_handle_count() {
        let start = entry(file, file.method_handles, 8, index, "method_handle_item");
        let mut at = start;
        let number = at.u16("kind")?;
        let Some(kind) = MethodHandleKind::of(number) else {
            return Err(start.malformed(format!("unknown kind {number} of method handle")));
        };
        at.u16("unused")?;
        let limit = if kind.is_accessor() {
            file.field_count()
        } else {
            file.method_count()
        };
        start.below("field or method index", at.u16("target")?.into(), limit)?;
    }
    Ok(())
}

fn call_sites(file: &DexFile<'_>, offsets: &Offsets) -> Result<(), Error> {
    for index in 0..file.call_site_count() {
        let start = entry(file, file.call_sites, 4, index, "call_site_id_item");
        let offset = start.clone().u32("offset")?;
        offsets.check(&start, Kind::EncodedArray, "call site offset", offset)?;
        let values = file.call_site(index);
        use EncodedValue::{MethodHandle, MethodType, String};
        if !matches!(
            values.as_slice(),
            [MethodHandle(_), String(_), MethodType(_), ..]
        ) {
            let text = "a call site that does not begin with method handle, name and type";
            return Err(start.malformed(text));
        }
    }
    Ok(())
}

/// Strings that were found to be member names: many members share one.
struct Names<'f, 'a> {
    file: &'f DexFile<'a>,
    is_name: Vec<bool>,
}

impl<'f, 'a> Names<'f, 'a> {
    fn new(file: &'f DexFile<'a>) -> Self {
        Self {
            file,
            is_name: vec![false; file.string_count() as usize],
        }
    }

    fn check(&mut self, at: &Cursor<'_>, string: u32) -> Result<(), Error> {
        at.below("name", string, self.file.string_count())?;
        let known = &mut self.is_name[string as usize];
        *known = *known || is_member_name(self.file.string(string));
        if *known {
            return Ok(());
        }
        Err(at.malformed(format!("'{}' is no member name", self.file.text(string))))
    }
}

/// `V`, `I`, `Lp/Q;`, `[[J`, …
fn is_descriptor(bytes: &[u8]) -> bool {
    let element = bytes
        .iter()
        .position(|it| *it != b'[')
        .unwrap_or(bytes.len());
    let (dimensions, element) = bytes.split_at(element);
    match element {
        b"V" => dimensions.is_empty(),
        [b'Z' | b'B' | b'S' | b'C' | b'I' | b'J' | b'F' | b'D'] => dimensions.len() <= 255,
        [b'L', name @ .., b';'] => {
            dimensions.len() <= 255 && name.split(|it| *it == b'/').all(is_simple_name)
        }
        _ => false,
    }
}

fn is_member_name(bytes: &[u8]) -> bool {
    match bytes {
        [b'<', name @ .., b'>'] => is_simple_name(name),
        name => is_simple_name(name),
    }
}

/// Letters, digits, `$`, `-`, `_` and what lies beyond ASCII, except for spaces and surrogates
/// without a pair.
fn is_simple_name(bytes: &[u8]) -> bool {
    let is_ascii_name = |it: &u8| it.is_ascii_alphanumeric() || matches!(it, b'$' | b'-' | b'_');
    if bytes.is_empty() {
        return false;
    }
    if bytes.iter().all(is_ascii_name) {
        return true;
    }
    let Ok(units) = classfile::to_utf16(bytes) else {
        return false;
    };
    char::decode_utf16(units).all(|it| match it {
        Ok(it) if it.is_ascii() => is_ascii_name(&(it as u8)),
        Ok('\u{80}'..='\u{a0}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}') => false,
        Ok('\u{fff0}'..='\u{ffff}') => false,
        Ok(_) => true,
        Err(_) => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors() {
        for good in ["V", "I", "[[J", "Lp/Q;", "[La$b-c;", "Lä/ü;"] {
            assert!(is_descriptor(good.as_bytes()), "{good}");
        }
        for bad in [
            "",
            "[",
            "[V",
            "L;",
            "Lp/;",
            "Lp//q;",
            "Lp.q;",
            "Lp/q",
            "II",
            "Q",
            "L\u{2028};",
        ] {
            assert!(!is_descriptor(bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn member_names() {
        for good in [
            "a",
            "<init>",
            "<clinit>",
            "lambda$0",
            "access$000",
            "-$$Nest$m",
        ] {
            assert!(is_member_name(good.as_bytes()), "{good}");
        }
        for bad in ["", "<>", "a b", "a;", "<a", "a.b", "["] {
            assert!(!is_member_name(bad.as_bytes()), "{bad}");
        }
    }
}
