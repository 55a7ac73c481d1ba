// SPDX-License-Identifier: Apache-2.0
//! `takt dex dump`: the code of a DEX file or package, disassembled.

use std::borrow::Cow;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use apk::Archive;
use clap::Subcommand;
use dex::{ClassDef, Code, DexFile, Listing, Method};

/// DEX files.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Classes, methods and instructions, in the form of Android's dexdump.
    #[command(after_help = "Example:\n  takt dex dump app.apk --class org.example.Main")]
    Dump {
        /// A DEX file, or a package: all DEX files in it
        file: PathBuf,
        /// Only this class, as org.example.Name
        #[arg(long)]
        class: Option<String>,
    },
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let Command::Dump { file, class } = &args.command;
    let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let wanted = class
        .as_ref()
        .map(|it| format!("L{};", it.replace('.', "/")));
    let mut found = false;
    for (name, bytes) in dex_files(file, &bytes)? {
        let dex = DexFile::parse(&bytes).map_err(|it| anyhow!("{name}: {it}"))?;
        writeln!(
            out,
            "{name}: version {:03}, {} classes",
            dex.version(),
            dex.class_count()
        )?;
        for class in dex.classes() {
            if wanted
                .as_ref()
                .is_none_or(|it| *it == dex.descriptor(class.class))
            {
                found = true;
                dump_class(&mut out, &dex, &class)?;
            }
        }
    }
    out.flush()?;
    match class {
        Some(class) if !found => bail!("{}: no class {class}", file.display()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn dex_files<'a>(file: &Path, bytes: &'a [u8]) -> Result<Vec<(String, Cow<'a, [u8]>)>> {
    if !bytes.starts_with(b"PK") {
        return Ok(vec![(file.display().to_string(), Cow::Borrowed(bytes))]);
    }
    let archive = Archive::parse(bytes).map_err(|it| anyhow!("{}: {it}", file.display()))?;
    let names = archive.entries().map(|(name, _)| name);
    names
        .filter(|it| it.ends_with(".dex") && !it.contains('/'))
        .map(|it| Ok((it.to_owned(), archive.read(it)?)))
        .collect()
}

fn dump_class(out: &mut impl Write, dex: &DexFile<'_>, class: &ClassDef) -> Result<()> {
    let superclass = class
        .superclass
        .map_or("nothing".to_owned(), |it| dex.descriptor(it));
    writeln!(
        out,
        "\nclass {} extends {superclass}, access {:#x}",
        dex.descriptor(class.class),
        class.access
    )?;
    for interface in class.interfaces(dex).iter() {
        writeln!(out, "  implements {}", dex.descriptor(interface))?;
    }
    let data = class.data(dex);
    for field in data.static_fields.iter().chain(&data.instance_fields) {
        let id = dex.field(field.field);
        let (name, kind) = (dex.text(id.name), dex.descriptor(id.kind));
        writeln!(out, "  field {name}:{kind}, access {:#x}", field.access)?;
    }
    for method in data.methods() {
        dump_method(out, dex, method)?;
    }
    Ok(())
}

fn dump_method(out: &mut impl Write, dex: &DexFile<'_>, method: &Method) -> Result<()> {
    let listing = Listing::new(dex);
    writeln!(
        out,
        "  method {}, access {:#x}",
        listing.method(method.method),
        method.access
    )?;
    let Some(code) = method.code(dex) else {
        return Ok(());
    };
    let Code {
        registers,
        ins,
        outs,
        ..
    } = code;
    writeln!(out, "    registers {registers}, in {ins}, out {outs}")?;
    if let Err(fault) = method.check_code(dex) {
        writeln!(out, "    no code that may run: {fault}")?;
        return Ok(());
    }
    for (pc, unit) in code.units() {
        writeln!(
            out,
            "    |{}",
            listing.line(pc, &unit.expect("`check_code` has decoded it"))
        )?;
    }
    for it in &code.tries {
        let handlers = &code.handlers[it.handlers];
        write!(
            out,
            "    try {:04x}..{:04x}",
            it.start,
            it.start + u32::from(it.count)
        )?;
        for (kind, address) in &handlers.typed {
            write!(out, ", {} -> {address:04x}", dex.descriptor(*kind))?;
        }
        if let Some(address) = handlers.catch_all {
            write!(out, ", any -> {address:04x}")?;
        }
        writeln!(out)?;
    }
    for (pc, line) in code.debug_info(dex).iter().flat_map(|it| it.lines()) {
        writeln!(out, "    line {line} at {pc:04x}")?;
    }
    Ok(())
}
