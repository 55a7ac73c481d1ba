// SPDX-License-Identifier: Apache-2.0
//! Calls.

use dex::{EncodedValue, Instruction, Opcode, Operands};

use super::super::outline::Key;
use super::super::state::Value;
use super::{Result, Translator, descriptor, kind_of, value_of};
use crate::{InvokeKind, MemoryKind, Op, Reg, Type};

impl<'a> Translator<'_, 'a> {
    pub(super) fn call(&mut self, it: &Instruction) -> Result<()> {
        let Operands::Call {
            arguments,
            index,
            proto,
        } = it.operands
        else {
            return Err("operands of another instruction".into());
        };
        let registers: Vec<u16> = arguments.iter().collect();
        match it.opcode {
            Opcode::InvokeCustom | Opcode::InvokeCustomRange => self.custom(index, &registers),
            Opcode::InvokePolymorphic | Opcode::InvokePolymorphicRange => {
                let proto = proto.ok_or("a call without a prototype")?;
                let index = self.outline.index(Key::Polymorphic(index, proto))?;
                self.invoke(InvokeKind::Virtual, proto, index, &registers)
            }
            _ => self.method(it.opcode, index, &registers),
        }
    }

    fn method(&mut self, opcode: Opcode, method: u32, registers: &[u16]) -> Result<()> {
        use Opcode as O;
        let kind = match opcode {
            O::InvokeVirtual | O::InvokeVirtualRange => InvokeKind::Virtual,
            O::InvokeInterface | O::InvokeInterfaceRange => InvokeKind::Interface,
            O::InvokeStatic | O::InvokeStaticRange => InvokeKind::Static,
            _ => InvokeKind::Special,
        };
        let id = self.file.method(method);
        let name = self.file.string(id.name);
        let is_direct = matches!(opcode, O::InvokeDirect | O::InvokeDirectRange);
        if name.starts_with(b"<") && !(is_direct && name == b"<init>") {
            return Err("a call of an initialiser that is no construction".into());
        }
        let key = match opcode {
            O::InvokeSuper | O::InvokeSuperRange => Key::Super(method),
            _ => Key::Method(method, kind == InvokeKind::Interface),
        };
        let index = self.outline.index(key)?;
        self.invoke(kind, id.proto, index, registers)
    }

    fn invoke(
        &mut self,
        kind: InvokeKind,
        proto: u32,
        index: u32,
        registers: &[u16],
    ) -> Result<()> {
        let mut rest = registers;
        let mut args = Vec::new();
        if kind != InvokeKind::Static {
            let (&receiver, after) = rest.split_first().ok_or("a call without receiver")?;
            args.push(self.read(receiver, Type::Ref)?);
            rest = after;
        }
        self.arguments(proto, rest, &mut args)?;
        let (dst, value) = self.result_of(proto)?;
        self.emit(Op::Invoke {
            kind,
            dst,
            index,
            args,
        });
        self.state.set(self.result_place(), value);
        Ok(())
    }

    fn arguments(&mut self, proto: u32, registers: &[u16], args: &mut Vec<Reg>) -> Result<()> {
        let mut rest = registers.iter().copied();
        for parameter in self.file.proto(proto).parameters.iter() {
            let ty = descriptor(self.file, parameter);
            let register = rest.next().ok_or("fewer arguments than parameters")?;
            let kind = kind_of(ty)?;
            args.push(self.read(register, kind.register_type())?);
            let is_wide = matches!(kind, MemoryKind::Long | MemoryKind::Double);
            if is_wide && rest.next() != register.checked_add(1) {
                return Err("the halves of a wide argument lie apart".into());
            }
        }
        match rest.next() {
            None => Ok(()),
            Some(_) => Err("more arguments than parameters".into()),
        }
    }

    /// Where a call's result goes; a call without one leaves nothing to be taken.
    fn result_of(&mut self, proto: u32) -> Result<(Option<Reg>, Value<'a>)> {
        let ty = descriptor(self.file, self.file.proto(proto).return_type);
        if ty == b"V" {
            return Ok((None, Value::UNUSABLE));
        }
        let value = value_of(ty)?;
        let register = kind_of(ty)?.register_type();
        Ok((Some(self.reg(self.result_place(), register)), value))
    }

    fn custom(&mut self, site: u32, registers: &[u16]) -> Result<()> {
        let values = self.file.call_site(site);
        let Some(&EncodedValue::MethodType(proto)) = values.get(2) else {
            return Err("a call site without a type".into());
        };
        let index = self.outline.index(Key::CallSite(site))?;
        let mut args = Vec::new();
        self.arguments(proto, registers, &mut args)?;
        let (dst, value) = self.result_of(proto)?;
        self.emit(Op::InvokeDynamic { dst, index, args });
        self.state.set(self.result_place(), value);
        Ok(())
    }
}
