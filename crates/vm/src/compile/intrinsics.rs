// SPDX-License-Identifier: Apache-2.0
//! Which methods of the class library are [`Intrinsic`]s.

use compiler::Intrinsic;
use ir::MemoryKind;

use crate::classes::class::Method;
use crate::classes::known::{known, offset};
use crate::classes::library::Library as L;

/// The intrinsic for `method`, if it is one.
pub(crate) fn of(method: &'static Method) -> Option<Intrinsic> {
    let class = method.class().info.library?;
    let (name, descriptor) = (method.name.bytes(), method.descriptor.bytes());
    match class {
        L::Thread if name == b"currentThread" => Some(Intrinsic::CurrentThread),
        L::Object if name == b"getClass" => Some(Intrinsic::GetClass),
        L::System if name == b"arraycopy" => Some(Intrinsic::ArrayCopy),
        L::System if name == b"nanoTime" => Some(Intrinsic::NanoTime),
        L::Float => match name {
            b"floatToRawIntBits" => Some(Intrinsic::FloatToRawIntBits),
            b"intBitsToFloat" => Some(Intrinsic::IntBitsToFloat),
            _ => None,
        },
        L::Double => match name {
            b"doubleToRawLongBits" => Some(Intrinsic::DoubleToRawLongBits),
            b"longBitsToDouble" => Some(Intrinsic::LongBitsToDouble),
            _ => None,
        },
        L::Math | L::StrictMath => (name == b"sqrt").then_some(Intrinsic::Sqrt),
        L::Integer | L::Long => match name {
            b"numberOfLeadingZeros" => Some(Intrinsic::LeadingZeros),
            b"numberOfTrailingZeros" => Some(Intrinsic::TrailingZeros),
            b"bitCount" => Some(Intrinsic::BitCount),
            b"reverseBytes" => Some(Intrinsic::ReverseBytes),
            _ => None,
        },
        L::Reference => {
            let referent = || offset(method.class(), "referent");
            match name {
                b"refersTo0" => Some(Intrinsic::RefersTo(referent())),
                b"clear0" => Some(Intrinsic::ClearReferent(referent())),
                _ => None,
            }
        }
        L::Unsafe => of_unsafe(name, descriptor),
        _ => None,
    }
}

/// Whether `method` is one of the two that ask for an object's identity hash.
pub(crate) fn is_identity_hash(method: &'static Method) -> bool {
    match method.class().info.library {
        Some(L::Object) => method.name.is("hashCode"),
        Some(L::System) => method.name.is("identityHashCode"),
        _ => false,
    }
}

fn kind_of(name: &[u8]) -> Option<MemoryKind> {
    Some(match name {
        b"Boolean" => MemoryKind::Boolean,
        b"Byte" => MemoryKind::Byte,
        b"Char" => MemoryKind::Char,
        b"Short" => MemoryKind::Short,
        b"Int" => MemoryKind::Int,
        b"Long" => MemoryKind::Long,
        b"Float" => MemoryKind::Float,
        b"Double" => MemoryKind::Double,
        b"Reference" => MemoryKind::Ref,
        _ => return None,
    })
}

fn of_unsafe(name: &[u8], descriptor: &[u8]) -> Option<Intrinsic> {
    if matches!(name, b"fullFence" | b"loadFence" | b"storeFence") {
        return Some(Intrinsic::Fence);
    }
    if name == b"allocateInstance" {
        return Some(Intrinsic::AllocateInstance(known().mirror_class));
    }
    if !descriptor.starts_with(b"(Ljava/lang/Object;J") {
        return None;
    }
    let is_word =
        |kind: &MemoryKind| matches!(kind, MemoryKind::Int | MemoryKind::Long | MemoryKind::Ref);
    if let Some(kind) = name.strip_prefix(b"compareAndSet") {
        return kind_of(kind)
            .filter(is_word)
            .map(Intrinsic::UnsafeCompareAndSet);
    }
    if let Some(kind) = name.strip_prefix(b"compareAndExchange") {
        return kind_of(kind)
            .filter(is_word)
            .map(Intrinsic::UnsafeCompareAndExchange);
    }
    if let Some(kind) = name.strip_prefix(b"getAndAdd") {
        let kind = kind_of(kind).filter(|kind| matches!(kind, MemoryKind::Int | MemoryKind::Long));
        return kind.map(Intrinsic::UnsafeGetAndAdd);
    }
    let (is_put, rest) = match name {
        [b'g', b'e', b't', rest @ ..] => (false, rest),
        [b'p', b'u', b't', rest @ ..] => (true, rest),
        _ => return None,
    };
    let (kind, is_volatile) = match rest.strip_suffix(b"Volatile") {
        Some(kind) => (kind, true),
        None => (rest, false),
    };
    let kind = kind_of(kind)?;
    Some(if is_put {
        Intrinsic::UnsafePut(kind, is_volatile)
    } else {
        Intrinsic::UnsafeGet(kind, is_volatile)
    })
}
