// SPDX-License-Identifier: Apache-2.0
//! [`Assertions`]: for which classes `assert` does something.

/// One `-ea:NAME` or `-da:NAME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Directive {
    /// With dots; of a package without those at the end, and empty for the package without a name.
    pub(crate) name: String,
    pub(crate) is_package: bool,
    pub(crate) is_enabled: bool,
}

/// Of the command line, as the `java` command documents it: a class's own directive counts most,
/// then that of the innermost package; of two for one name the later.
#[derive(Debug, Default)]
pub(crate) struct Assertions {
    is_enabled: bool,
    is_enabled_in_library: bool,
    directives: Vec<Directive>,
}

impl Assertions {
    /// Whether `argument` is about assertions.
    pub(super) fn take(&mut self, argument: &str) -> bool {
        let (name, value) = argument.split_once(':').unwrap_or((argument, ""));
        let is_enabled = matches!(
            name,
            "-ea" | "-enableassertions" | "-esa" | "-enablesystemassertions"
        );
        match name {
            "-ea" | "-enableassertions" | "-da" | "-disableassertions" if value.is_empty() => {
                self.is_enabled = is_enabled;
            }
            "-ea" | "-enableassertions" | "-da" | "-disableassertions" => {
                let package = value.strip_suffix("...");
                self.directives.push(Directive {
                    name: package.unwrap_or(value).to_owned(),
                    is_package: package.is_some(),
                    is_enabled,
                });
            }
            "-esa" | "-enablesystemassertions" | "-dsa" | "-disablesystemassertions" => {
                self.is_enabled_in_library = is_enabled;
            }
            _ => return false,
        }
        true
    }

    /// What class loaders start from: the default, and all directives, of which the last for a name
    /// counts.
    pub(crate) fn directives(&self) -> (bool, &[Directive]) {
        (self.is_enabled, &self.directives)
    }

    /// Whether class `name` (with slashes) starts with assertions.
    pub(crate) fn are_enabled(&self, name: &str, is_library: bool) -> bool {
        let name = name.replace('/', ".");
        let find = |name: &str, is_package| {
            let is_it = |it: &&Directive| it.is_package == is_package && it.name == name;
            Some(self.directives.iter().rev().find(is_it)?.is_enabled)
        };
        if let Some(found) = find(&name, false) {
            return found;
        }
        let mut package = name.rsplit_once('.').map_or("", |(package, _)| package);
        loop {
            if let Some(found) = find(package, true) {
                return found;
            }
            let Some((outer, _)) = package.rsplit_once('.') else {
                break;
            };
            package = outer;
        }
        if is_library {
            self.is_enabled_in_library
        } else {
            self.is_enabled
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(arguments: &[&str]) -> Assertions {
        let mut assertions = Assertions::default();
        assert!(arguments.iter().all(|argument| assertions.take(argument)));
        assertions
    }

    #[test]
    fn the_narrowest_directive_counts() {
        let it = of(&["-ea", "-da:org.a...", "-ea:org.a.b...", "-da:org.a.b.C"]);
        assert!(it.are_enabled("Main", false));
        assert!(!it.are_enabled("org/a/X", false));
        assert!(it.are_enabled("org/a/b/X", false));
        assert!(it.are_enabled("org/a/b/c/X", false));
        assert!(!it.are_enabled("org/a/b/C", false));
        assert!(!it.are_enabled("java/lang/String", true));
    }

    #[test]
    fn the_later_of_two_counts_and_the_library_has_its_own() {
        let it = of(&["-ea:A", "-da:A", "-esa", "-ea:..."]);
        assert!(!it.are_enabled("A", false));
        assert!(it.are_enabled("B", false), "the package without a name");
        assert!(!it.are_enabled("p/B", false));
        assert!(it.are_enabled("java/lang/String", true));
        assert!(!Assertions::default().take("-eax"));
    }
}
