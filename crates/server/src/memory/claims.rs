// SPDX-License-Identifier: Apache-2.0
//! [`Claims`]: what real-time packages say that they need, and whether all of it is there.

use std::collections::BTreeMap;

use apk::Manifest;

/// The name of the application's `<meta-data>` that says how much memory all its processes have
/// together: `android:value="64M"`.
pub const DECLARATION: &str = "takt.memory";
/// One quarter of the machine stays for the kernel, the server and ordinary packages.
pub const RESERVED_SHARE: u64 = 4;

/// Why a real-time package is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// It does not say what it needs.
    #[error(
        "{0} is a real-time package and does not say how much memory it has: \
         <meta-data android:name=\"{DECLARATION}\" android:value=\"64M\"/> in its application \
         does, or `takt system --realtime {0}=PRIORITY:64M`"
    )]
    NotDeclared(String),
    /// What it says is no size.
    #[error("{0} declares {DECLARATION} \"{1}\": a size is wanted, such as 64M or 1G")]
    Malformed(String, String),
    /// All of them together have not room.
    #[error(
        "{package} declares {wanted} bytes, and {taken} of the {room} bytes for real-time packages \
         are taken: the machine has {machine}, a quarter of which stays for the rest"
    )]
    TooMuch {
        /// Which package.
        package: String,
        /// What it declares.
        wanted: u64,
        /// What the others declare.
        taken: u64,
        /// For all of them.
        room: u64,
        /// The machine's memory.
        machine: u64,
    },
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    /// Packages that a person has named, and what that person says instead of their manifests.
    named: BTreeMap<String, Option<u64>>,
    /// The machine's memory; none before somebody has said it.
    machine: Option<u64>,
}

impl Claims {
    /// Of a machine with so much memory, these packages are real-time ones.
    pub fn new(machine: u64, named: BTreeMap<String, Option<u64>>) -> Self {
        let machine = Some(machine);
        Self { named, machine }
    }

    /// Whether a person has named it.
    pub fn is_real_time(&self, package: &str) -> bool {
        self.named.contains_key(package)
    }

    /// What a package may have; none if it is an ordinary one.
    ///
    /// # Errors
    ///
    /// It does not say that, or not so that it can be read.
    pub fn of(&self, manifest: &Manifest) -> Result<Option<u64>, MemoryError> {
        let Some(said) = self.named.get(&manifest.package) else {
            return Ok(None);
        };
        if said.is_some() {
            return Ok(*said);
        }
        let mut all = manifest.application.meta_data.iter();
        let declared = all.find(|it| it.name.as_deref() == Some(DECLARATION));
        let text = declared.and_then(|it| it.value.as_deref());
        let name = || manifest.package.clone();
        let text = text.ok_or_else(|| MemoryError::NotDeclared(name()))?;
        let size = parse_size(text);
        size.map(Some)
            .ok_or_else(|| MemoryError::Malformed(name(), text.to_owned()))
    }

    /// Whether a package fits beside the others.
    ///
    /// # Errors
    ///
    /// [`MemoryError`]
    pub fn admit<'a>(
        &self,
        manifest: &Manifest,
        others: impl Iterator<Item = &'a Manifest>,
    ) -> Result<(), MemoryError> {
        let Some(wanted) = self.of(manifest)? else {
            return Ok(());
        };
        let Some(machine) = self.machine else {
            return Ok(());
        };
        let room = machine - machine / RESERVED_SHARE;
        let others = others.filter(|it| it.package != manifest.package);
        // What cannot be read was refused when it came.
        let others = others.filter_map(|it| self.of(it).ok()?);
        let taken = others.fold(0_u64, u64::saturating_add);
        match taken.saturating_add(wanted) <= room {
            true => Ok(()),
            false => Err(MemoryError::TooMuch {
                package: manifest.package.clone(),
                wanted,
                taken,
                room,
                machine,
            }),
        }
    }
}

/// Bytes: a number, with K, M or G for more of them. Nought is no size.
fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let (digits, shift) = match text.char_indices().next_back()? {
        (at, 'K' | 'k') => (&text[..at], 10),
        (at, 'M' | 'm') => (&text[..at], 20),
        (at, 'G' | 'g') => (&text[..at], 30),
        _ => (text, 0),
    };
    let is_number = digits.bytes().all(|it| it.is_ascii_digit());
    let number = digits.parse::<u64>().ok().filter(|_| is_number)?;
    number.checked_mul(1 << shift).filter(|it| *it > 0)
}

#[cfg(test)]
mod tests {
    use apk::MetaData;

    use super::*;

    fn declaring(package: &str, value: Option<&str>) -> Manifest {
        let mut manifest = Manifest::new(package);
        let name = Some(DECLARATION.to_owned());
        manifest.application.meta_data = vec![MetaData {
            name,
            value: value.map(str::to_owned),
            resource: None,
        }];
        manifest
    }

    #[test]
    fn sizes_are_read_or_refused() {
        for (text, bytes) in [
            ("7", 7),
            ("2k", 2 << 10),
            (" 64M ", 64 << 20),
            ("1G", 1 << 30),
        ] {
            assert_eq!(parse_size(text), Some(bytes), "{text}");
        }
        for text in [
            "",
            "M",
            "0",
            "-1",
            "+1",
            "1.5G",
            "64MB",
            "99999999999G",
            "ä",
        ] {
            assert_eq!(parse_size(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_declared_must_fit_together_and_be_said() {
        let named = [("a", None), ("b", None), ("c", Some(1 << 20))];
        let named = named.map(|(name, it)| (name.to_owned(), it)).into();
        let claims = Claims::new(128 << 20, named);
        let (a, b) = (declaring("a", Some("64M")), declaring("b", Some("32M")));
        let c = declaring("c", Some("100M"));
        assert_eq!(claims.admit(&a, [].into_iter()), Ok(()));
        assert_eq!(claims.admit(&b, [&a, &b].into_iter()), Ok(()));
        // A person's word counts, and it is more than is left.
        let refused = claims.admit(&c, [&a, &b].into_iter()).unwrap_err();
        let text = refused.to_string();
        assert!(text.starts_with("c declares 1048576 bytes, and 100663296 of the 100663296"));
        assert!(text.contains("the machine has 134217728"), "{text}");
        assert_eq!(claims.admit(&c, [&a].into_iter()), Ok(()));
        for (value, expected) in [(None, "does not say"), (Some("much"), "a size is wanted")] {
            let refused = claims.admit(&declaring("b", value), [].into_iter());
            let text = refused.unwrap_err().to_string();
            assert!(text.starts_with("b ") && text.contains(expected), "{text}");
        }
        // An ordinary one may say anything.
        assert_eq!(
            claims.admit(&declaring("d", Some("9G")), [].into_iter()),
            Ok(())
        );
    }
}
