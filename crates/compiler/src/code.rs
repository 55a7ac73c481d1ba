// SPDX-License-Identifier: Apache-2.0
//! [`Compiler`] and what it gives.

use core::fmt;

use cranelift_codegen::{
    Context, FinalizedMachExceptionHandler, FinalizedRelocTarget,
    binemit::Reloc,
    control::ControlPlane,
    ir::{self, InstBuilder},
    isa::{CallConv, OwnedTargetIsa, TargetIsa},
    settings::{self, Configurable},
    verify_function,
};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use smallvec::SmallVec;

use crate::{Address, Linker, Passes, piecewise::PARTS, safepoint::References};

/// Code with its tables. Offsets are from the code's start.
#[derive(Clone, Debug, Default)]
pub struct CompiledCode {
    /// Machine code that reads addresses from a table, wherever both lie.
    pub bytes: Vec<u8>,
    /// Every call, by return address.
    pub call_sites: Vec<CallSite>,
    /// References in the frame, by return address.
    pub stack_maps: Vec<StackMap>,
    /// Where code reads an address from its table.
    pub relocations: Vec<Relocation>,
    /// The places of the calls that inlined bodies stand for, by scope: the first is of scope 1.
    pub inlined: Vec<u32>,
    /// The places of calls whose receivers it counts, by cell.
    pub counted: Vec<u32>,
    /// The places of calls whose likely receivers it was told: [`Profile`](crate::Profile).
    pub profiled: Vec<u32>,
}

/// A place in code that waits for the way to an address in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relocation {
    /// Where its four bytes are.
    pub offset: u32,
    /// Which.
    pub address: Address,
}

impl CompiledCode {
    /// Has code that will lie at `code` read its addresses from a table at `table`: address by
    /// number, 8 bytes each.
    ///
    /// # Panics
    /// When they are more than 2 GiB apart.
    pub fn link(&mut self, code: u64, table: u64) {
        for relocation in &self.relocations {
            let Address(number) = relocation.address;
            let next = code + u64::from(relocation.offset) + 4;
            let distance = (table + u64::from(number) * 8) as i64 - next as i64;
            let distance = i32::try_from(distance).expect("a table is near its code");
            let at = relocation.offset as usize;
            self.bytes[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
    }

    /// As it was before [`Self::link`].
    pub fn unlink(&mut self) {
        for relocation in &self.relocations {
            let at = relocation.offset as usize;
            self.bytes[at..at + 4].fill(0);
        }
    }
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
    /// The place of the IR instruction: see [`scope_and_offset`](crate::scope_and_offset).
    pub at: u32,
}

/// References live across one call.
#[derive(Clone, Debug)]
pub struct StackMap {
    /// Where the callee returns to.
    pub return_offset: u32,
    /// Bytes from the stack pointer at the call.
    pub slots: SmallVec<[u32; 4]>,
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

/// In place of an instruction's offset: the call of a large method's first piece, whose frame is no
/// method's.
pub const HIDDEN: u32 = u32::MAX - 1;

/// One function of Cranelift's: a method's whole code, or a part of it.
pub(crate) struct Part {
    pub(crate) code: CompiledCode,
    /// Where the distance to another part goes, and which.
    pub(crate) jumps: Vec<(u32, u32)>,
}

/// How much compiling is worth.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    Usual,
    /// As little as may be.
    Least,
}

/// Reusable state of one compiling thread.
pub struct Compiler {
    pub(crate) isa: OwnedTargetIsa,
    /// For pieces of large methods and what runs once.
    quick: OwnedTargetIsa,
    /// Every method is compiled in pieces.
    pub(crate) cuts_all: bool,
    /// What is done to a method's IR first.
    pub(crate) passes: Passes,
    context: Context,
    builder: FunctionBuilderContext,
    references: References,
    control: ControlPlane,
}

impl Compiler {
    /// For the processor this runs on, or for every one of its kind.
    pub fn host(is_portable: bool) -> Result<Self, CompileError> {
        Ok(Self::of(
            target(is_portable, &[("opt_level", "speed")])?,
            target(is_portable, &QUICK)?,
        ))
    }

    fn of(isa: OwnedTargetIsa, quick: OwnedTargetIsa) -> Self {
        Self {
            isa,
            quick,
            cuts_all: false,
            passes: Passes::ALL,
            context: Context::new(),
            builder: FunctionBuilderContext::new(),
            references: References::default(),
            control: ControlPlane::default(),
        }
    }

    /// One more that makes the same code, for another thread.
    #[must_use]
    pub fn another(&self) -> Self {
        Self {
            cuts_all: self.cuts_all,
            passes: self.passes,
            ..Self::of(self.isa.clone(), self.quick.clone())
        }
    }

    /// Compiles every method as if it were large: for tests of that.
    pub fn cutting_all(self) -> Self {
        Self {
            cuts_all: true,
            ..self
        }
    }

    /// Makes these passes alone.
    pub fn with_passes(self, passes: Passes) -> Self {
        Self { passes, ..self }
    }

    /// The instruction set and every setting that code depends on.
    pub fn target(&self) -> String {
        let settings: Vec<String> = self
            .isa
            .isa_flags()
            .iter()
            .map(ToString::to_string)
            .collect();
        let (triple, flags) = (self.isa.triple(), self.isa.flags());
        let (quick, cuts_all, passes) = (self.quick.flags(), self.cuts_all, self.passes);
        format!("{triple} {flags} {settings:?} {quick} {cuts_all} {passes:?}")
    }

    /// Builds one function by `build` and compiles it.
    pub(crate) fn compile(
        &mut self,
        signature: ir::Signature,
        build: impl FnOnce(&mut FunctionBuilder<'_>, &mut References),
    ) -> Result<CompiledCode, CompileError> {
        self.build(signature, build);
        self.whole(Effort::Usual)
    }

    /// Compiles what was built.
    pub(crate) fn whole(&mut self, effort: Effort) -> Result<CompiledCode, CompileError> {
        let part = self.part(effort)?;
        debug_assert!(part.jumps.is_empty(), "one function is the whole");
        Ok(part.code)
    }

    /// As [`Self::whole`], if a part of a large method was built.
    pub(crate) fn part(&mut self, effort: Effort) -> Result<Part, CompileError> {
        let isa = match effort {
            Effort::Usual => &self.isa,
            Effort::Least => &self.quick,
        };
        run(&**isa, &mut self.context, &mut self.control)?;
        self.finished()
    }

    /// Shows what was built.
    pub(crate) fn show(&self, linker: &mut dyn Linker) {
        linker.show("Cranelift's form", &self.context.func);
    }

    /// Builds one function by `build`.
    pub(crate) fn build(
        &mut self,
        signature: ir::Signature,
        build: impl FnOnce(&mut FunctionBuilder<'_>, &mut References),
    ) {
        self.context.clear();
        self.context.func.signature = signature;
        let mut builder = FunctionBuilder::new(&mut self.context.func, &mut self.builder);
        self.references.clear();
        build(&mut builder, &mut self.references);
        builder.seal_all_blocks();
        builder.finalize(self.isa.frontend_config());
        if self.references.replace_objects(&mut self.context.func) {
            debug_assert_eq!(self.verified(), Ok(()));
        }
        self.references.name(&mut self.context.func);
    }

    /// Whether Cranelift takes the function for sound.
    fn verified(&self) -> Result<(), String> {
        let function = &self.context.func;
        let verified = verify_function(function, &*self.isa);
        verified.map_err(|errors| format!("{errors}\n{function}"))
    }

    /// What the context has compiled, in our terms.
    fn finished(&self) -> Result<Part, CompileError> {
        let compiled = self.context.compiled_code().expect("just compiled");
        let buffer = &compiled.buffer;
        let (mut relocations, mut jumps) = (Vec::new(), Vec::new());
        for found in buffer.relocs() {
            let FinalizedRelocTarget::ExternalName(ir::ExternalName::User(name)) = found.target
            else {
                return Err(CompileError(format!("a relocation of our own: {found:?}")));
            };
            let name = &self.context.func.params.user_named_funcs()[name];
            let (offset, address) = (found.offset, Address(name.index));
            match (found.kind, found.addend, name.namespace) {
                (Reloc::X86GOTPCRel4, -4, ADDRESSES) => {
                    relocations.push(Relocation { offset, address });
                }
                (Reloc::X86CallPCRel4, -4, PARTS) => jumps.push((offset, name.index)),
                _ => {
                    return Err(CompileError(format!(
                        "a relocation of another kind: {found:?}"
                    )));
                }
            }
        }
        let lines = buffer.get_srclocs_sorted();
        let line_of = |offset: u32| {
            let next = lines.partition_point(|line| line.start < offset);
            let found = next.checked_sub(1).map(|index| &lines[index]);
            let found = found.filter(|line| offset <= line.end && !line.loc.is_default());
            found.map_or(0, |line| line.loc.bits())
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
        let code = CompiledCode {
            call_sites: call_sites.collect(),
            stack_maps: stack_maps.collect(),
            relocations,
            bytes: compiled.code_buffer().to_vec(),
            ..CompiledCode::default()
        };
        Ok(Part { code, jumps })
    }
}

/// Settings for the least effort.
const QUICK: [(&str, &str); 2] = [("opt_level", "none"), ("regalloc_algorithm", "single_pass")];

/// The processor with our settings and `more`.
fn target(is_portable: bool, more: &[(&str, &str)]) -> Result<OwnedTargetIsa, CompileError> {
    let mut flags = settings::builder();
    let settings = [
        ("preserve_frame_pointers", "true"),
        ("enable_pinned_reg", "true"),
        // Addresses come from a table near the code (`CompiledCode::link`), so all processes can
        // map one file of code.
        ("is_pic", "true"),
        ("unwind_info", "false"),
        ("enable_heap_access_spectre_mitigation", "false"),
        ("enable_table_access_spectre_mitigation", "false"),
        ("enable_verifier", if cfg!(test) { "true" } else { "false" }),
    ];
    for (name, value) in settings.iter().chain(more) {
        flags
            .set(name, value)
            .map_err(|error| CompileError(error.to_string()))?;
    }
    cranelift_native::builder_with_options(!is_portable)
        .map_err(|error| CompileError(error.into()))?
        .finish(settings::Flags::new(flags))
        .map_err(|error| CompileError(error.to_string()))
}

fn run(
    isa: &dyn TargetIsa,
    context: &mut Context,
    control: &mut ControlPlane,
) -> Result<(), CompileError> {
    match context.compile(isa, control) {
        Ok(_) => Ok(()),
        Err(error) => Err(CompileError(format!("{:?}", error.inner))),
    }
}

/// The name space of addresses that are known when code is installed.
const ADDRESSES: u32 = 0;

/// The value of an address that is known when the code is installed: one load from the code's
/// table.
pub(crate) fn address_value(b: &mut FunctionBuilder<'_>, address: Address) -> ir::Value {
    let symbol = address_symbol(b.func, address);
    b.ins().symbol_value(ir::types::I64, symbol)
}

/// What an address is called in a function.
pub(crate) fn address_symbol(function: &mut ir::Function, address: Address) -> ir::GlobalValue {
    let name =
        function.declare_imported_user_function(ir::UserExternalName::new(ADDRESSES, address.0));
    function.create_global_value(ir::GlobalValueData::Symbol {
        name: ir::ExternalName::User(name),
        offset: 0.into(),
        colocated: false,
        tls: false,
    })
}

/// The address of that name.
pub(crate) fn address_of(function: &ir::Function, name: &ir::ExternalName) -> Option<Address> {
    let ir::ExternalName::User(name) = *name else {
        return None;
    };
    let name = &function.params.user_named_funcs()[name];
    (name.namespace == ADDRESSES).then_some(Address(name.index))
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
