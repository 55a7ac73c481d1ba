// SPDX-License-Identifier: Apache-2.0
//! What attached tools may ask, and the answers: `jcmd`'s commands under HotSpot's names where
//! there are such.

use super::Request;
use crate::classes::object::ObjectRef;
use crate::console;
use crate::inspect::figures;
use crate::inspect::superpages::Superpages;
use crate::inspect::thread_dump;
use crate::monitors::java_thread;
use crate::objects::heap_binding;
use crate::options;
use crate::threads::thread::{self, Thread, Thrown};

/// The library of the JDK's that starts agents in Java; its work is the machine's own here.
const JAVA_AGENT: &str = "instrument";

/// What a tool is told. A code other than 0 makes it fail with the text.
pub(super) struct Answer {
    pub(super) code: i32,
    pub(super) text: Vec<u8>,
}

impl Answer {
    fn done(text: impl Into<Vec<u8>>) -> Self {
        Self {
            code: 0,
            text: text.into(),
        }
    }

    pub(super) fn refused(code: i32, why: &str) -> Self {
        Self {
            code,
            text: format!("{why}\n").into_bytes(),
        }
    }
}

/// The answer to `request`. The calling thread is attached for as long as that needs it, and no
/// longer.
pub(super) fn run(request: &Request<'_>) -> Answer {
    match request.name {
        "threaddump" => thread_dump(),
        "jcmd" => diagnose(request.arguments[0]),
        "properties" => properties(),
        "agentProperties" => serialized("serializeAgentPropertiesToByteArray"),
        "load" => load(&request.arguments),
        name => Answer::refused(1, &format!("Takt does not support the operation {name}")),
    }
}

/// A command of `jcmd`'s.
struct Command {
    name: &'static str,
    what: &'static str,
    run: fn() -> Answer,
}

/// By name.
static COMMANDS: [Command; 9] = [
    Command {
        name: "GC.heap_info",
        what: "What the heap and metadata take.",
        run: || Answer::done(thread_dump::memory_text()),
    },
    Command {
        name: "GC.run",
        what: "A full collection, as System.gc() makes one.",
        run: collect,
    },
    Command {
        name: "Takt.report",
        what: "What `takt java --report` prints at the end: counters of heap and compiler, ledgers of real-time threads.",
        run: || Answer::done(figures::figures()),
    },
    Command {
        name: "Takt.superpages",
        what: "How much of the heap, and of windows' pixels, lies in pages of 2 MiB. Meanwhile threads that map memory wait.",
        run: superpages,
    },
    Command {
        name: "Thread.print",
        what: "All threads with their stacks, as SIGQUIT prints them.",
        run: thread_dump,
    },
    Command {
        name: "VM.command_line",
        what: "The command line by which the machine was started.",
        run: || Answer::done(command_line()),
    },
    Command {
        name: "VM.system_properties",
        what: "The system properties.",
        run: properties,
    },
    Command {
        name: "VM.uptime",
        what: "For how long the machine has been running.",
        run: || Answer::done(format!("{:.3} s\n", console::uptime_ms() as f64 / 1e3)),
    },
    Command {
        name: "VM.version",
        what: "Versions of the machine and of the class library.",
        run: || Answer::done(version()),
    },
];

fn superpages() -> Answer {
    match Superpages::of_process() {
        Some(found) => Answer::done(found.text() + "\n"),
        None => Answer::refused(1, "there is no /proc/self/smaps"),
    }
}

fn diagnose(line: &str) -> Answer {
    let mut words = line.split_whitespace();
    let name = words.next().unwrap_or("help");
    if name == "help" {
        return help(words.next());
    }
    match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) => (command.run)(),
        None => unknown(),
    }
}

/// In HotSpot's words.
fn unknown() -> Answer {
    Answer::refused(
        1,
        "java.lang.IllegalArgumentException: Unknown diagnostic command",
    )
}

fn help(about: Option<&str>) -> Answer {
    let Some(about) = about else {
        let names = COMMANDS.iter().map(|command| command.name);
        let names = names.chain(["help"]).collect::<Vec<_>>().join("\n");
        return Answer::done(format!(
            "The following commands are available:\n{names}\n\nFor more information about a specific command use 'help <command>'.\n"
        ));
    };
    match COMMANDS.iter().find(|command| command.name == about) {
        Some(command) => Answer::done(format!("{}\n{}\n", command.name, command.what)),
        None => unknown(),
    }
}

fn property(name: &str) -> String {
    let mut all = crate::options::properties::properties().into_iter();
    all.find(|(own, _)| own == name)
        .map_or_else(String::new, |(_, value)| value)
}

fn command_line() -> String {
    format!(
        "VM Arguments:\njvm_args: {}\njava_command: {}\njava_class_path (initial): {}\n",
        options::get().arguments.join(" "),
        property("sun.java.command"),
        property("java.class.path")
    )
}

fn version() -> String {
    format!(
        "{} version {}\n",
        property("java.vm.name"),
        property("java.vm.version")
    )
}

fn collect() -> Answer {
    let own = thread::attach(&[]);
    heap_binding::collect(own);
    thread::detach(own);
    Answer::done("")
}

fn thread_dump() -> Answer {
    let mut text = Vec::new();
    thread_dump::write(&mut text);
    Answer::done(text)
}

fn properties() -> Answer {
    serialized("serializePropertiesToByteArray")
}

/// Starts an agent in Java; the words are its library, whether that is a path, and what it is told.
fn load([library, _, told]: &[&str; 3]) -> Answer {
    if *library != JAVA_AGENT {
        return Answer::refused(1, "Takt has no agents in native code");
    }
    let Some(load) = super::AGENT_LOADER.get() else {
        return Answer::refused(1, "the machine is starting");
    };
    on_java_thread(|own| Ok(Answer::done(format!("return code: {}\n", load(own, told)))))
}

/// Properties as the library writes them for tools.
fn serialized(method: &str) -> Answer {
    on_java_thread(|own| {
        let class = own.boot_class("jdk/internal/vm/VMSupport")?;
        class.initialize(own)?;
        let method = class.method_named(method, "()[B");
        let bytes = own.call(method.expect("JDK 17 has it"), &[])?;
        Ok(Answer::done(ObjectRef(bytes as u32).bytes()))
    })
}

fn on_java_thread(work: impl FnOnce(&'static Thread) -> Result<Answer, Thrown>) -> Answer {
    let own = thread::attach(&[]);
    let adopted = java_thread::adopt(own, Some(super::THREAD), true);
    let answer = match adopted.and_then(|()| work(own)) {
        Ok(answer) => answer,
        Err(_) => Answer::refused(1, &own.take_exception().class().java_name()),
    };
    java_thread::exit(own);
    answer
}
