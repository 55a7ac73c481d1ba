// SPDX-License-Identifier: Apache-2.0
//! Vtables and interface tables.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};

use classfile::access;
use compiler::{class_record, method_record};

use crate::classes::class::{Class, Method};
use crate::link::loader::Loader;
use crate::memory;
use crate::memory::symbol::Symbol;

type Signature = (Symbol, Symbol);

static NEXT_INTERFACE: AtomicU32 = AtomicU32::new(1);

pub(super) fn next_interface_id() -> u32 {
    NEXT_INTERFACE.fetch_add(1, Ordering::Relaxed)
}

/// A method that has a place in a vtable or an interface table.
pub(super) fn is_selectable(method: &Method) -> bool {
    !method.is_static() && !method.is_private() && !method.name.bytes().starts_with(b"<")
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
    let mut places: HashMap<Signature, Vec<usize>> = HashMap::new();
    for (place, method) in table.iter().enumerate() {
        places
            .entry((method.name, method.descriptor))
            .or_default()
            .push(place);
    }
    for &method in methods.iter().filter(|method| is_selectable(method)) {
        let mut own_place = None;
        for &place in places
            .get(&(method.name, method.descriptor))
            .into_iter()
            .flatten()
        {
            let inherited = table[place];
            let is_wide = inherited.access & (access::PUBLIC | access::PROTECTED) != 0;
            let holder = inherited.class();
            let is_near =
                core::ptr::eq(holder.info.loader, loader) && holder.package() == package_of(name);
            if is_wide || is_near {
                table[place] = method;
                own_place = Some(place);
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
    for method in methods.iter().filter(|method| is_selectable(method)) {
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
pub(crate) fn interface_methods(interface: &'static Class) -> Vec<&'static Method> {
    interface
        .info
        .methods
        .iter()
        .copied()
        .filter(|method| is_selectable(method))
        .collect()
}

/// The default method that wins for `signature`: of the most specific interface.
fn default_method(interfaces: &[&'static Class], signature: Signature) -> Option<&'static Method> {
    let mut best: Option<&'static Method> = None;
    for interface in interfaces {
        let found = interface.declared_method(signature.0, signature.1);
        let Some(method) = found.filter(|method| is_selectable(method)) else {
            continue;
        };
        let is_better = best.is_none_or(|best| {
            interface.is_subtype_of(best.class())
                || (best.is_abstract() && !best.class().is_subtype_of(interface))
        });
        if is_better {
            best = Some(method);
        }
    }
    best
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
    let mut by_signature: HashMap<Signature, &'static Method> = HashMap::new();
    for &method in vtable
        .iter()
        .filter(|method| method.access & access::PUBLIC != 0)
    {
        by_signature.insert((method.name, method.descriptor), method);
    }
    let count = number_count(ids(interfaces));
    let (rows, numbers) = table_bytes(interfaces.len(), count);
    let table = memory::metadata(rows + numbers) + rows as u64;
    for (number, interface) in interfaces.iter().enumerate() {
        let methods = interface_methods(interface);
        let list = memory::metadata(methods.len() * 8);
        for (place, method) in methods.iter().enumerate() {
            let signature = (method.name, method.descriptor);
            let chosen = by_signature.get(&signature).copied();
            let chosen = chosen.or_else(|| default_method(interfaces, signature));
            memory::write(list + place as u64 * 8, chosen.unwrap_or(method).address());
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

/// What `class` runs for an interface's `method`: slow, but for any receiver.
pub(crate) fn select(class: &'static Class, method: &'static Method) -> Option<&'static Method> {
    let signature = (method.name, method.descriptor);
    let in_vtable = class.info.vtable.iter().rev().copied().find(|candidate| {
        candidate.name == signature.0
            && candidate.descriptor == signature.1
            && candidate.access & access::PUBLIC != 0
    });
    let found = in_vtable.or_else(|| default_method(&class.info.all_interfaces, signature));
    found.filter(|found| !found.is_abstract())
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
