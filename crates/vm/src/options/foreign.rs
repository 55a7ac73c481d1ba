// SPDX-License-Identifier: Apache-2.0
//! [`Foreign`]: options of other machines.

/// What an option that Takt does not have means to the user who gave it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Foreign {
    /// Nothing that the user would miss.
    Silent,
    /// The program runs as well without; why.
    Ignored(&'static str),
    /// The program would not do what the user wants without; what is missing.
    Unsupported(&'static str),
    /// A mistake.
    Unknown,
}

/// First what `java -X` lists, each with all that may follow.
const IGNORED: [&str; 18] = [
    "-Xint",
    "-Xcomp",
    "-Xmixed",
    "-Xbatch",
    "-Xmn",
    "-Xnoclassgc",
    "-Xlog",
    "-Xloggc:",
    "-Xshare:",
    "-Xcheck:jni",
    "-Xdebug",
    "-Xnoagent",
    "-Xfuture",
    "-Xincgc",
    "-Xconcgc",
    "-Xverify:",
    "-verbose:",
    "--illegal-access=",
];
/// Up to how many calls the library interprets a method handle's form: any number but 0 would have
/// it run code that a machine without an interpreter does not have.
const FORM_THRESHOLD: &str = "-Djava.lang.invoke.MethodHandle.COMPILE_THRESHOLD=";

const UNSUPPORTED: [(&str, &str); 5] = [
    ("-agentlib:", "agents in native code"),
    ("-agentpath:", "agents in native code"),
    ("-Xrun", "agents in native code"),
    ("-Xbootclasspath", "other boot class path than the JDK's"),
    ("--enable-preview", "preview features"),
];

impl Foreign {
    /// Whether it asks the library for what it must not do here, though it looks like a property.
    pub(super) fn is_property(argument: &str) -> bool {
        argument
            .strip_prefix(FORM_THRESHOLD)
            .is_some_and(|calls| calls != "0")
    }

    pub(super) fn of(argument: &str) -> Self {
        if Self::is_property(argument) {
            return Self::Ignored("Takt compiles each form of a method handle at its first call");
        }
        if argument.starts_with("-XX:") {
            return Self::Ignored("Takt has no such option");
        }
        let has = |prefix: &str| argument.starts_with(prefix);
        if let Some((_, what)) = UNSUPPORTED.iter().find(|(prefix, _)| has(prefix)) {
            return Self::Unsupported(what);
        }
        if IGNORED.into_iter().any(has) {
            return Self::Ignored("it means nothing to Takt");
        }
        // Hooks of the invocation interface, for those who embed a machine.
        let is_hook = matches!(argument, "vfprintf" | "exit" | "abort") || has("_");
        if is_hook {
            return Self::Silent;
        }
        Self::Unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_ignored_refused_or_unknown() {
        assert!(matches!(Foreign::of("-XX:+UseFoo"), Foreign::Ignored(_)));
        assert!(matches!(Foreign::of("-Xmn64m"), Foreign::Ignored(_)));
        let threshold = format!("{FORM_THRESHOLD}30");
        assert!(matches!(Foreign::of(&threshold), Foreign::Ignored(_)));
        assert!(Foreign::is_property(&threshold));
        assert!(!Foreign::is_property(&format!("{FORM_THRESHOLD}0")));
        assert_eq!(
            Foreign::of("-agentlib:jdwp"),
            Foreign::Unsupported("agents in native code")
        );
        assert_eq!(Foreign::of("-Xfoo"), Foreign::Unknown);
        assert_eq!(Foreign::of("--foo"), Foreign::Unknown);
        assert_eq!(Foreign::of("exit"), Foreign::Silent);
    }
}
