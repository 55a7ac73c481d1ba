// SPDX-License-Identifier: Apache-2.0
//! [`Speech`]: what the words of `adb`'s clients mean. They are those of `am`, `logcat`, `ps`,
//! `dumpsys` and `pm` alone, and no shell ever sees them.

use std::collections::BTreeSet;

use ::adb::Key;
use ::system::bridge::{Order, Show, Words};
use ::system::protocol::Request;
use clap::{Parser, Subcommand};
use rt::sync::PiMutex;

use super::am;
use super::show::{Said, Texts};
use super::verbs::{LogcatWish, PsWish};

/// Strangers that the log names; one comes again and again.
const STRANGERS_MAX: usize = 16;
const EXIT_FAILED: u8 = 2;
/// A shell's, for what it does not know.
const EXIT_UNKNOWN: u8 = 127;
/// What comes before the words of `adb logcat`.
const LOG_TAGS: &str = "export ANDROID_LOG_TAGS=";
const EXEC: &str = "; exec ";
const FIRST_WORDS: [&str; 6] = ["am", "cmd", "dumpsys", "logcat", "pm", "ps"];
/// The form of lines, and the one log that there is.
const FORM: &str = "threadtime";
const LOGS: [&str; 3] = ["all", "default", "main"];

/// See the module.
#[derive(Default)]
pub(super) struct Speech {
    /// Keys that the log has named.
    strangers: PiMutex<BTreeSet<String>>,
}

impl Words for Speech {
    fn order(&self, command: &str) -> Order {
        match words(command) {
            Ok(words) => spoken(&words),
            Err(text) => Order::Say(text, EXIT_UNKNOWN),
        }
    }

    fn stranger(&self, key: &Key) {
        let mut strangers = self.strangers.lock();
        let is_new = strangers.len() < STRANGERS_MAX && strangers.insert(key.print());
        drop(strangers);
        if is_new {
            eprintln!(
                "takt system: adb: key {} of {:?} is not allowed: `takt adb allow` allows one",
                key.print(),
                key.name()
            );
        }
    }
}

/// A command's words, as a shell would find them.
fn words(command: &str) -> Result<Vec<String>, String> {
    let exec = command.strip_prefix(LOG_TAGS);
    let exec = exec.and_then(|it| Some(it.split_once(EXEC)?.1));
    let words = shlex::split(exec.unwrap_or(command));
    let words = words.ok_or("a quotation mark has no other\n")?;
    let offered = FIRST_WORDS.join(", ");
    match words.first() {
        None => Err(format!("there is no shell here; there are {offered}\n")),
        Some(first) if FIRST_WORDS.contains(&first.as_str()) => Ok(words),
        Some(first) => Err(format!(
            "{first:?} is not offered, and there is no shell here; there are {offered}\n"
        )),
    }
}

fn spoken(words: &[String]) -> Order {
    let order = match Spoken::try_parse_from(words) {
        Ok(spoken) => spoken.verb.order(),
        Err(error) => {
            let code = u8::try_from(error.exit_code()).unwrap_or(EXIT_FAILED);
            Order::Say(error.render().to_string(), code)
        }
    };
    match order {
        Order::Say(text, code @ 1..) => match package_bytes(words) {
            // A package follows all the same.
            Some(bytes) => Order::Install(bytes, Err(text)),
            None => Order::Say(text, code),
        },
        order => order,
    }
}

/// How many bytes follow an install that is refused.
fn package_bytes(words: &[String]) -> Option<u64> {
    let size = words.iter().position(|it| it == "-S")?;
    let is_install = words.iter().any(|it| it == "install");
    words.get(size + 1).filter(|_| is_install)?.parse().ok()
}

#[derive(Parser)]
#[command(
    name = "adb shell",
    no_binary_name = true,
    disable_help_subcommand = true
)]
struct Spoken {
    #[command(subcommand)]
    verb: Verb,
}

/// What clients of `adb` may say.
#[derive(Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one of it at a time")]
enum Verb {
    /// Starts and ends what is installed
    Am {
        #[command(subcommand)]
        verb: am::Verb,
    },
    /// `am` or `pm` by the name of its service
    Cmd {
        #[command(subcommand)]
        verb: Service,
    },
    /// Prints the server's state
    Dumpsys,
    /// Prints what applications say
    Logcat(Logcat),
    /// Installs and takes away
    Pm {
        #[command(subcommand)]
        verb: Pm,
    },
    /// Lists the applications' processes
    Ps {
        /// All of them, as always
        #[arg(short = 'A')]
        all: bool,
        #[command(flatten)]
        wish: PsWish,
    },
}

#[derive(Subcommand)]
enum Service {
    /// As `am`
    Activity {
        #[command(subcommand)]
        verb: am::Verb,
    },
    /// As `pm`
    Package {
        #[command(subcommand)]
        verb: Pm,
    },
}

#[derive(Subcommand)]
enum Pm {
    /// Installs the package that follows, as `adb install` sends it
    Install {
        /// Replace an older one, as always
        #[arg(short = 'r')]
        replace: bool,
        /// Grant what it asks for, as always
        #[arg(short = 'g')]
        grant: bool,
        /// Also one that is for tests, as always
        #[arg(short = 't')]
        test: bool,
        /// Its bytes
        #[arg(short = 'S', value_name = "BYTES")]
        size: Option<u64>,
        /// No file of this machine is read
        file: Option<String>,
    },
    /// Takes a package away, with its data
    Uninstall {
        /// Its name
        package: String,
    },
}

#[derive(clap::Args)]
struct Logcat {
    #[command(flatten)]
    wish: LogcatWish,
    /// The form of lines: there is one
    #[arg(short = 'v', value_parser = [FORM])]
    form: Option<String>,
    /// The log: there is one
    #[arg(short = 'b', value_parser = LOGS)]
    log: Vec<String>,
    /// No tags but those that are named
    #[arg(short = 's')]
    silent: bool,
    /// TAG:PRIORITY for a tag, *:PRIORITY for all others
    specs: Vec<String>,
}

impl Verb {
    fn order(&self) -> Order {
        match self {
            Self::Am { verb } => asked(verb),
            Self::Cmd {
                verb: Service::Activity { verb },
            } => asked(verb),
            Self::Cmd {
                verb: Service::Package { verb },
            }
            | Self::Pm { verb } => verb.order(),
            Self::Dumpsys => order(Request::Dump, Texts),
            Self::Logcat(it) => it.order(),
            Self::Ps { wish, .. } => order(Request::Processes, wish.show()),
        }
    }
}

fn order(request: Request, show: impl Show + 'static) -> Order {
    Order::Ask(request, Box::new(show))
}

fn asked(verb: &am::Verb) -> Order {
    order(verb.request(), Said)
}

impl Pm {
    fn order(&self) -> Order {
        match self {
            Self::Install {
                size: Some(size),
                file: None,
                ..
            } => Order::Install(*size, Ok(())),
            Self::Install { .. } => {
                let text = "no file of this machine is installed: `adb install` sends one\n";
                Order::Say(text.to_owned(), EXIT_FAILED)
            }
            Self::Uninstall { package } => {
                let package = package.clone();
                order(Request::Uninstall { package }, Uninstalled)
            }
        }
    }
}

/// `adb uninstall` looks for this word.
struct Uninstalled;

impl Show for Uninstalled {
    fn part(&mut self, _: ::system::protocol::Answer) -> String {
        String::new()
    }

    fn end(&mut self, _: &str) -> String {
        "Success\n".to_owned()
    }
}

impl Logcat {
    fn order(&self) -> Order {
        let mut filter = self.wish.filter();
        if self.silent {
            filter.silence();
        }
        for spec in &self.specs {
            if let Err(text) = filter.add_spec(spec) {
                return Order::Say(format!("{text}\n"), EXIT_FAILED);
            }
        }
        order(self.wish.request(), self.wish.show(filter))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(command: &str) -> String {
        match Speech::default().order(command) {
            Order::Ask(request, _) => serde_json::to_string(&request).expect("a text"),
            Order::Install(bytes, outcome) => format!("{bytes} {}", outcome.is_ok()),
            Order::Say(text, code) => {
                let line = text.lines().next().unwrap_or_default();
                format!("{code} {line}")
            }
        }
    }

    #[test]
    fn what_adb_says_is_understood() {
        for (command, expected) in [
            ("ps", "\"Processes\""),
            ("ps -A", "\"Processes\""),
            ("dumpsys", "\"Dump\""),
            ("am force-stop p.q", r#"{"ForceStop":{"package":"p.q"}}"#),
            (
                "am send-trim-memory p.q COMPLETE",
                r#"{"TrimMemory":{"package":"p.q","level":80}}"#,
            ),
            (
                "cmd activity force-stop 'p.q'",
                r#"{"ForceStop":{"package":"p.q"}}"#,
            ),
            (
                "cmd package 'uninstall' 'p.q'",
                r#"{"Uninstall":{"package":"p.q"}}"#,
            ),
            ("pm uninstall p.q", r#"{"Uninstall":{"package":"p.q"}}"#),
            ("cmd package 'install' '-r' -S 12", "12 true"),
            ("cmd package 'install' '--instant' -S 12", "12 false"),
            (
                r#"export ANDROID_LOG_TAGS="''"; exec logcat -d -v threadtime -s One:W"#,
                r#"{"Logs":{"package":null,"follow":false}}"#,
            ),
            (
                "logcat --package p.q",
                r#"{"Logs":{"package":"p.q","follow":true}}"#,
            ),
        ] {
            assert_eq!(said(command), expected, "{command}");
        }
        let start = said("am start -n p.q/.Main --es name 'two words'");
        assert!(start.contains(r#"["name","two words"]"#), "{start}");
    }

    #[test]
    fn there_is_no_shell_and_no_file_of_this_machine() {
        for (command, expected) in [
            ("", "127 there is no shell here"),
            ("sh -c id", r#"127 "sh" is not offered"#),
            ("/bin/ps", r#"127 "/bin/ps" is not offered"#),
            ("ps; id", r#"127 "ps;" is not offered"#),
            ("ps | sh", "2 error: unexpected argument '|'"),
            ("am start 'x", "127 a quotation mark"),
            ("pm install /etc/shadow", "2 no file of this machine"),
            (
                "am start -n p/.C --socket /tmp/s",
                "2 error: unexpected argument '--socket'",
            ),
            ("system --adb", r#"127 "system" is not offered"#),
            ("logcat *:X", "2 *:X: one of"),
            ("logcat -c", "2 error: unexpected argument '-c'"),
            ("ps --help", "0 Lists the applications"),
        ] {
            let said = said(command);
            assert!(said.starts_with(expected), "{command}: {said}");
        }
    }
}
