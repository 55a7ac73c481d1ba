// SPDX-License-Identifier: Apache-2.0
//! Fields of objects and classes.

use cranelift_codegen::ir::{
    self as clif, InstBuilder,
    types::{F32, F64, I8, I16, I32, I64},
};
use ir::{MemoryKind, Reg};

use crate::{
    Address, FieldLink,
    fact::{Field, Holder},
    lower::Lowering,
    record::site_record,
};

/// A place in memory: base address and offset, still apart.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) base: clif::Value,
    pub(crate) offset: i32,
}

/// What ordering an access has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ordering {
    Plain,
    /// Sequentially consistent.
    Volatile,
}

fn ordering(is_volatile: bool) -> Ordering {
    if is_volatile {
        Ordering::Volatile
    } else {
        Ordering::Plain
    }
}

/// The machine type in memory.
pub(crate) fn memory_type(kind: MemoryKind) -> clif::Type {
    match kind {
        MemoryKind::Boolean | MemoryKind::Byte => I8,
        MemoryKind::Char | MemoryKind::Short => I16,
        MemoryKind::Int | MemoryKind::Ref => I32,
        MemoryKind::Long => I64,
        MemoryKind::Float => F32,
        MemoryKind::Double => F64,
    }
}

impl Lowering<'_, '_> {
    /// Loads a value and widens it to its register type.
    pub(crate) fn load(&mut self, place: Place, kind: MemoryKind, order: Ordering) -> clif::Value {
        if order == Ordering::Volatile {
            return self.load_volatile(place, kind);
        }
        let (flags, Place { base, offset }) = (Self::plain(), place);
        match kind {
            MemoryKind::Boolean => self.b.ins().uload8(I32, flags, base, offset),
            MemoryKind::Byte => self.b.ins().sload8(I32, flags, base, offset),
            MemoryKind::Char => self.b.ins().uload16(I32, flags, base, offset),
            MemoryKind::Short => self.b.ins().sload16(I32, flags, base, offset),
            _ => self.b.ins().load(memory_type(kind), flags, base, offset),
        }
    }

    fn load_volatile(&mut self, place: Place, kind: MemoryKind) -> clif::Value {
        let at = self.b.ins().iadd_imm_s(place.base, i64::from(place.offset));
        let bits = match kind {
            MemoryKind::Float => I32,
            MemoryKind::Double => I64,
            _ => memory_type(kind),
        };
        let raw = self.b.ins().atomic_load(bits, Self::plain(), at);
        match kind {
            MemoryKind::Boolean | MemoryKind::Char => self.b.ins().uextend(I32, raw),
            MemoryKind::Byte | MemoryKind::Short => self.b.ins().sextend(I32, raw),
            MemoryKind::Float => self.b.ins().bitcast(F32, clif::MemFlagsData::new(), raw),
            MemoryKind::Double => self.b.ins().bitcast(F64, clif::MemFlagsData::new(), raw),
            _ => raw,
        }
    }

    /// Narrows a value and stores it. References need their barrier before.
    pub(crate) fn store(
        &mut self,
        place: Place,
        value: clif::Value,
        kind: MemoryKind,
        order: Ordering,
    ) {
        if order == Ordering::Volatile {
            return self.store_volatile(place, value, kind);
        }
        let (flags, Place { base, offset }) = (Self::plain(), place);
        match kind {
            MemoryKind::Boolean | MemoryKind::Byte => {
                self.b.ins().istore8(flags, value, base, offset)
            }
            MemoryKind::Char | MemoryKind::Short => {
                self.b.ins().istore16(flags, value, base, offset)
            }
            _ => self.b.ins().store(flags, value, base, offset),
        };
    }

    fn store_volatile(&mut self, place: Place, value: clif::Value, kind: MemoryKind) {
        let at = self.b.ins().iadd_imm_s(place.base, i64::from(place.offset));
        let raw = match kind {
            MemoryKind::Boolean | MemoryKind::Byte => self.b.ins().ireduce(I8, value),
            MemoryKind::Char | MemoryKind::Short => self.b.ins().ireduce(I16, value),
            MemoryKind::Float => self.b.ins().bitcast(I32, clif::MemFlagsData::new(), value),
            MemoryKind::Double => self.b.ins().bitcast(I64, clif::MemFlagsData::new(), value),
            _ => value,
        };
        self.b.ins().atomic_store(Self::plain(), raw, at);
    }

    pub(crate) fn get_field(&mut self, dst: Reg, object: Reg, index: u32, kind: MemoryKind) {
        let link = self.linker.field(index, false);
        let value = match link {
            FieldLink::Instance {
                offset,
                is_volatile,
                ..
            } => {
                let object = self.get_non_null(object);
                let field = Field {
                    holder: Holder::Object(object),
                    offset,
                    kind,
                };
                self.load_field(field, is_volatile, |lowering| lowering.address(object))
            }
            FieldLink::Referent(offset) => {
                let object = self.get_non_null(object);
                self.forget_fields();
                self.referent(object, offset)
            }
            FieldLink::Static { .. } => unreachable!("an instance field was asked for"),
            FieldLink::Site(site) => {
                let (offset, _) = self.field_site(site);
                self.forget_fields();
                let object = self.get_non_null(object);
                let base = self.address(object);
                let base = self.b.ins().iadd(base, offset);
                // On this machine a volatile load costs nothing more.
                self.load(Place { base, offset: 0 }, kind, Ordering::Volatile)
            }
        };
        self.set(dst, value);
    }

    /// Loads a field of a holder whose address `base` gives.
    fn load_field(
        &mut self,
        field: Field,
        is_volatile: bool,
        base: impl FnOnce(&mut Self) -> clif::Value,
    ) -> clif::Value {
        let load = |lowering: &mut Self| {
            let base = base(lowering);
            let offset = field.offset as i32;
            lowering.load(Place { base, offset }, field.kind, ordering(is_volatile))
        };
        if is_volatile {
            // What is read behind it is not read before.
            self.forget_fields();
            return load(self);
        }
        self.known_field(field, load)
    }

    /// A field has been written whose holder's address is `base`.
    fn note_field(&mut self, field: Field, is_volatile: bool, value: clif::Value) {
        if is_volatile {
            self.forget_fields();
        } else {
            self.note_written(field, value);
        }
    }

    /// Loads a referent: by the runtime while the collector may be giving it up.
    fn referent(&mut self, object: clif::Value, offset: u32) -> clif::Value {
        let context = self.context();
        let flags = Self::plain();
        let guarded = self
            .b
            .ins()
            .load(I8, flags, context, abi::context::IS_WEAK_GUARDED);
        let (cold, fast) = (self.b.create_block(), self.b.create_block());
        let next = self.b.create_block();
        self.b.append_block_param(next, I32);
        self.b.set_cold_block(cold);
        self.b.ins().brif(guarded, cold, &[], fast, &[]);
        self.b.switch_to_block(cold);
        self.b.seal_block(cold);
        let slow = self
            .call_entry(crate::Entry::ReadReferent, &[object])
            .expect("a referent");
        self.b.ins().jump(next, &[slow.into()]);
        self.b.switch_to_block(fast);
        self.b.seal_block(fast);
        let base = self.address(object);
        let quick = self.b.ins().load(I32, flags, base, offset as i32);
        self.b.ins().jump(next, &[quick.into()]);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
        self.b.block_params(next)[0]
    }

    pub(crate) fn put_field(&mut self, object: Reg, src: Reg, index: u32, kind: MemoryKind) {
        let link = self.linker.written_field(index, false);
        let value = self.field_value(src, kind);
        match link {
            FieldLink::Referent(_) => {
                let object = self.get_non_null(object);
                self.forget_fields();
                self.call_entry(crate::Entry::WriteReferent, &[object, value]);
            }
            FieldLink::Instance {
                offset,
                is_volatile,
                is_chunked,
            } => {
                let object = self.get_non_null(object);
                let field = Field {
                    holder: Holder::Object(object),
                    offset,
                    kind,
                };
                if !is_volatile && self.is_zero(value) && self.facts.is_still_zero(field) {
                    return self.note_held_by(field, value);
                }
                let base = self.address(object);
                let place = Place {
                    base,
                    offset: offset as i32,
                };
                if kind == MemoryKind::Ref {
                    self.write_barrier(object, place, value, is_chunked);
                }
                self.store(place, value, kind, ordering(is_volatile));
                self.note_field(field, is_volatile, value);
            }
            FieldLink::Static { .. } => unreachable!("an instance field was asked for"),
            FieldLink::Site(site) => {
                let (offset, cell) = self.field_site(site);
                let object = self.get_non_null(object);
                let base = self.address(object);
                let base = self.b.ins().iadd(base, offset);
                self.store_unresolved(object, base, value, kind, cell);
            }
        }
    }

    pub(crate) fn get_static(&mut self, dst: Reg, index: u32, kind: MemoryKind) {
        let value = match self.linker.field(index, true) {
            FieldLink::Static {
                object,
                offset,
                is_volatile,
                ..
            } => {
                let field = Field {
                    holder: Holder::Class(object),
                    offset,
                    kind,
                };
                self.load_field(field, is_volatile, |lowering| lowering.long_at(object))
            }
            FieldLink::Instance { .. } | FieldLink::Referent(_) => {
                unreachable!("a static field was asked for")
            }
            FieldLink::Site(site) => {
                let (offset, _) = self.field_site(site);
                self.forget_fields();
                let object = self.site_extra(site);
                let base = self.b.ins().iadd(object, offset);
                self.load(Place { base, offset: 0 }, kind, Ordering::Volatile)
            }
        };
        self.set(dst, value);
    }

    pub(crate) fn put_static(&mut self, src: Reg, index: u32, kind: MemoryKind) {
        let link = self.linker.written_field(index, true);
        match link {
            FieldLink::Static {
                object,
                offset,
                is_volatile,
                is_chunked,
            } => {
                let value = self.field_value(src, kind);
                let base = self.long_at(object);
                let place = Place {
                    base,
                    offset: offset as i32,
                };
                if kind == MemoryKind::Ref {
                    let object = self.word_at(object);
                    self.write_barrier(object, place, value, is_chunked);
                }
                self.store(place, value, kind, ordering(is_volatile));
                let field = Field {
                    holder: Holder::Class(object),
                    offset,
                    kind,
                };
                self.note_field(field, is_volatile, value);
            }
            FieldLink::Instance { .. } | FieldLink::Referent(_) => {
                unreachable!("a static field was asked for")
            }
            FieldLink::Site(site) => {
                let (offset, cell) = self.field_site(site);
                let holder = self.site_extra(site);
                let object = self.b.ins().ireduce(I32, holder);
                let base = self.b.ins().iadd(holder, offset);
                let value = self.field_value(src, kind);
                self.store_unresolved(object, base, value, kind, cell);
            }
        }
    }

    /// What is stored for a register: booleans keep one bit.
    fn field_value(&mut self, src: Reg, kind: MemoryKind) -> clif::Value {
        let value = self.get(src);
        if kind == MemoryKind::Boolean {
            self.b.ins().band_imm_u(value, 1)
        } else {
            value
        }
    }

    /// The offset in a field's site, resolved if need be, and the whole cell.
    fn field_site(&mut self, site: Address) -> (clif::Value, clif::Value) {
        let cell = self.resolved(site);
        (
            self.b
                .ins()
                .band_imm_u(cell, site_record::FIELD_VOLATILE - 1),
            cell,
        )
    }

    fn site_extra(&mut self, site: Address) -> clif::Value {
        let at = self.long_at(site);
        self.b
            .ins()
            .load(I64, Self::plain(), at, site_record::EXTRA)
    }

    fn store_unresolved(
        &mut self,
        object: clif::Value,
        base: clif::Value,
        value: clif::Value,
        kind: MemoryKind,
        cell: clif::Value,
    ) {
        self.forget_fields();
        let place = Place { base, offset: 0 };
        if kind == MemoryKind::Ref {
            self.write_barrier_any(object, place, value);
        }
        self.store(place, value, kind, Ordering::Plain);
        let is_volatile = self.b.ins().band_imm_u(cell, site_record::FIELD_VOLATILE);
        let (fence, next) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(is_volatile, fence, &[], next, &[]);
        self.b.switch_to_block(fence);
        self.b.seal_block(fence);
        self.b.ins().fence();
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
    }

    /// The cell of a site; resolves it when it is still zero.
    pub(crate) fn resolved(&mut self, site: Address) -> clif::Value {
        let at = self.long_at(site);
        let cell = self.b.ins().atomic_load(I64, Self::plain(), at);
        let (cold, next) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(cold);
        self.b.append_block_param(next, I64);
        self.b.ins().brif(cell, next, &[cell.into()], cold, &[]);
        self.b.switch_to_block(cold);
        self.b.seal_block(cold);
        let at = self.long_at(site);
        let found = self
            .call_entry(crate::Entry::Resolve, &[at])
            .expect("`Resolve` gives a cell");
        self.b.ins().jump(next, &[found.into()]);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
        self.b.block_params(next)[0]
    }
}
