// SPDX-License-Identifier: Apache-2.0
//! Agents in Java, which see class files before they are defined: `-javaagent`, and those that
//! tools have a running machine load (`inspect/attach`).
//!
//! The library's `sun.instrument.InstrumentationImpl` does the work; its native half is in
//! `natives/instrument`. There is no JVMTI: classes that are defined stay as they are, so agents
//! that ask to redefine or retransform them are told that this is not supported.

use core::cell::Cell;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::boot::{print_uncaught, system_loader};
use crate::classes::object::ObjectRef;
use crate::console;
use crate::inspect::attach;
use crate::link::boot_path::{self, Jar};
use crate::link::define::{self, Definition};
use crate::link::mirror;
use crate::objects::heap_binding;
use crate::objects::string;
use crate::options;
use crate::sync::lock::Lock;
use crate::threads::thread::{Thread, Thrown};

const CLASS: &str = "sun/instrument/InstrumentationImpl";

/// What the JDK's tools know: no such jar, or no agent in it.
const BAD_JAR: i32 = 100;
const NOT_ON_CLASS_PATH: i32 = 101;
/// The agent has thrown something.
const START_FAILED: i32 = 102;

/// An agent's `InstrumentationImpl`.
struct Agent {
    object: AtomicU32,
    has_transformers: AtomicBool,
}

/// Numbered from 1 on: the library knows them by their numbers.
static AGENTS: Lock<Vec<&'static Agent>> = Lock::new(Vec::new());

thread_local! {
    /// What a transformer needs itself is not transformed.
    static IS_TRANSFORMING: Cell<bool> = const { Cell::new(false) };
}

/// Says whether an agent has transformers.
pub(crate) fn set_has_transformers(agent: i64, has: bool) {
    let index = usize::try_from(agent - 1).unwrap_or(usize::MAX);
    if let Some(agent) = AGENTS.lock().get(index) {
        agent.has_transformers.store(has, Ordering::Release);
    }
}

/// Starts the agents of the command line, in their order. One that cannot be started ends the
/// process.
pub(crate) fn start(thread: &Thread) -> Result<(), Thrown> {
    attach::load_agents_by(load);
    for (jar, told) in &options::get().agents {
        let Some(manifest) = manifest(jar) else {
            refuse(&format!(
                "Error opening zip file or JAR manifest missing : {jar}"
            ));
        };
        let Some(class) = attribute(&manifest, "Premain-Class") else {
            let why = "Failed to find Premain-Class manifest attribute in";
            refuse(&format!("{why} {jar}"));
        };
        append_boot_path(jar, &manifest);
        let method = "loadClassAndCallPremain";
        if call(thread, method, &class, told.as_deref()).is_err() {
            print_uncaught(thread, thread.take_exception());
            refuse("processing of -javaagent failed");
        }
    }
    Ok(())
}

/// Starts the agent that a tool asks for, while the program runs.
fn load(thread: &Thread, words: &str) -> i32 {
    let (jar, told) = match words.split_once('=') {
        Some((jar, told)) => (jar, Some(told)),
        None => (words, None),
    };
    let Some(manifest) = manifest(jar) else {
        return BAD_JAR;
    };
    let Some(class) = attribute(&manifest, "Agent-Class") else {
        return BAD_JAR;
    };
    append_boot_path(jar, &manifest);
    let appended = string::new_string(thread, jar).and_then(|it| append_class_path(thread, it));
    if appended.is_err() {
        thread.take_exception();
        return NOT_ON_CLASS_PATH;
    }
    let started = resolve_module(thread)
        .and_then(|()| call(thread, "loadClassAndCallAgentmain", &class, told));
    if started.is_err() {
        print_uncaught(thread, thread.take_exception());
        return START_FAILED;
    }
    0
}

/// A program may have been started without the module of agents.
fn resolve_module(thread: &Thread) -> Result<(), Thrown> {
    let class = thread.boot_class("jdk/internal/module/Modules")?;
    class.initialize(thread)?;
    let method = class.method_named("loadModule", "(Ljava/lang/String;)Ljava/lang/Module;");
    let scope = thread.scope();
    let name = scope.hold(string::new_string(thread, "java.instrument")?);
    thread.call(method.expect("JDK 17 has it"), &[name.0.into()])?;
    Ok(())
}

/// Appends a jar to what the system's class loader searches, if it lets that happen.
pub(crate) fn append_class_path(thread: &Thread, jar: ObjectRef) -> Result<(), Thrown> {
    let Some(system) = system_loader() else {
        return Ok(());
    };
    // The class path's loader has it, and others that want to.
    let name = "appendToClassPathForInstrumentation";
    let class = system.object().class();
    match class.method_named(name, "(Ljava/lang/String;)V") {
        Some(method) => {
            thread.call(method, &[system.object().0.into(), jar.0.into()])?;
            Ok(())
        }
        None => Err(thread.throw("java/lang/UnsupportedOperationException", name)),
    }
}

fn manifest(jar: &str) -> Option<String> {
    let bytes = Jar::open(Path::new(jar))?.read("META-INF/MANIFEST.MF")?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn append_boot_path(jar: &str, manifest: &str) {
    let folder = Path::new(jar).parent().unwrap_or(Path::new(""));
    let paths = attribute(manifest, "Boot-Class-Path").unwrap_or_default();
    for path in paths.split_whitespace() {
        boot_path::append(&folder.join(path).to_string_lossy());
    }
}

/// In HotSpot's words, where it has some.
fn refuse(why: &str) -> ! {
    console::note(why);
    console::note(
        "Error occurred during initialization of VM\nagent library failed to init: instrument",
    );
    rt::lines::leave(1);
}

/// An attribute of a manifest's main section; a line that begins with a blank goes on with the one
/// before.
fn attribute(manifest: &str, name: &str) -> Option<String> {
    let whole = manifest.replace("\r\n", "\n").replace('\r', "\n");
    let main = whole.split("\n\n").next()?.replace("\n ", "");
    let value = main.lines().find_map(|line| {
        let (own, value) = line.split_once(':')?;
        own.eq_ignore_ascii_case(name).then_some(value)
    });
    Some(value?.trim().to_owned())
}

/// Has the library load an agent's class and call its `premain` or `agentmain`.
fn call(thread: &Thread, method: &str, class: &str, told: Option<&str>) -> Result<(), Thrown> {
    define::transform_by(transform);
    let own = thread.boot_class(CLASS)?;
    own.initialize(thread)?;
    let number = AGENTS.lock().len() as u64 + 1;
    // Neither redefinition nor prefixes of native methods.
    let constructor = own.method_named("<init>", "(JZZ)V");
    let object = thread.new_instance(own, constructor, &[number, 0, 0])?;
    heap_binding::keep(object);
    AGENTS.lock().push(Box::leak(Box::new(Agent {
        object: AtomicU32::new(object.0),
        has_transformers: AtomicBool::new(false),
    })));
    let scope = thread.scope();
    let class = scope.hold(string::new_string(thread, class)?);
    let told = match told {
        Some(told) => scope.hold(string::new_string(thread, told)?),
        None => ObjectRef::NULL,
    };
    let method = own.method_named(method, "(Ljava/lang/String;Ljava/lang/String;)V");
    let arguments = [object.0.into(), class.0.into(), told.0.into()];
    thread.call(method.expect("JDK 17 has it"), &arguments)?;
    Ok(())
}

/// What the agents make of a class file, one after the other; nothing if all leave it as it is.
fn transform(thread: &Thread, definition: &Definition) -> Option<Vec<u8>> {
    let agents: Vec<_> = AGENTS.lock().clone();
    let mut agents = agents
        .into_iter()
        .filter(|agent| agent.has_transformers.load(Ordering::Acquire))
        .peekable();
    if agents.peek().is_none() || IS_TRANSFORMING.replace(true) {
        return None;
    }
    let mut changed = None;
    for agent in agents {
        let bytes = changed.as_deref().unwrap_or(definition.bytes);
        let object = ObjectRef(agent.object.load(Ordering::Acquire));
        match transform_by(thread, object, definition, bytes) {
            Ok(Some(bytes)) => changed = Some(bytes),
            Ok(None) => {}
            // The library catches what transformers throw: this is the machine's own.
            Err(_) => drop(thread.take_exception()),
        }
    }
    IS_TRANSFORMING.set(false);
    changed
}

fn transform_by(
    thread: &Thread,
    agent: ObjectRef,
    definition: &Definition,
    bytes: &[u8],
) -> Result<Option<Vec<u8>>, Thrown> {
    let scope = thread.scope();
    scope.hold(definition.protection_domain);
    let loader = definition.loader;
    let (name, module) = match definition.name {
        Some(name) => {
            let package = name.bytes().iter().rposition(|&byte| byte == b'/');
            let package = &name.bytes()[..package.unwrap_or(0)];
            let text = scope.hold(string::new_string(thread, &name.to_string())?);
            (text, mirror::module_of_package(loader, package))
        }
        // The library takes the loader's unnamed module.
        None => (ObjectRef::NULL, ObjectRef::NULL),
    };
    let file = scope.hold(string::new_bytes(thread, bytes)?);
    let signature = "(Ljava/lang/Module;Ljava/lang/ClassLoader;Ljava/lang/String;Ljava/lang/Class;Ljava/security/ProtectionDomain;[BZ)[B";
    let method = agent.class().method_named("transform", signature);
    let arguments = [
        agent.0.into(),
        module.0.into(),
        loader.object().0.into(),
        name.0.into(),
        0,
        definition.protection_domain.0.into(),
        file.0.into(),
        0,
    ];
    let found = thread.call(method.expect("JDK 17 has it"), &arguments)?;
    Ok(ObjectRef(found as u32).some().map(ObjectRef::bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_the_main_section_count() {
        let manifest = "Manifest-Version: 1.0\r\nPremain-Class: a.very\r\n .Long\r\n\r\nName: x\r\nBoot-Class-Path: y\r\n";
        assert_eq!(
            attribute(manifest, "premain-class").as_deref(),
            Some("a.very.Long")
        );
        assert_eq!(attribute(manifest, "Boot-Class-Path"), None);
    }
}
