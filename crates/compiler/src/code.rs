// SPDX-License-Identifier: Apache-2.0
//! [`Compiler`] and what it gives.

use core::fmt;

use cranelift_codegen::{
    Context, FinalizedMachExceptionHandler,
    control::ControlPlane,
    ir,
    isa::{CallConv, OwnedTargetIsa},
    settings::{self, Configurable},
};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

/// Code with its tables. Offsets are from the code's start.
#[derive(Clone, Debug, Default)]
pub struct CompiledCode {
    /// Position-independent machine code.
    pub bytes: Vec<u8>,
    /// Every call, by return address.
    pub call_sites: Vec<CallSite>,
    /// References in the frame, by return address.
    pub stack_maps: Vec<StackMap>,
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
    /// For the processor this runs on.
    pub fn host() -> Result<Self, CompileError> {
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
        let isa = cranelift_native::builder()
            .map_err(|error| CompileError(error.into()))?
            .finish(settings::Flags::new(flags))
            .map_err(|error| CompileError(error.to_string()))?;
        Ok(Self {
            isa,
            context: Context::new(),
            builder: FunctionBuilderContext::new(),
            control: ControlPlane::default(),
        })
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
        let compiled = self
            .context
            .compile(&*self.isa, &mut self.control)
            .map_err(|error| {
                let text = error.func.display().to_string();
                CompileError(format!("{:?} in {text}", error.inner))
            })?;
        let buffer = &compiled.buffer;
        if !buffer.relocs().is_empty() {
            return Err(CompileError(format!("relocations: {:?}", buffer.relocs())));
        }
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
            bytes: compiled.code_buffer().to_vec(),
        })
    }
}

/// A signature of the managed convention.
pub(crate) fn managed(
    params: impl IntoIterator<Item = ir::Type>,
    result: Option<ir::Type>,
) -> ir::Signature {
    signature(CallConv::Tail, params, result)
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
