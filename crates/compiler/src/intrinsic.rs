// SPDX-License-Identifier: Apache-2.0
//! [`Intrinsic`]: methods of the class library that become code instead of calls.

use abi::object as header;
use cranelift_codegen::ir::{
    self as clif, InstBuilder, MemFlagsData,
    condcodes::IntCC,
    types::{F32, F64, I32, I64},
};
use ir::{MemoryKind, Reg};

use crate::{
    Entry,
    call::machine_offset,
    field::{Ordering, Place, memory_type},
    lower::Lowering,
    record::{class_record, machine_word},
};

/// What compiled code does itself. The receiver, where there is one, is the
/// first argument and is not null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named for the methods of the class library")]
pub enum Intrinsic {
    CurrentThread,
    GetClass,
    ArrayCopy,
    FloatToRawIntBits,
    IntBitsToFloat,
    DoubleToRawLongBits,
    LongBitsToDouble,
    Sqrt,
    /// `Unsafe.get…` and `put…`: plain or volatile.
    UnsafeGet(MemoryKind, bool),
    UnsafePut(MemoryKind, bool),
    /// `Unsafe.compareAndSet…`
    UnsafeCompareAndSet(MemoryKind),
    /// `Unsafe.compareAndExchange…`
    UnsafeCompareAndExchange(MemoryKind),
    /// `Unsafe.getAndAdd…`, integers only.
    UnsafeGetAndAdd(MemoryKind),
    Fence,
    NanoTime,
    /// `Unsafe.allocateInstance`: where a class object says which class it is of.
    AllocateInstance(u32),
    /// `Reference.refersTo0` and `clear0`: where the referent is.
    RefersTo(u32),
    ClearReferent(u32),
    LeadingZeros,
    TrailingZeros,
    BitCount,
    ReverseBytes,
}

impl Lowering<'_, '_> {
    /// Emits `intrinsic`; says no when a plain call must do.
    pub(crate) fn intrinsic(
        &mut self,
        intrinsic: Intrinsic,
        dst: Option<Reg>,
        args: &[Reg],
    ) -> bool {
        let value = match intrinsic {
            Intrinsic::CurrentThread => {
                let base = self.context();
                let at = machine_offset(machine_word::THREAD_OBJECT);
                Some(self.b.ins().load(I32, Self::plain(), base, at))
            }
            Intrinsic::GetClass => {
                let object = self.get(args[0]);
                let class = self.class_of(object);
                Some(
                    self.b
                        .ins()
                        .load(I32, Self::plain(), class, class_record::MIRROR),
                )
            }
            Intrinsic::ArrayCopy => {
                let values: Vec<_> = args.iter().map(|&arg| self.get(arg)).collect();
                self.call_entry(Entry::ArrayCopy, &values)
            }
            Intrinsic::NanoTime => self.call_entry(Entry::NanoTime, &[]),
            Intrinsic::FloatToRawIntBits => Some(self.bits(I32, args[0])),
            Intrinsic::IntBitsToFloat => Some(self.bits(F32, args[0])),
            Intrinsic::DoubleToRawLongBits => Some(self.bits(I64, args[0])),
            Intrinsic::LongBitsToDouble => Some(self.bits(F64, args[0])),
            Intrinsic::Sqrt => {
                let x = self.get(args[0]);
                Some(self.b.ins().sqrt(x))
            }
            Intrinsic::AllocateInstance(_) => return false,
            // Who asks holds the object, so it is not given up meanwhile.
            Intrinsic::RefersTo(offset) => {
                let (reference, object) = (self.get(args[0]), self.get(args[1]));
                let at = self.address(reference);
                let flags = Self::plain();
                let referent = self.b.ins().load(I32, flags, at, offset as i32);
                let is_same = self.b.ins().icmp(IntCC::Equal, referent, object);
                Some(self.b.ins().uextend(I32, is_same))
            }
            Intrinsic::ClearReferent(offset) => {
                let reference = self.get(args[0]);
                let at = self.address(reference);
                let null = self.int(0);
                self.b.ins().store(Self::plain(), null, at, offset as i32);
                None
            }
            Intrinsic::Fence => {
                self.b.ins().fence();
                None
            }
            Intrinsic::LeadingZeros
            | Intrinsic::TrailingZeros
            | Intrinsic::BitCount
            | Intrinsic::ReverseBytes => Some(self.bit_operation(intrinsic, args[0])),
            _ => self.unsafe_access(intrinsic, args),
        };
        if let (Some(dst), Some(value)) = (dst, value) {
            self.set(dst, value);
        }
        true
    }

    fn bits(&mut self, ty: clif::Type, src: Reg) -> clif::Value {
        let value = self.get(src);
        self.b.ins().bitcast(ty, MemFlagsData::new(), value)
    }

    fn bit_operation(&mut self, intrinsic: Intrinsic, src: Reg) -> clif::Value {
        let x = self.get(src);
        let ins = self.b.ins();
        let value = match intrinsic {
            Intrinsic::LeadingZeros => ins.clz(x),
            Intrinsic::TrailingZeros => ins.ctz(x),
            Intrinsic::BitCount => ins.popcnt(x),
            _ => return ins.bswap(x),
        };
        if self.b.func.dfg.value_type(value) == I64 {
            return self.b.ins().ireduce(I32, value);
        }
        value
    }

    /// `(Object, long)`: an offset in an object, or an address when it is null.
    fn unsafe_place(&mut self, args: &[Reg]) -> (clif::Value, Place) {
        let object = self.get(args[1]);
        let base = self.address(object);
        let offset = self.get(args[2]);
        let base = self.b.ins().iadd(base, offset);
        (object, Place { base, offset: 0 })
    }

    fn unsafe_access(&mut self, intrinsic: Intrinsic, args: &[Reg]) -> Option<clif::Value> {
        let (object, place) = self.unsafe_place(args);
        let order = |is_volatile| {
            if is_volatile {
                Ordering::Volatile
            } else {
                Ordering::Plain
            }
        };
        match intrinsic {
            Intrinsic::UnsafeGet(kind, is_volatile) => {
                Some(self.load(place, kind, order(is_volatile)))
            }
            Intrinsic::UnsafePut(kind, is_volatile) => {
                let value = self.get(args[3]);
                if kind == MemoryKind::Ref {
                    self.write_barrier_any(object, place, value);
                }
                let (_, place) = self.unsafe_place(args);
                self.store(place, value, kind, order(is_volatile));
                None
            }
            Intrinsic::UnsafeCompareAndSet(kind) => {
                let (expected, old) = self.compare_and_exchange(kind, object, place, args);
                let is_same = self.b.ins().icmp(IntCC::Equal, old, expected);
                Some(self.b.ins().uextend(I32, is_same))
            }
            Intrinsic::UnsafeCompareAndExchange(kind) => {
                Some(self.compare_and_exchange(kind, object, place, args).1)
            }
            Intrinsic::UnsafeGetAndAdd(kind) => {
                let amount = self.get(args[3]);
                let ty = memory_type(kind);
                let add = clif::AtomicRmwOp::Add;
                Some(
                    self.b
                        .ins()
                        .atomic_rmw(ty, Self::plain(), add, place.base, amount),
                )
            }
            _ => unreachable!("accesses only"),
        }
    }

    fn compare_and_exchange(
        &mut self,
        kind: MemoryKind,
        object: clif::Value,
        place: Place,
        args: &[Reg],
    ) -> (clif::Value, clif::Value) {
        debug_assert_eq!(header::REFERENCE_BYTES, 4);
        let (expected, value) = (self.get(args[3]), self.get(args[4]));
        if kind == MemoryKind::Ref {
            self.write_barrier_any(object, place, value);
        }
        let (_, place) = self.unsafe_place(args);
        let old = self
            .b
            .ins()
            .atomic_cas(Self::plain(), place.base, expected, value);
        (expected, old)
    }
}
