// SPDX-License-Identifier: Apache-2.0
//! The module of `javax.realtime`, which is closed to deep reflection.
//!
//! It is defined before the first class of that package, so that a start without real-time threads
//! pays nothing. Its neighbours are `loader`, which asks for it, and `jvm::module`, which the class
//! library calls.

use core::sync::atomic::{AtomicBool, Ordering};

use crate::classes::known::known;
use crate::classes::object::ObjectRef;
use crate::classes::stage::{self, Stage};
use crate::link::call::call_static;
use crate::link::mirror;
use crate::memory::symbol::Symbol;
use crate::objects::string;
use crate::sync::lock::Lock;
use crate::threads::thread::{Thread, Thrown};

const PACKAGE: &str = "javax.realtime";
const FOLDER: &[u8] = b"javax/realtime/";
const MODULES: &str = "jdk/internal/module/Modules";
const DESCRIPTOR: &str = "java/lang/module/ModuleDescriptor";

static IS_DEFINED: AtomicBool = AtomicBool::new(false);
/// Held while the class library defines it: who waits needs a class of it, and lends.
static TURN: Lock<()> = Lock::new(());

/// Defines the module if `name` is of its package and nobody has.
pub(crate) fn define_for(thread: &Thread, name: Symbol) -> Result<(), Thrown> {
    let is_early = !stage::is_up_to(Stage::Ready);
    if is_early || !name.bytes().starts_with(FOLDER) || IS_DEFINED.load(Ordering::Acquire) {
        return Ok(());
    }
    let _turn = TURN.lock();
    if !IS_DEFINED.load(Ordering::Acquire) {
        define(thread)?;
        // Pairs with Acquire above: a thread that sees it finds the package in the module.
        IS_DEFINED.store(true, Ordering::Release);
    }
    Ok(())
}

fn define(thread: &Thread) -> Result<(), Thrown> {
    let name: u64 = string::new_string(thread, PACKAGE)?.0.into();
    let make = "(Ljava/lang/String;)Ljava/lang/module/ModuleDescriptor$Builder;";
    let builder = call_static(thread, DESCRIPTOR, "newModule", make, &[name])?;
    let builder_class = ObjectRef(builder as u32).class();
    let of_builder = |name: &str, descriptor: &str, args: &[u64]| {
        let method = builder_class.method_named(name, descriptor);
        thread.call(method.expect("the class library has it"), args)
    };
    of_builder("exports", make, &[builder, name])?;
    let build = "()Ljava/lang/module/ModuleDescriptor;";
    let descriptor = of_builder("build", build, &[builder])?;
    let of_modules = |name: &str, descriptor: &str, args: &[u64]| {
        call_static(thread, MODULES, name, descriptor, args)
    };
    let signature = "(Ljava/lang/ClassLoader;Ljava/lang/module/ModuleDescriptor;Ljava/net/URI;)Ljava/lang/Module;";
    let module = of_modules("defineModule", signature, &[0, descriptor, 0])?;
    let base = mirror::module_of(known().object).0.into();
    let signature = "(Ljava/lang/Module;Ljava/lang/Module;)V";
    of_modules("addReads", signature, &[module, base])?;
    let signature = "(Ljava/lang/Module;Ljava/lang/String;)V";
    of_modules("addExports", signature, &[module, name])?;
    Ok(())
}
