// SPDX-License-Identifier: Apache-2.0
//! One walk over all sections: every item parses, lies in its section, and its indices are in
//! range.

use crate::annotation::{Annotation, Directory, offsets};
use crate::class::ClassData;
use crate::code::Code;
use crate::cursor::Cursor;
use crate::debug::{Counts, DebugInfo};
use crate::header::{Kind, Map, Section};
use crate::value::EncodedValue;
use crate::verify::code;
use crate::{DexFile, EncodedAnnotation, Error, Fault};

/// Where items begin, by kind, ascending.
#[derive(Default)]
pub(super) struct Offsets {
    known: Vec<(Kind, Vec<u32>)>,
}

impl Offsets {
    fn of(&self, kind: Kind) -> &[u32] {
        self.known
            .iter()
            .find(|(it, _)| *it == kind)
            .map_or(&[], |(_, offsets)| offsets)
    }

    /// `offset` must lead to an item of `kind`.
    pub(super) fn check(
        &self,
        at: &Cursor<'_>,
        kind: Kind,
        what: &'static str,
        offset: u32,
    ) -> Result<(), Error> {
        if self.of(kind).binary_search(&offset).is_ok() {
            return Ok(());
        }
        Err(at.fault(Fault::Dangling {
            what,
            offset,
            target: name(kind),
        }))
    }

    /// As [`Offsets::check`], or zero for none.
    pub(super) fn check_optional(
        &self,
        at: &Cursor<'_>,
        kind: Kind,
        what: &'static str,
        offset: u32,
    ) -> Result<(), Error> {
        if offset == 0 {
            Ok(())
        } else {
            self.check(at, kind, what, offset)
        }
    }
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Header => "header_item",
        Kind::StringId => "string_id_item",
        Kind::TypeId => "type_id_item",
        Kind::ProtoId => "proto_id_item",
        Kind::FieldId => "field_id_item",
        Kind::MethodId => "method_id_item",
        Kind::ClassDef => "class_def_item",
        Kind::CallSiteId => "call_site_id_item",
        Kind::MethodHandle => "method_handle_item",
        Kind::Map => "map_list",
        Kind::TypeList => "type_list",
        Kind::AnnotationSetRefs => "annotation_set_ref_list",
        Kind::AnnotationSet => "annotation_set_item",
        Kind::ClassData => "class_data_item",
        Kind::Code => "code_item",
        Kind::StringData => "string_data_item",
        Kind::DebugInfo => "debug_info_item",
        Kind::Annotation => "annotation_item",
        Kind::EncodedArray => "encoded_array_item",
        Kind::AnnotationsDirectory => "annotations_directory_item",
        Kind::HiddenApi => "hiddenapi_class_data_item",
    }
}

/// Walks the sections in file order.
pub(super) fn walk(file: &DexFile<'_>, map: &Map) -> Result<Offsets, Error> {
    let mut offsets = Offsets::default();
    for (kind, section, end) in map.sections(file.bytes.len()) {
        let found = match fixed_size(kind) {
            Some(size) => fixed(file, kind, section, size)?,
            None => variable(file, kind, section)?,
        };
        if found.end > end {
            let at = Cursor::new(file.bytes, section.offset as usize, name(kind));
            return Err(at.malformed(format!(
                "the section's items end at {:#x}, behind the start of the next section at {end:#x}",
                found.end
            )));
        }
        offsets.known.push((kind, found.starts));
    }
    check_annotation_sets(file, &offsets)?;
    Ok(offsets)
}

struct Found {
    starts: Vec<u32>,
    end: usize,
}

fn fixed_size(kind: Kind) -> Option<usize> {
    Some(match kind {
        Kind::Header => 0x70,
        Kind::StringId | Kind::TypeId | Kind::CallSiteId => 4,
        Kind::FieldId | Kind::MethodId | Kind::MethodHandle => 8,
        Kind::ProtoId => 12,
        Kind::ClassDef => 32,
        // Has a size of its own; what it says is Android's own business.
        Kind::HiddenApi => 0,
        _ => return None,
    })
}

fn fixed(file: &DexFile<'_>, kind: Kind, section: Section, size: usize) -> Result<Found, Error> {
    let mut at = Cursor::new(file.bytes, section.offset as usize, name(kind));
    if !section.offset.is_multiple_of(4) {
        return Err(at.malformed("the section's offset is not a multiple of four"));
    }
    at.take((section.count as usize).saturating_mul(size), "section")?;
    Ok(Found {
        starts: Vec::new(),
        end: at.offset(),
    })
}

fn variable(file: &DexFile<'_>, kind: Kind, section: Section) -> Result<Found, Error> {
    let mut at = Cursor::new(file.bytes, section.offset as usize, name(kind));
    let is_aligned = matches!(
        kind,
        Kind::Map
            | Kind::TypeList
            | Kind::AnnotationSetRefs
            | Kind::AnnotationSet
            | Kind::Code
            | Kind::AnnotationsDirectory
    );
    if is_aligned && !section.offset.is_multiple_of(4) {
        return Err(at.malformed("the section's offset is not a multiple of four"));
    }
    let mut starts = Vec::new();
    for _ in 0..section.count {
        if is_aligned {
            at.align()?;
        }
        starts.push(at.offset() as u32);
        item(file, kind, &mut at)?;
    }
    Ok(Found {
        starts,
        end: at.offset(),
    })
}

/// Reads one item, checks what it says by itself, and steps behind it.
fn item<'a>(file: &DexFile<'a>, kind: Kind, at: &mut Cursor<'a>) -> Result<(), Error> {
    let start = *at;
    match kind {
        Kind::StringData => string_data(file, at),
        Kind::TypeList => {
            for _ in 0..at.u32("size")? {
                let index = at.u16("type index")?;
                at.below("type index", index.into(), file.type_count())?;
            }
            Ok(())
        }
        Kind::Map => {
            let count = at.u32("size")?;
            at.take(count as usize * 12, "map items").map(drop)
        }
        Kind::AnnotationSet | Kind::AnnotationSetRefs => offsets(at).map(drop),
        Kind::AnnotationsDirectory => Directory::parse(at).map(drop),
        Kind::ClassData => ClassData::parse(at).map(drop),
        Kind::Code => {
            let parsed = Code::parse(at)?;
            code::check_frame(file, &parsed, start.offset())
        }
        Kind::DebugInfo => {
            let counts = Counts {
                strings: file.string_count(),
                types: file.type_count(),
            };
            *at = DebugInfo::parse(*at)?.verify(counts)?;
            Ok(())
        }
        Kind::Annotation => {
            let parsed = Annotation::parse(at)?;
            annotation(file, &start, &parsed.annotation)
        }
        Kind::EncodedArray => {
            let parsed = EncodedValue::parse_array(at)?;
            parsed.iter().try_for_each(|it| value(file, &start, it))
        }
        _ => Ok(()), // of fixed size
    }
}

fn string_data(file: &DexFile<'_>, at: &mut Cursor<'_>) -> Result<(), Error> {
    let start = *at;
    let length = at.uleb("length in UTF-16 units")?;
    let bytes = file.string_at(start.offset())?;
    let units = classfile::to_utf16(bytes)
        .map_err(|_| start.malformed("the string is not modified UTF-8"))?;
    if units.len() != length as usize {
        let text = format!(
            "the string has {} UTF-16 units, its length says {length}",
            units.len()
        );
        return Err(start.malformed(text));
    }
    at.take(bytes.len() + 1, "string").map(drop)
}

fn annotation(file: &DexFile<'_>, at: &Cursor<'_>, it: &EncodedAnnotation) -> Result<(), Error> {
    at.below("annotation type", it.kind, file.type_count())?;
    for (name, element) in &it.elements {
        at.below("element name", *name, file.string_count())?;
        value(file, at, element)?;
    }
    Ok(())
}

fn value(file: &DexFile<'_>, at: &Cursor<'_>, it: &EncodedValue) -> Result<(), Error> {
    use EncodedValue as V;
    let (what, index, limit) = match it {
        V::MethodType(index) => ("proto index", *index, file.proto_count()),
        V::MethodHandle(index) => ("method handle index", *index, file.method_handle_count()),
        V::String(index) => ("string index", *index, file.string_count()),
        V::Type(index) => ("type index", *index, file.type_count()),
        V::Field(index) | V::Enum(index) => ("field index", *index, file.field_count()),
        V::Method(index) => ("method index", *index, file.method_count()),
        V::Array(values) => return values.iter().try_for_each(|it| value(file, at, it)),
        V::Annotation(it) => return annotation(file, at, it),
        _ => return Ok(()),
    };
    at.below(what, index, limit).map(drop)
}

/// Sets lead to annotations, lists of sets to sets, directories to both.
fn check_annotation_sets(file: &DexFile<'_>, known: &Offsets) -> Result<(), Error> {
    for start in known.of(Kind::AnnotationSet) {
        let mut at = Cursor::new(file.bytes, *start as usize, name(Kind::AnnotationSet));
        for offset in offsets(&mut at)? {
            known.check(&at, Kind::Annotation, "annotation offset", offset)?;
        }
    }
    for start in known.of(Kind::AnnotationSetRefs) {
        let mut at = Cursor::new(file.bytes, *start as usize, name(Kind::AnnotationSetRefs));
        for offset in offsets(&mut at)? {
            known.check_optional(&at, Kind::AnnotationSet, "annotation set offset", offset)?;
        }
    }
    for start in known.of(Kind::AnnotationsDirectory) {
        let mut at = Cursor::new(
            file.bytes,
            *start as usize,
            name(Kind::AnnotationsDirectory),
        );
        let directory = Directory::parse(&mut at)?;
        known.check_optional(
            &at,
            Kind::AnnotationSet,
            "class annotations",
            directory.class,
        )?;
        let lists = [
            (&directory.fields, Kind::AnnotationSet, file.field_count()),
            (&directory.methods, Kind::AnnotationSet, file.method_count()),
            (
                &directory.parameters,
                Kind::AnnotationSetRefs,
                file.method_count(),
            ),
        ];
        for (members, kind, limit) in lists {
            if !members.is_sorted_by(|a, b| a.0 < b.0) {
                return Err(at.fault(Fault::Order("annotated members by index, each once")));
            }
            for (member, offset) in members {
                at.below("member index", *member, limit)?;
                known.check(&at, kind, "annotations of a member", *offset)?;
            }
        }
    }
    Ok(())
}
