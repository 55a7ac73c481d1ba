// SPDX-License-Identifier: Apache-2.0
//! Parcels: what another process sent, read in any order, and two parcels under random accesses.
#![no_main]

use std::sync::Arc;

use parcel::{FlatObject, Object, Parcel, Wire, WireError};

type Binder = Arc<u64>;

fn find(flat: FlatObject) -> Result<Object<Binder>, WireError> {
    Ok(Object::Binder(Arc::new(flat.number)))
}

fn name(object: &Object<Binder>) -> Result<FlatObject, WireError> {
    match object {
        Object::Binder(it) => Ok(FlatObject { number: **it, ..FlatObject::NULL }),
        Object::Fd(_) => unreachable!("no descriptor is made here"),
    }
}

/// The first byte says how many positions follow, a word each; the rest are the parcel's bytes
/// first and then the accesses.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&count, rest)) = bytes.split_first() else {
        return;
    };
    let (positions, rest) = rest.split_at(rest.len().min(usize::from(count % 8) * 4));
    let positions = positions.chunks_exact(4);
    let wire = Wire {
        positions: positions.map(|it| u32::from_le_bytes([it[0], it[1], it[2], it[3]])).collect(),
        bytes: rest.to_vec(),
    };
    let mut near = Parcel::new();
    if near.from_wire(&wire, find).is_err() {
        assert_eq!(near.size(), 0);
    } else {
        let mut again = Wire::default();
        let sent = near.to_wire(&mut again, name);
        assert!(sent.is_ok() && again.positions == wire.positions);
    }
    let mut far = Parcel::new();
    for step in rest.chunks_exact(4) {
        let number = usize::from(step[2]) | usize::from(step[3]) << 8;
        access(&mut near, &far, step[0], usize::from(step[1]), number);
        assert!(near.available() <= near.size() && near.size() <= 1 << 20);
        if step[0] & 0x80 != 0 {
            std::mem::swap(&mut near, &mut far);
        }
    }
});

/// One access; what does not fit is refused, never a panic.
fn access(near: &mut Parcel<Binder>, far: &Parcel<Binder>, what: u8, size: usize, number: usize) {
    match what % 16 {
        0 => near.set_position(number),
        1 => drop(near.set_size(number)),
        2 => drop(near.write(&vec![1; size])),
        3 => drop(near.write_utf16(Some(&vec![2; size]))),
        4 => drop(near.write_utf8(Some("text"))),
        5 => drop(near.write_blob(Some(&vec![3; size]))),
        6 => drop(near.write_binder(Some(Arc::new(number as u64)))),
        7 => drop(near.write_binder(None)),
        8 => drop(near.read(number)),
        9 => drop(near.read_utf16()),
        10 => drop(near.read_utf8()),
        11 => drop(near.read_blob()),
        12 => drop(near.read_binder()),
        13 => drop(near.read_fd()),
        // Doubling has an end here, not in the parcel.
        14 if near.size() < 1 << 18 => drop(near.append(far, number, size)),
        _ => drop(near.read_i32()),
    }
}
