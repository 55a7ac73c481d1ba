// SPDX-License-Identifier: Apache-2.0
//! Annotations of a class and of its members.

use crate::cursor::{Cursor, VERIFIED};
use crate::value::EncodedAnnotation;
use crate::{DexFile, Error};

/// Who may see an annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// The compiler.
    Build,
    /// The application.
    Runtime,
    /// The machine: inner classes, signatures, exceptions.
    System,
}

/// An annotation_item.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotation {
    /// Who may see it.
    pub visibility: Visibility,
    /// What it says.
    pub annotation: EncodedAnnotation,
}

/// An annotations_directory_item: sets are named by their offsets, read by [`Directory::set`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    /// Of the class; zero if it has none.
    pub class: u32,
    /// Field index and set.
    pub fields: Vec<(u32, u32)>,
    /// Method index and set.
    pub methods: Vec<(u32, u32)>,
    /// Method index and list of sets, one for each parameter.
    pub parameters: Vec<(u32, u32)>,
}

impl Annotation {
    pub(crate) fn parse(at: &mut Cursor<'_>) -> Result<Self, Error> {
        let visibility = match at.u8("visibility")? {
            0 => Visibility::Build,
            1 => Visibility::Runtime,
            2 => Visibility::System,
            other => return Err(at.malformed(format!("unknown visibility {other}"))),
        };
        Ok(Self {
            visibility,
            annotation: EncodedAnnotation::parse(at)?,
        })
    }
}

impl Directory {
    pub(crate) fn parse(at: &mut Cursor<'_>) -> Result<Self, Error> {
        let class = at.u32("class annotations")?;
        let counts = [
            at.u32("number of fields")?,
            at.u32("number of methods")?,
            at.u32("number of parameter lists")?,
        ];
        let mut pairs = |count| -> Result<Vec<(u32, u32)>, Error> {
            let mut pairs = Vec::new();
            for _ in 0..count {
                pairs.push((at.u32("member index")?, at.u32("annotations offset")?));
            }
            Ok(pairs)
        };
        let [fields, methods, parameters] = counts;
        Ok(Self {
            class,
            fields: pairs(fields)?,
            methods: pairs(methods)?,
            parameters: pairs(parameters)?,
        })
    }

    pub(crate) fn read(bytes: &[u8], offset: u32) -> Result<Self, Error> {
        Self::parse(&mut Cursor::new(
            bytes,
            offset as usize,
            "annotations_directory_item",
        ))
    }

    /// The annotations of the set at `offset`, one that this directory named.
    pub fn set(file: &DexFile<'_>, offset: u32) -> Vec<Annotation> {
        if offset == 0 {
            return Vec::new();
        }
        let mut at = Cursor::new(file.bytes, offset as usize, "annotation_set_item");
        let offsets = offsets(&mut at).expect(VERIFIED);
        offsets
            .into_iter()
            .map(|it| {
                Annotation::parse(&mut Cursor::new(file.bytes, it as usize, "annotation_item"))
            })
            .collect::<Result<_, Error>>()
            .expect(VERIFIED)
    }

    /// The annotations of each parameter in the list at `offset`, one that this directory named.
    pub fn parameter_sets(file: &DexFile<'_>, offset: u32) -> Vec<Vec<Annotation>> {
        let mut at = Cursor::new(file.bytes, offset as usize, "annotation_set_ref_list");
        let sets = offsets(&mut at).expect(VERIFIED);
        sets.into_iter().map(|set| Self::set(file, set)).collect()
    }
}

/// A count and as many offsets: annotation_set_item and annotation_set_ref_list.
pub(crate) fn offsets(at: &mut Cursor<'_>) -> Result<Vec<u32>, Error> {
    let count = at.u32("number of entries")?;
    let mut offsets = Vec::new();
    for _ in 0..count {
        offsets.push(at.u32("offset")?);
    }
    Ok(offsets)
}
