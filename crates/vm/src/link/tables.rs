// SPDX-License-Identifier: Apache-2.0
//! Vtables and interface tables.

use std::sync::atomic::{AtomicU32, Ordering};

use classfile::access;
use compiler::{class_record, method_record};

use crate::classes::class::{Class, Method};
use crate::link::loader::Loader;
use crate::link::refusal;
use crate::memory;
use crate::memory::hash::Map;
use crate::memory::symbol::Symbol;

type Signature = (Symbol, Symbol);

static NEXT_INTERFACE: AtomicU32 = AtomicU32::new(1);

pub(super) fn next_interface_id() -> u32 {
    NEXT_INTERFACE.fetch_add(1, Ordering::Relaxed)
}

/// A method that others may override or implement: it has a place in a vtable.
fn is_selectable(method: &Method) -> bool {
    has_place(method) && !method.is_private()
}

/// A method of an interface that has a place in its list. Private ones have one too: their row says
/// whether a receiver implements the interface at all.
pub(super) fn has_place(method: &Method) -> bool {
    !method.is_static() && !method.name.bytes().starts_with(b"<")
}

fn package_of(name: Symbol) -> &'static [u8] {
    let name = name.bytes();
    name.iter()
        .rposition(|&b| b == b'/')
        .map_or(b"", |end| &name[..end])
}

/// The superclass's vtable with `methods` overriding or appended.
pub(super) fn vtable(
    name: Symbol,
    loader: &'static Loader,
    super_class: Option<&'static Class>,
    methods: &[&'static Method],
) -> Vec<&'static Method> {
    let mut table = super_class.map_or_else(Vec::new, |parent| parent.info.vtable.clone());
    // By signature the last place; by place the one before it with the same signature.
    let mut last: Map<Signature, usize> = Map::default();
    let mut before = Vec::with_capacity(table.len());
    for (place, method) in table.iter().enumerate() {
        before.push(last.insert((method.name, method.descriptor), place));
    }
    for &method in methods.iter().filter(|method| is_selectable(method)) {
        let mut own_place = None;
        let mut next = last.get(&(method.name, method.descriptor)).copied();
        while let Some(place) = next {
            next = before[place];
            let inherited = table[place];
            let is_wide = inherited.access & (access::PUBLIC | access::PROTECTED) != 0;
            let holder = inherited.class();
            let is_near =
                core::ptr::eq(holder.info.loader, loader) && holder.package() == package_of(name);
            if is_wide || is_near {
                table[place] = method;
                inherited.overridden.store(true, Ordering::Relaxed);
                own_place = own_place.or(Some(place));
            }
        }
        let place = own_place.unwrap_or_else(|| {
            table.push(method);
            table.len() - 1
        });
        let offset = class_record::VTABLE as u32 + place as u32 * 8;
        method.vtable_offset.store(offset, Ordering::Relaxed);
    }
    table
}

/// Interfaces' methods are selected by the receiver's class.
pub(super) fn mark_interface_methods(methods: &[&'static Method]) {
    for method in methods.iter().filter(|method| has_place(method)) {
        method
            .vtable_offset
            .store(method_record::VTABLE_ASK, Ordering::Relaxed);
    }
}

/// All superinterfaces: the superclass's, then the direct ones with theirs.
pub(super) fn all_interfaces(
    super_class: Option<&'static Class>,
    direct: &[&'static Class],
) -> Vec<&'static Class> {
    let mut all: Vec<&'static Class> = Vec::new();
    let mut add = |class: &'static Class| {
        if !all.iter().any(|&known| core::ptr::eq(known, class)) {
            all.push(class);
        }
    };
    if let Some(parent) = super_class {
        parent
            .info
            .all_interfaces
            .iter()
            .copied()
            .for_each(&mut add);
    }
    for &interface in direct {
        interface
            .info
            .all_interfaces
            .iter()
            .copied()
            .for_each(&mut add);
        add(interface);
    }
    all
}

/// The methods of an interface in the order of their places.
fn interface_methods(interface: &'static Class) -> impl Iterator<Item = &'static Method> {
    let methods = interface.info.methods.iter().copied();
    methods.filter(|method| has_place(method))
}

/// What an instance of a class runs for an interface's method (JVM specification, 5.4.6).
pub(crate) enum Selected {
    Method(&'static Method),
    /// Nobody implements it.
    Abstract,
    /// Defaults of superinterfaces, none of them more specific than another one.
    Conflict(Vec<&'static Method>),
    /// The nearest method among superclasses, which may not stand for an interface's.
    NotPublic,
}

/// What a class runs for a signature for which `nearest` is the first method among it and its
/// superclasses.
fn select_among(
    nearest: Option<&'static Method>,
    interfaces: &[&'static Class],
    signature: Signature,
) -> Selected {
    let Some(method) = nearest else {
        return select_default(interfaces, signature);
    };
    if method.access & access::PUBLIC == 0 {
        Selected::NotPublic
    } else if method.is_abstract() {
        Selected::Abstract
    } else {
        Selected::Method(method)
    }
}

/// The one default method among the most specific ones.
fn select_default(interfaces: &[&'static Class], signature: Signature) -> Selected {
    let mut defaults = most_specific(interfaces, signature);
    defaults.retain(|method| !method.is_abstract());
    match defaults[..] {
        [] => Selected::Abstract,
        [method] => Selected::Method(method),
        _ => Selected::Conflict(defaults),
    }
}

/// The methods of this signature that no other one among `interfaces` overrides.
pub(super) fn most_specific(
    interfaces: &[&'static Class],
    (name, descriptor): Signature,
) -> Vec<&'static Method> {
    let declared = interfaces.iter();
    let declared = declared.filter_map(|it| it.declared_method(name, descriptor));
    let all: Vec<_> = declared.filter(|method| is_selectable(method)).collect();
    let is_overridden = |method: &Method| {
        let holder = method.class();
        let mut others = all.iter().map(|other| other.class());
        others.any(|other| !core::ptr::eq(other, holder) && other.is_subtype_of(holder))
    };
    let best = all.iter().copied();
    best.filter(|method| !is_overridden(method)).collect()
}

/// Numbers of rows among which no two interfaces of these ids meet.
fn number_count(ids: impl ExactSizeIterator<Item = u32> + Clone) -> u32 {
    let mut count = ids.len().next_power_of_two() as u32;
    let collides = |count: u32| {
        let mut taken = vec![false; count as usize];
        let mut places = ids.clone().map(|id| (id & (count - 1)) as usize);
        places.any(|place| core::mem::replace(&mut taken[place], true))
    };
    while collides(count) {
        count *= 2;
    }
    count
}

fn ids(interfaces: &[&'static Class]) -> impl ExactSizeIterator<Item = u32> + Clone {
    interfaces.iter().map(|interface| interface.interface_id)
}

/// Bytes of a table's rows, and of their numbers.
fn table_bytes(row_count: usize, number_count: u32) -> (usize, usize) {
    // Row 0 is what a number that nobody set leads to; without interfaces it is nobody's.
    let rows = row_count.max(1) * ROW_BYTES;
    (rows, number_count as usize * ROW_NUMBER_BYTES)
}

const ROW_BYTES: usize = 1 << class_record::ROW_SHIFT;
const ROW_NUMBER_BYTES: usize = 1 << class_record::ROW_NUMBER_SHIFT;
/// Rows that a number can name.
const ROWS_MAX: usize = 1 << (8 * ROW_NUMBER_BYTES);

/// Bytes of [`interface_table`], or some more; more than there can be if it cannot be made.
pub(super) fn interface_bound(interfaces: &[&'static Class]) -> usize {
    if interfaces.len() > ROWS_MAX {
        return usize::MAX / 2;
    }
    let lists = interfaces.iter();
    let lists: usize = lists.map(|it| it.info.methods.len() * 8 + 16).sum();
    let (rows, numbers) = table_bytes(interfaces.len(), number_count(ids(interfaces)));
    // Rounded up to 16.
    rows + numbers + 16 + lists
}

/// Address and mask of the interface table. No two interfaces of a class meet at `id & mask`, where
/// the number of a row is: two bytes for each place that must be free between them, 16 for a row.
pub(super) fn interface_table(
    vtable: &[&'static Method],
    interfaces: &[&'static Class],
) -> (u64, u32) {
    let asked = if interfaces.is_empty() {
        &vtable[..0]
    } else {
        vtable
    };
    let nearest = nearest_by_signature(asked);
    let count = number_count(ids(interfaces));
    let (rows, numbers) = table_bytes(interfaces.len(), count);
    let table = memory::metadata(rows + numbers) + rows as u64;
    for (number, interface) in interfaces.iter().enumerate() {
        let list = memory::metadata(interface_methods(interface).count() * 8);
        for (place, method) in interface_methods(interface).enumerate() {
            let signature = (method.name, method.descriptor);
            let selected = match method.is_private() {
                true => Selected::Method(method),
                false => select_among(nearest.get(&signature).copied(), interfaces, signature),
            };
            let chosen = match selected {
                Selected::Method(chosen) => chosen,
                _ => refusal::of(method),
            };
            memory::write(list + place as u64 * 8, chosen.address());
        }
        let end = table - (number * ROW_BYTES) as u64;
        let at = |offset: i32| end.wrapping_add_signed(offset.into());
        memory::write(at(class_record::ROW_ID), interface.interface_id);
        memory::write(at(class_record::ROW_METHODS), list);
        let place = (interface.interface_id & (count - 1)) as u64;
        memory::write(table + place * ROW_NUMBER_BYTES as u64, number as u16);
    }
    (table, count - 1)
}

/// Of each signature the method of the class that is furthest down.
fn nearest_by_signature(vtable: &[&'static Method]) -> Map<Signature, &'static Method> {
    let mut nearest = Map::default();
    nearest.reserve(vtable.len());
    for &method in vtable {
        let known = nearest.entry((method.name, method.descriptor));
        let known = known.or_insert(method);
        if known.class().depth < method.class().depth {
            *known = method;
        }
    }
    nearest
}

/// What the table of `class` holds for an interface's method, if it implements the interface.
pub(super) fn find_in_row(
    class: &'static Class,
    method: &'static Method,
) -> Option<&'static Method> {
    let id = method.class().interface_id;
    let place = u64::from(id & class.interfaces_mask) * ROW_NUMBER_BYTES as u64;
    let number: u16 = memory::read(class.interfaces + place);
    let end = class.interfaces - u64::from(number) * ROW_BYTES as u64;
    let at = |offset: i32| end.wrapping_add_signed(offset.into());
    if memory::read::<u32>(at(class_record::ROW_ID)) != id {
        return None;
    }
    let list: u64 = memory::read(at(class_record::ROW_METHODS));
    let place = u64::from(method.interface_place) * 8;
    Some(Method::at(memory::read(list + place)))
}

/// What `class` runs for an interface's `method`: slow, but for any receiver.
pub(crate) fn select(class: &'static Class, method: &'static Method) -> Selected {
    if method.is_private() {
        return Selected::Method(method);
    }
    let signature = (method.name, method.descriptor);
    let own = class.info.vtable.iter().copied();
    let own = own.filter(|it| (it.name, it.descriptor) == signature);
    let nearest = own.max_by_key(|it| it.class().depth);
    select_among(nearest, &class.info.all_interfaces, signature)
}

/// As [`select`], if that is a method.
pub(crate) fn selected_method(
    class: &'static Class,
    method: &'static Method,
) -> Option<&'static Method> {
    match select(class, method) {
        Selected::Method(method) => Some(method),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_table_of_forty_interfaces_is_small() {
        let mut random = fastrand::Rng::with_seed(40);
        let mut most = 0;
        for _ in 0..200 {
            let mut ids: Vec<u32> = (1..3000).collect();
            random.shuffle(&mut ids);
            ids.truncate(40);
            let count = number_count(ids.iter().copied());
            let places: HashSet<u32> = ids.iter().map(|id| id & (count - 1)).collect();
            assert_eq!(places.len(), ids.len(), "each has a place of its own");
            let (rows, numbers) = table_bytes(ids.len(), count);
            most = most.max(rows + numbers);
        }
        // With a row in each place it was sixteen bytes for each: 65 KiB at the most.
        assert!(most <= 9 << 10, "{most}");
    }
}
