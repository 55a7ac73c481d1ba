// SPDX-License-Identifier: Apache-2.0
//! [`Library`]: files that know each other's names.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::error::{Error, Fault, Problem, Span, unsupported, wrong};
use crate::model::*;
use crate::parser::holds;

/// Documents whose names are resolved: each [`Base::Named`] in them is a declaration's full name.
#[derive(Clone, Debug)]
pub struct Library {
    documents: Vec<Document>,
    kinds: BTreeMap<String, Named>,
}

/// What a type needs to know of a declaration.
#[derive(Clone, Debug)]
pub(crate) enum Named {
    Interface,
    /// With the parcelables among its single fields.
    Parcelable(Vec<String>),
    Foreign,
    Enum(EnumDeclaration),
}

/// The file, and what is wrong in it.
type FileFault = (String, Fault);

impl Library {
    /// Resolves and checks the documents together.
    pub fn new(documents: Vec<Document>) -> Result<Self, Error> {
        Self::checked(documents).map_err(|(file, (span, problem))| Error {
            file,
            span,
            problem,
        })
    }

    /// The documents, in their order.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    pub(crate) fn named(&self, name: &str) -> &Named {
        &self.kinds[name]
    }

    fn checked(mut documents: Vec<Document>) -> Result<Self, FileFault> {
        let mut names = HashSet::new();
        for document in &documents {
            for it in &document.declarations {
                if !names.insert(it.name.clone()) {
                    let fault = (it.span, Problem::Twice(it.name.clone()));
                    return Err((document.file.clone(), fault));
                }
            }
        }
        for document in &mut documents {
            let file = document.file.clone();
            resolve(document, &names).map_err(|it| (file, it))?;
        }
        let mut library = Self {
            documents,
            kinds: BTreeMap::new(),
        };
        for it in library.documents.iter().flat_map(|it| &it.declarations) {
            library.kinds.insert(it.name.clone(), named(&it.kind));
        }
        for document in &library.documents {
            for it in &document.declarations {
                let checked = library.declaration(it);
                checked.map_err(|it| (document.file.clone(), it))?;
            }
        }
        library.circles()?;
        Ok(library)
    }

    fn declaration(&self, declaration: &Declaration) -> Result<(), Fault> {
        match &declaration.kind {
            Kind::Interface(it) => {
                unique(it.methods.iter().map(|it| (it.span, &it.name)))?;
                unique(it.constants.iter().map(|it| (it.span, &it.name)))?;
                let mut codes = HashSet::new();
                for method in &it.methods {
                    if !codes.insert(method.code) {
                        return wrong(method.span, "another method has this code");
                    }
                    self.method(method)?;
                }
                self.constants(&it.constants)
            }
            Kind::Parcelable(it) => {
                unique(it.fields.iter().map(|it| (it.span, &it.name)))?;
                unique(it.constants.iter().map(|it| (it.span, &it.name)))?;
                it.fields.iter().try_for_each(|it| self.field(it))?;
                self.constants(&it.constants)
            }
            Kind::Enum(it) => unique(it.enumerators.iter().map(|it| (it.span, &it.name))),
            Kind::Foreign => Ok(()),
        }
    }

    fn method(&self, method: &Method) -> Result<(), Fault> {
        unique(method.parameters.iter().map(|it| (it.span, &it.name)))?;
        if let Some(result) = &method.result {
            self.used(result)?;
        }
        for it in &method.parameters {
            self.used(&it.of)?;
            self.direction(it)?;
        }
        Ok(())
    }

    /// What comes back in a parameter has a value before.
    fn direction(&self, parameter: &Parameter) -> Result<(), Fault> {
        let (of, span) = (&parameter.of, parameter.span);
        let is_parcelable = matches!(&of.base, Base::Named(it)
            if matches!(self.named(it), Named::Parcelable(_) | Named::Foreign));
        if parameter.direction == Direction::In {
            return Ok(());
        }
        if of.is_nullable {
            return unsupported(span, "@nullable on out and inout");
        }
        if of.form == Form::Single && !is_parcelable {
            return if of.base == Base::Fd {
                unsupported(span, "out ParcelFileDescriptor")
            } else {
                wrong(span, "only arrays, lists and parcelables are out or inout")
            };
        }
        let is_array_out = of.form == Form::Array && parameter.direction == Direction::Out;
        if is_array_out && matches!(of.base, Base::Binder | Base::Fd) {
            return unsupported(span, "out arrays of what has no value to begin with");
        }
        Ok(())
    }

    fn field(&self, field: &Field) -> Result<(), Fault> {
        let of = &field.of;
        self.used(of)?;
        let is_interface = matches!(&of.base, Base::Named(it)
            if matches!(self.named(it), Named::Interface));
        let has_none = matches!(of.base, Base::Binder | Base::Fd) || is_interface;
        if of.form == Form::Single && !of.is_nullable && has_none {
            return unsupported(
                field.span,
                "fields without @nullable that have no value at first",
            );
        }
        match &field.default {
            Some(_) if of.is_nullable => unsupported(field.span, "values of @nullable fields"),
            Some(value) => self.literal(of, value),
            None => Ok(()),
        }
    }

    fn constants(&self, constants: &[Constant]) -> Result<(), Fault> {
        for it in constants {
            let is_constant = matches!(it.of.base, Base::Primitive(_) | Base::Text);
            if !is_constant || it.of.form != Form::Single || it.of.is_nullable {
                return unsupported(it.of.span, "constants that are no primitive and no String");
            }
            self.literal(&it.of, &it.value)?;
        }
        Ok(())
    }

    /// Whether the type is one that parcels carry.
    fn used(&self, of: &Type) -> Result<(), Fault> {
        let named = match &of.base {
            Base::Named(it) => Some(self.named(it)),
            _ => None,
        };
        let is_number =
            matches!(of.base, Base::Primitive(_)) || matches!(named, Some(Named::Enum(_)));
        match of.form {
            Form::Single if is_number && of.is_nullable => wrong(of.span, "a number is never null"),
            Form::Single => Ok(()),
            _ if matches!(named, Some(Named::Interface)) => {
                unsupported(of.span, "arrays and lists of interfaces")
            }
            Form::List if is_number => unsupported(of.span, "lists of numbers"),
            Form::Array if is_number && of.is_nullable => Ok(()),
            Form::Array => match named {
                Some(Named::Enum(it)) if it.backing == Primitive::Byte => {
                    unsupported(of.span, "arrays of enums of byte")
                }
                _ => Ok(()),
            },
            Form::List => Ok(()),
        }
    }

    fn literal(&self, of: &Type, literal: &Literal) -> Result<(), Fault> {
        use Primitive::{Boolean, Byte, Char, Double, Float, Int};
        if of.form != Form::Single {
            return unsupported(literal.span, "values of arrays and lists");
        }
        let fits = match (&of.base, &literal.value) {
            (Base::Primitive(Boolean), Value::Boolean(_)) => true,
            (Base::Primitive(Char), Value::Character(_)) => true,
            (Base::Primitive(Float), Value::Real(it)) => it.parse().is_ok_and(f32::is_finite),
            (Base::Primitive(Double), Value::Real(_)) => true,
            (Base::Primitive(Float | Double), Value::Integer { is_hex, .. }) => !is_hex,
            (
                Base::Primitive(Int),
                Value::Integer {
                    value,
                    is_hex: true,
                },
            ) => u32::try_from(*value).is_ok(),
            (
                Base::Primitive(Byte),
                Value::Integer {
                    value,
                    is_hex: true,
                },
            ) => u8::try_from(*value).is_ok(),
            (Base::Primitive(it), Value::Integer { value, .. }) => holds(*it, *value),
            (Base::Text, Value::Text(_)) => true,
            (Base::Named(name), Value::Enumerator(of, value)) => match self.named(name) {
                Named::Enum(it) if name == of => it.enumerators.iter().any(|it| it.name == *value),
                _ => false,
            },
            _ => false,
        };
        if fits {
            Ok(())
        } else {
            wrong(literal.span, "no value of this type")
        }
    }

    /// A parcelable inside itself would make its reader as deep as its sender likes.
    fn circles(&self) -> Result<(), FileFault> {
        // 0: not seen, 1: being looked at, 2: done.
        let mut seen: HashMap<&str, u8> = HashMap::new();
        for document in &self.documents {
            for declaration in &document.declarations {
                let mut stack = vec![declaration.name.as_str()];
                while let Some(name) = stack.last().copied() {
                    let Named::Parcelable(inner) = self.named(name) else {
                        stack.pop();
                        continue;
                    };
                    if seen.get(name).is_some_and(|it| *it > 0) {
                        seen.insert(name, 2);
                        stack.pop();
                        continue;
                    }
                    seen.insert(name, 1);
                    for it in inner {
                        match seen.get(it.as_str()) {
                            Some(1) => {
                                let what = format!("{it} inside itself");
                                let fault = (declaration.span, Problem::Unsupported(what));
                                return Err((document.file.clone(), fault));
                            }
                            Some(_) => {}
                            None => stack.push(it),
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

fn named(kind: &Kind) -> Named {
    match kind {
        Kind::Interface(_) => Named::Interface,
        Kind::Foreign => Named::Foreign,
        Kind::Enum(it) => Named::Enum(it.clone()),
        Kind::Parcelable(it) => {
            let inner = it.fields.iter().filter_map(|it| match &it.of.base {
                Base::Named(name) => Some(name.clone()),
                _ => None,
            });
            Named::Parcelable(inner.collect())
        }
    }
}

fn unique<'a>(names: impl Iterator<Item = (Span, &'a String)>) -> Result<(), Fault> {
    let mut seen = HashSet::new();
    for (span, name) in names {
        if !seen.insert(name) {
            return Err((span, Problem::Twice(name.clone())));
        }
    }
    Ok(())
}

/// Full names in place of those that the document writes.
fn resolve(document: &mut Document, names: &HashSet<String>) -> Result<(), Fault> {
    for (span, name) in &document.imports {
        let is_built_in = name == "android.os.ParcelFileDescriptor" || name == "android.os.IBinder";
        if !names.contains(name) && !is_built_in {
            return Err((*span, Problem::Unknown(name.clone())));
        }
    }
    let find = |span: Span, name: &mut String| {
        let is_imported = |it: &&(Span, String)| it.1.rsplit('.').next() == Some(name.as_str());
        let imported = document
            .imports
            .iter()
            .find(is_imported)
            .map(|it| it.1.clone());
        let near = format!("{}.{name}", document.package);
        let candidates = [imported, Some(near), Some(name.clone())];
        let found = candidates
            .into_iter()
            .flatten()
            .find(|it| names.contains(it));
        *name = found.ok_or((span, Problem::Unknown(name.clone())))?;
        Ok(())
    };
    let find_type = |of: &mut Type| match &mut of.base {
        Base::Named(name) => find(of.span, name),
        _ => Ok(()),
    };
    let find_value = |it: &mut Literal| match &mut it.value {
        Value::Enumerator(name, _) => find(it.span, name),
        _ => Ok(()),
    };
    for declaration in &mut document.declarations {
        match &mut declaration.kind {
            Kind::Interface(it) => {
                for method in &mut it.methods {
                    let parameters = method.parameters.iter_mut().map(|it| &mut it.of);
                    parameters
                        .chain(&mut method.result)
                        .try_for_each(find_type)?;
                }
            }
            Kind::Parcelable(it) => {
                for field in &mut it.fields {
                    find_type(&mut field.of)?;
                    field.default.as_mut().map_or(Ok(()), find_value)?;
                }
            }
            Kind::Foreign | Kind::Enum(_) => {}
        }
        let constants = match &mut declaration.kind {
            Kind::Interface(it) => &mut it.constants,
            Kind::Parcelable(it) => &mut it.constants,
            Kind::Foreign | Kind::Enum(_) => continue,
        };
        for it in constants {
            find_type(&mut it.of)?;
            find_value(&mut it.value)?;
        }
    }
    Ok(())
}
