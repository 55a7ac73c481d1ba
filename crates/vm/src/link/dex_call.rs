// SPDX-License-Identifier: Apache-2.0
//! Calls as DEX code means them: instructions say what kind of method they call, and `invoke-super`
//! asks the superclass whatever class it names. ART checks both when the call runs.

use classfile::access;
use ir::InvokeKind;

use crate::classes::class::{Class, Method};
use crate::link::message;
use crate::link::resolve::{self, Policy};

/// A call in DEX code: whose, by which constant, and of which class's method.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) class: &'static Class,
    pub(super) index: u16,
    pub(super) kind: InvokeKind,
    pub(super) holder: &'static Class,
}

impl Call {
    fn is_super(&self) -> bool {
        let dex = self.class.info.dex;
        self.kind == InvokeKind::Special
            && dex.is_some_and(|dex| dex.outline.is_super_call(self.index))
    }

    /// What runs, or the refusal: IncompatibleClassChangeError where the instruction is for another
    /// kind of method, NoSuchMethodError where no superclass has it.
    pub(super) fn target<P: Policy>(
        &self,
        policy: P,
        method: &'static Method,
    ) -> Result<&'static Method, P::Refusal> {
        let is_direct = method.is_static() || method.is_private() || method.is_constructor();
        let (word, is_wrong) = match self.kind {
            InvokeKind::Static => ("static", false),
            InvokeKind::Special if self.is_super() => ("super", method.is_constructor()),
            InvokeKind::Special => ("direct", !is_direct),
            InvokeKind::Virtual => ("virtual", is_direct),
            InvokeKind::Interface => ("interface", is_direct),
        };
        let named = || message::method(method.class(), method.name, method.descriptor);
        if is_wrong {
            let found = if is_direct { "direct" } else { "virtual" };
            return Err(policy.refuse("java/lang/IncompatibleClassChangeError", || {
                format!(
                    "The method '{}' was expected to be of type {word} but instead was found to be of type {found}",
                    named()
                )
            }));
        }
        // An interface's default is what it is: an heir names it to choose among several.
        if !self.is_super() || self.holder.is_interface() {
            return Ok(method);
        }
        let is_heir = self.class.is_subtype_of(self.holder);
        let parent = self.class.super_class().filter(|_| is_heir);
        let found =
            parent.and_then(|parent| resolve::find_method(parent, method.name, method.descriptor));
        found
            .filter(|found| {
                let is_wide = found.access & (access::PUBLIC | access::PROTECTED) != 0;
                let is_near = found.class().is_in_package_of(self.class);
                !found.is_static() && !found.is_private() && (is_wide || is_near)
            })
            .ok_or_else(|| {
                policy.refuse("java/lang/NoSuchMethodError", || {
                    format!("No super method {}", named())
                })
            })
    }
}
