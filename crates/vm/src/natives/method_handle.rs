// SPDX-License-Identifier: Apache-2.0
//! `java.lang.invoke.MethodHandleNatives`.

use super::Row;
use crate::classes::known::offset;
use crate::classes::object::ObjectRef;
use crate::invoke::method_handle;
use crate::invoke::reflect;
use crate::jni::{of, outcome};
use crate::link::mirror;
use ir::MemoryKind;

pub(super) const NATIVES: &[Row] = &[
    ("init", init as *const ()),
    ("expand", expand as *const ()),
    ("resolve", resolve as *const ()),
    ("objectFieldOffset", object_field_offset as *const ()),
    ("staticFieldOffset", object_field_offset as *const ()),
    ("staticFieldBase", static_field_base as *const ()),
    ("getMemberVMInfo", member_vm_info as *const ()),
    ("setCallSiteTargetNormal", set_call_site_target as *const ()),
    (
        "setCallSiteTargetVolatile",
        set_call_site_target as *const (),
    ),
    ("clearCallSiteContext", clear_call_site_context as *const ()),
    ("getNamedCon", named_constant as *const ()),
];

extern "C" fn init(env: u64, _class: u64, member: u64, from: u64) {
    let thread = &*of(env);
    let _ = method_handle::init(thread, thread.object_of(member), thread.object_of(from));
}

/// Fills class, name and type from the target.
extern "C" fn expand(env: u64, _class: u64, member: u64) {
    let thread = &*of(env);
    let member = thread.object_of(member);
    let class = member.class();
    let fill = || {
        let Some(method) = method_handle::target_of(member) else {
            return Err(thread.throw("java/lang/InternalError", "nothing to expand"));
        };
        let (name, ty) = (offset(class, "name"), offset(class, "type"));
        if member.get_ref(name).is_null() {
            let text = crate::objects::string::intern_mutf8(thread, method.name.bytes())?;
            member.put_ref(name, text);
        }
        if member.get_ref(ty).is_null() {
            let descriptor = method.descriptor.bytes();
            let text = crate::objects::string::intern_mutf8(thread, descriptor)?;
            member.put_ref(ty, text);
        }
        Ok(())
    };
    let _ = fill();
}

extern "C" fn resolve(
    env: u64,
    _class: u64,
    member: u64,
    caller: u64,
    _lookup_mode: i32,
    speculates: u8,
) -> u64 {
    let thread = &*of(env);
    let caller = thread.object_of(caller).some().map(mirror::class_of);
    let member = thread.object_of(member);
    let found = method_handle::resolve_member(thread, member, caller, speculates != 0);
    outcome(found.map(|object| thread.new_local(object)))
}

extern "C" fn object_field_offset(env: u64, _class: u64, member: u64) -> i64 {
    method_handle::field_place(of(env).object_of(member)).0 as i64
}

extern "C" fn static_field_base(env: u64, _class: u64, member: u64) -> u64 {
    let thread = &*of(env);
    thread.new_local(method_handle::field_place(thread.object_of(member)).1)
}

/// HotSpot's index of a method that no table is asked for; the library asserts that it is negative.
const DIRECT_INDEX: u64 = -2_i64 as u64;

/// `{Long index, Object target}`: what MemberName shows for checks.
extern "C" fn member_vm_info(env: u64, _class: u64, member: u64) -> u64 {
    let thread = &*of(env);
    let member = thread.object_of(member);
    let make = || {
        let index = if method_handle::is_called_directly(member) {
            DIRECT_INDEX
        } else {
            member.get(offset(member.class(), "$index"))
        };
        let index = reflect::box_value(thread, Some(MemoryKind::Long), index)?;
        let target = if method_handle::target_of(member).is_some() {
            member
        } else {
            member.get_ref(offset(member.class(), "clazz"))
        };
        let class = crate::classes::known::known().object_array;
        reflect::array_of(thread, class, &[index, target])
    };
    outcome(make().map(|array: ObjectRef| thread.new_local(array)))
}

/// Sites read their target on every call: nothing has to be undone.
extern "C" fn set_call_site_target(env: u64, _class: u64, site: u64, target: u64) {
    let thread = &*of(env);
    let (site, target) = (thread.object_of(site), thread.object_of(target));
    site.put_ref(offset(site.class(), "target"), target);
    core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
}

extern "C" fn clear_call_site_context(_env: u64, _class: u64, _context: u64) {}

extern "C" fn named_constant(_env: u64, _class: u64, _which: i32, _name: u64) -> i32 {
    0
}
