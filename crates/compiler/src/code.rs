// SPDX-License-Identifier: Apache-2.0
//! [`Compiler`] and what it gives.

use core::fmt;

use cranelift_codegen::{
    Context, FinalizedMachExceptionHandler, FinalizedRelocTarget,
    binemit::Reloc,
    control::ControlPlane,
    ir::{self, InstBuilder},
    isa::{CallConv, OwnedTargetIsa},
    settings::{self, Configurable},
};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use crate::Address;

/// Code with its tables. Offsets are from the code's start.
#[derive(Clone, Debug, Default)]
pub struct CompiledCode {
    /// Position-independent machine code.
    pub bytes: Vec<u8>,
    /// Every call, by return address.
    pub call_sites: Vec<CallSite>,
    /// References in the frame, by return address.
    pub stack_maps: Vec<StackMap>,
    /// Where addresses go, 64 bits each.
    pub relocations: Vec<Relocation>,
}

/// A place in code that waits for an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Where its eight bytes are.
    pub offset: u32,
    /// Which.
    pub address: Address,
}

/// One call.
#[derive(Clone, Copy, Debug)]
pub struct CallSite {
    /// Where the callee returns to.
    pub return_offset: u32,
    /// Where an exception goes, if it is handled here.
    pub handler: Option<u32>,
    /// Frame pointer less stack pointer at the handler.
    pub frame_offset: u32,
    /// The IR instruction's `at`.
    pub at: u32,
}

/// References live across one call.
#[derive(Clone, Debug)]
pub struct StackMap {
    /// Where the callee returns to.
    pub return_offset: u32,
    /// Bytes from the stack pointer at the call.
    pub slots: Vec<u32>,
}

/// The code generator refused: a limit or a mistake of ours, never bad input.
#[derive(Clone, Debug)]
pub struct CompileError(pub(crate) String);

impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CompileError {}

/// Reusable state of one compiling thread.
pub struct Compiler {
    pub(crate) isa: OwnedTargetIsa,
    context: Context,
    builder: FunctionBuilderContext,
    control: ControlPlane,
}

impl Compiler {
    /// For the processor this runs on, or for every one of its kind.
    pub fn host(is_portable: bool) -> Result<Self, CompileError> {
        let mut flags = settings::builder();
        for (name, value) in [
            ("opt_level", "speed"),
            ("preserve_frame_pointers", "true"),
            ("enable_pinned_reg", "true"),
            ("unwind_info", "false"),
            ("enable_heap_access_spectre_mitigation", "false"),
            ("enable_table_access_spectre_mitigation", "false"),
            ("enable_verifier", if cfg!(test) { "true" } else { "false" }),
        ] {
            flags
                .set(name, value)
                .map_err(|error| CompileError(error.to_string()))?;
        }
        let isa = cranelift_native::builder_with_options(!is_portable)
            .map_err(|error| CompileError(error.into()))?
            .finish(settings::Flags::new(flags))
            .map_err(|error| CompileError(error.to_string()))?;
        Ok(Self::of(isa))
    }

    fn of(isa: OwnedTargetIsa) -> Self {
        Self {
            isa,
            context: Context::new(),
            builder: FunctionBuilderContext::new(),
            control: ControlPlane::default(),
        }
    }

    /// One more that makes the same code, for another thread.
    #[must_use]
    pub fn another(&self) -> Self {
        Self::of(self.isa.clone())
    }

    /// The instruction set and every setting that code depends on.
    pub fn target(&self) -> String {
        let settings: Vec<String> = self
            .isa
            .isa_flags()
            .iter()
            .map(ToString::to_string)
            .collect();
        format!("{} {} {settings:?}", self.isa.triple(), self.isa.flags())
    }

    /// Builds one function by `build` and compiles it.
    pub(crate) fn compile(
        &mut self,
        signature: ir::Signature,
        build: impl FnOnce(&mut FunctionBuilder<'_>),
    ) -> Result<CompiledCode, CompileError> {
        self.context.clear();
        self.context.func.signature = signature;
        let mut builder = FunctionBuilder::new(&mut self.context.func, &mut self.builder);
        build(&mut builder);
        builder.seal_all_blocks();
        builder.finalize(self.isa.frontend_config());
        if let Err(error) = self.context.compile(&*self.isa, &mut self.control) {
            let text = error.func.display().to_string();
            return Err(CompileError(format!("{:?} in {text}", error.inner)));
        }
        self.finished()
    }

    /// What the context has compiled, in our terms.
    fn finished(&self) -> Result<CompiledCode, CompileError> {
        let compiled = self.context.compiled_code().expect("just compiled");
        let buffer = &compiled.buffer;
        let relocations = buffer.relocs().iter().map(|found| {
            let FinalizedRelocTarget::ExternalName(ir::ExternalName::User(name)) = found.target
            else {
                return Err(CompileError(format!("a relocation of our own: {found:?}")));
            };
            if found.kind != Reloc::Abs8 || found.addend != 0 {
                return Err(CompileError(format!("a relocation in full: {found:?}")));
            }
            Ok(Relocation {
                offset: found.offset,
                address: Address(self.context.func.params.user_named_funcs()[name].index),
            })
        });
        let relocations = relocations.collect::<Result<Vec<_>, _>>()?;
        let lines = buffer.get_srclocs_sorted();
        let line_of = |offset: u32| {
            let next = lines.partition_point(|line| line.start < offset);
            next.checked_sub(1)
                .map_or(0, |index| lines[index].loc.bits())
        };
        let call_sites = buffer.call_sites().map(|site| CallSite {
            return_offset: site.ret_addr,
            handler: site
                .exception_handlers
                .iter()
                .find_map(|handler| match handler {
                    FinalizedMachExceptionHandler::Default(offset)
                    | FinalizedMachExceptionHandler::Tag(_, offset) => Some(*offset),
                    FinalizedMachExceptionHandler::Context(_) => None,
                }),
            frame_offset: site.frame_offset.unwrap_or(0),
            at: line_of(site.ret_addr),
        });
        let stack_maps = buffer
            .user_stack_maps()
            .iter()
            .map(|(offset, _, map)| StackMap {
                return_offset: *offset,
                slots: map.entries().map(|(_, slot)| slot).collect(),
            });
        Ok(CompiledCode {
            call_sites: call_sites.collect(),
            stack_maps: stack_maps.collect(),
            relocations,
            bytes: compiled.code_buffer().to_vec(),
        })
    }
}

/// The value of an address that is known when the code is installed.
pub(crate) fn address_value(b: &mut FunctionBuilder<'_>, address: Address) -> ir::Value {
    let name = b
        .func
        .declare_imported_user_function(ir::UserExternalName::new(0, address.0));
    let symbol = b.create_global_value(ir::GlobalValueData::Symbol {
        name: ir::ExternalName::User(name),
        offset: 0.into(),
        colocated: false,
        tls: false,
    });
    b.ins().symbol_value(ir::types::I64, symbol)
}

/// A signature of the managed convention.
pub(crate) fn managed(
    params: impl IntoIterator<Item = ir::Type>,
    result: Option<ir::Type>,
) -> ir::Signature {
    signature(CallConv::Tail, params, result)
}

/// A signature of entry points that leave every register as it was.
pub(crate) fn preserving(params: impl IntoIterator<Item = ir::Type>) -> ir::Signature {
    signature(CallConv::PreserveAll, params, None)
}

/// A signature of C's convention.
pub(crate) fn foreign(
    params: impl IntoIterator<Item = ir::Type>,
    result: Option<ir::Type>,
) -> ir::Signature {
    signature(CallConv::SystemV, params, result)
}

fn signature(
    convention: CallConv,
    params: impl IntoIterator<Item = ir::Type>,
    result: Option<ir::Type>,
) -> ir::Signature {
    let mut signature = ir::Signature::new(convention);
    signature
        .params
        .extend(params.into_iter().map(ir::AbiParam::new));
    signature.returns.extend(result.map(ir::AbiParam::new));
    signature
}
