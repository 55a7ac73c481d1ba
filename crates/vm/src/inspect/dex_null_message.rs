// SPDX-License-Identifier: Apache-2.0
//! What was null in DEX code, worded as ART words it.

use classfile::FieldType;
use dex::{Code, DexFile, Opcode, Operands, Unit, decode};

use crate::classes::class::Method;
use crate::link::message::type_name;

/// The message for a failure at code unit `at`; none if the instruction cannot fail so.
pub(crate) fn explain(
    file: &DexFile<'_>,
    code: &Code<'_>,
    method: &Method,
    at: u32,
) -> Option<String> {
    let Ok(Unit::Instruction(it)) = decode(code.instructions, at as usize) else {
        return None;
    };
    let access = |what: &str, index: u32| {
        let field = file.field(index);
        let (kind, holder) = (type_text(file, field.kind), type_text(file, field.class));
        let name = file.text(field.name);
        let own = crate::link::message::method(method.class(), method.name, method.descriptor);
        format!(
            "Attempt to {what} field '{kind} {holder}.{name}' on a null object reference in method '{own}'"
        )
    };
    Some(match (it.opcode as u8, it.operands) {
        (0x6e..=0x78, Operands::Call { index, .. }) => return call(file, it.opcode, index),
        (0x52..=0x58, Operands::AbIndex { index, .. }) => access("read from", index),
        (0x59..=0x5f, Operands::AbIndex { index, .. }) => access("write to", index),
        (0x44..=0x4a, _) => "Attempt to read from null array".into(),
        (0x26 | 0x4b..=0x51, _) => "Attempt to write to null array".into(),
        (0x21, _) => "Attempt to get length of null array".into(),
        (0x1d | 0x1e, _) => "Attempt to do a synchronize operation on a null object".into(),
        (0x27, _) => "throw with null exception".into(),
        _ => return None,
    })
}

fn call(file: &DexFile<'_>, opcode: Opcode, index: u32) -> Option<String> {
    use Opcode as O;
    let how = match opcode {
        O::InvokeVirtual | O::InvokeVirtualRange => "virtual",
        O::InvokeInterface | O::InvokeInterfaceRange => "interface",
        O::InvokeSuper | O::InvokeSuperRange => "super",
        O::InvokeDirect | O::InvokeDirectRange => "direct",
        _ => return None,
    };
    let callee = file.method(index);
    let name = file.text(callee.name);
    // The exception was made by hand.
    if name == "<init>" {
        return None;
    }
    let proto = file.proto(callee.proto);
    let result = type_text(file, proto.return_type);
    let holder = type_text(file, callee.class);
    let parameters: Vec<String> = proto
        .parameters
        .iter()
        .map(|index| type_text(file, index))
        .collect();
    let parameters = parameters.join(", ");
    Some(format!(
        "Attempt to invoke {how} method '{result} {holder}.{name}({parameters})' on a null object reference"
    ))
}

fn type_text(file: &DexFile<'_>, index: u32) -> String {
    let descriptor = file.string(file.type_string(index));
    FieldType::parse(descriptor).map_or_else(|_| "void".into(), |ty| type_name(&ty))
}
