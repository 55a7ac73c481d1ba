// SPDX-License-Identifier: Apache-2.0
//! From Rust into Java: one adapter per shape of signature.

use abi::context;
use cranelift_codegen::ir::{
    self as clif, BlockArg, BlockCall, ExceptionTableData, ExceptionTableItem, InstBuilder,
    MemFlagsData,
    types::{F32, F64, I32, I64},
};
use ir::Type;

use crate::{
    CompileError, CompiledCode, Compiler,
    code::{foreign, managed},
    lower::machine_type,
};

/// Parameter and result types, as far as calling goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Receiver first.
    pub parameters: Vec<Type>,
    /// Nothing for void.
    pub result: Option<Type>,
}

impl Compiler {
    /// Code for `extern "C" fn(code, *const u64 arguments) -> u64` that calls
    /// managed code of this shape. The pinned register must hold the context;
    /// an exception becomes the context's pending one.
    pub fn adapter(&mut self, shape: &Shape) -> Result<CompiledCode, CompileError> {
        let params = shape.parameters.iter().map(|&ty| machine_type(ty));
        let callee = managed(params, shape.result.map(machine_type));
        self.compile(foreign([I64, I64], Some(I64)), |b, _| {
            let entry = b.create_block();
            b.append_block_params_for_function_params(entry);
            b.switch_to_block(entry);
            let (code, arguments) = (b.block_params(entry)[0], b.block_params(entry)[1]);
            let flags = MemFlagsData::trusted();
            let mut args = Vec::new();
            for (index, &ty) in shape.parameters.iter().enumerate() {
                args.push(
                    b.ins()
                        .load(machine_type(ty), flags, arguments, index as i32 * 8),
                );
            }
            let (done, failed) = (b.create_block(), b.create_block());
            let normal = shape.result.map(|ty| {
                b.append_block_param(done, machine_type(ty));
                BlockArg::TryCallRet(0)
            });
            b.append_block_param(failed, I64);
            let callee = b.import_signature(callee);
            let pool = &mut b.func.dfg.value_lists;
            let normal = BlockCall::new(done, normal, pool);
            let caught = BlockCall::new(failed, [BlockArg::TryCallExn(0)], pool);
            let table =
                ExceptionTableData::new(callee, normal, [ExceptionTableItem::Default(caught)]);
            let table = b.func.dfg.exception_tables.push(table);
            b.ins().try_call_indirect(code, &args, table);
            b.switch_to_block(done);
            let value = match b.block_params(done).first().copied() {
                Some(value) => to_bits(b, value),
                None => b.ins().iconst(I64, 0),
            };
            b.ins().return_(&[value]);
            b.switch_to_block(failed);
            let payload = b.block_params(failed)[0];
            let exception = b.ins().ireduce(I32, payload);
            let base = b.ins().get_pinned_reg(I64);
            b.ins().store(flags, exception, base, context::EXCEPTION);
            let zero = b.ins().iconst(I64, 0);
            b.ins().return_(&[zero]);
        })
    }
}

fn to_bits(b: &mut cranelift_frontend::FunctionBuilder<'_>, value: clif::Value) -> clif::Value {
    match b.func.dfg.value_type(value) {
        F32 => {
            let bits = b.ins().bitcast(I32, MemFlagsData::new(), value);
            b.ins().uextend(I64, bits)
        }
        F64 => b.ins().bitcast(I64, MemFlagsData::new(), value),
        I32 => b.ins().uextend(I64, value),
        _ => value,
    }
}
