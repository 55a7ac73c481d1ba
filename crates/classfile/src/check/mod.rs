// SPDX-License-Identifier: Apache-2.0
//! What the format forbids (JVM specification, chapter 4) beyond what must be right for a file to
//! be read.
//!
//! [`ClassFile::check`] walks the file once more. It is asked for classes that nobody vouches for;
//! the class library's own are trusted, so starting is not slower. Code itself is `ir`'s matter.

mod attribute;
mod code;
mod constants;
mod flags;
mod member;
mod name;

use crate::{ClassFile, Error, access, member::for_each_attribute, mutf8, reader::Reader};

impl ClassFile<'_> {
    /// Whether the file is one that the format allows: flags, names, constants, attributes, no
    /// member twice.
    pub fn check(&self) -> Result<(), Error> {
        constants::check(&self.constants, self.major, self.bootstrap_methods.len())?;
        if self.access & access::MODULE != 0 {
            return Err(Error::Module);
        }
        let mut reader = Reader::new(self.body);
        self.check_declaration(&mut reader)?;
        member::check_fields(self, &mut reader)?;
        member::check_methods(self, &mut reader)?;
        let mut seen = Once::default();
        for_each_attribute(&mut reader, &self.constants, |name, body| {
            attribute::check(self, name, body, &mut seen)
        })?;
        self.check_nest()
    }

    fn check_declaration(&self, reader: &mut Reader<'_>) -> Result<(), Error> {
        const WHAT: &str = "class";
        // As parsed: flags, own name, superclass, interfaces.
        reader.take(6, WHAT)?;
        reader.u16_list(WHAT)?;
        require(flags::is_class(self.access, self.major), || {
            format!("Illegal class modifiers 0x{:X}", self.access)
        })?;
        require(!self.name.starts_with(b"["), || "Bad class name".to_owned())?;
        let is_interface = self.access & access::INTERFACE != 0;
        if let Some(parent) = self.super_name {
            require(!parent.starts_with(b"["), || {
                "Bad superclass name".to_owned()
            })?;
            require(!is_interface || parent == b"java/lang/Object", || {
                "Interfaces must have java.lang.Object as superclass".to_owned()
            })?;
        }
        let mut names = self.interfaces.clone();
        names.sort_unstable();
        for name in &names {
            require(!name.starts_with(b"["), || "Bad interface name".to_owned())?;
        }
        require(names.is_sorted_by(|one, other| one < other), || {
            "Duplicate interface name".to_owned()
        })
    }

    fn check_nest(&self) -> Result<(), Error> {
        let has_both = self.nest_host.is_some() && !self.nest_members.is_empty();
        require(!has_both, || {
            "Conflicting NestHost and NestMembers attributes".to_owned()
        })
    }
}

/// Attributes that were there already.
#[derive(Default)]
struct Once<'a>(Vec<&'a [u8]>);

impl<'a> Once<'a> {
    /// Refuses an attribute's second appearance.
    fn check(&mut self, name: &'a [u8]) -> Result<(), Error> {
        require(!self.0.contains(&name), || {
            format!("Multiple {} attributes", shown(name))
        })?;
        self.0.push(name);
        Ok(())
    }
}

fn require(holds: bool, or_else: impl FnOnce() -> String) -> Result<(), Error> {
    if holds { Ok(()) } else { illegal(or_else()) }
}

fn illegal<T>(what: String) -> Result<T, Error> {
    Err(Error::Illegal(what))
}

fn shown(name: &[u8]) -> String {
    mutf8::to_string_lossy(name)
}

/// An attribute's content is this long, no more and no less.
fn check_size(name: &[u8], body: &[u8], size: usize) -> Result<(), Error> {
    require(body.len() == size, || {
        format!("Wrong size {} for {} attribute", body.len(), shown(name))
    })
}
