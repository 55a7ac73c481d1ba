// SPDX-License-Identifier: Apache-2.0
//! `takt apk info`: what is in a package, does it hold, and what of it does Takt support?

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use apk::{Apk, Component, ComponentKind, Manifest, Scheme, Signatures};
use clap::Subcommand;
use dex::DexFile;
use serde::Serialize;

use crate::EXIT_FAILED;

/// The API level of the framework that applications run on here.
const FRAMEWORK_SDK: u32 = 35;
/// Of a package: it is held in memory as a whole, and the format ends at twice as much.
const PACKAGE_BYTES_MAX: u64 = 2 << 30;
/// The machine architecture of native libraries that could be loaded.
pub(crate) const HOST_ABI: &str = "x86_64";

/// Android packages.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Manifest, code and signatures of a package, all verified.
    ///
    /// A package that is broken, or whose signature does not hold, is refused with the entry, the
    /// offset and the fault. Exit code: 0 sound, 2 refused.
    #[command(after_help = "Example:\n  takt apk info app.apk --json")]
    Info {
        /// The package
        file: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Serialize)]
struct Json<'a> {
    program: &'static str,
    version: &'static str,
    file: &'a Path,
    #[serde(flatten)]
    outcome: Outcome<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
enum Outcome<'a> {
    Sound(Box<Report<'a>>),
    Refused { fault: String },
}

/// All that was found in a sound package.
#[derive(Serialize)]
struct Report<'a> {
    manifest: &'a Manifest,
    signatures: Signatures,
    /// Which scheme decides.
    signature_scheme: &'static str,
    dex: Vec<DexSummary>,
    native_abis: Vec<String>,
    /// What Takt does not do with it.
    remarks: Vec<String>,
}

#[derive(Serialize)]
struct DexSummary {
    entry: String,
    version: String,
    classes: u32,
    methods: usize,
    /// 16-bit units of code, payloads included.
    code_units: u64,
    is_sha1_sound: bool,
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let Command::Info { file, json } = &args.command;
    let bytes = read(file)?;
    let package = Apk::parse(&bytes);
    let outcome = match &package {
        Err(error) => Err(error.to_string()),
        Ok(package) => examine(package),
    };
    let outcome = match outcome {
        Ok(report) => Outcome::Sound(Box::new(report)),
        Err(fault) => Outcome::Refused { fault },
    };
    let code = match &outcome {
        Outcome::Sound(report) if !json => {
            print(report);
            ExitCode::SUCCESS
        }
        Outcome::Refused { fault } if !json => {
            eprintln!("takt: {}: refused: {fault}", file.display());
            ExitCode::from(EXIT_FAILED)
        }
        Outcome::Sound(_) => ExitCode::SUCCESS,
        Outcome::Refused { .. } => ExitCode::from(EXIT_FAILED),
    };
    if *json {
        let version = env!("CARGO_PKG_VERSION");
        let json = Json {
            program: "takt apk info",
            version,
            file,
            outcome,
        };
        println!("{}", serde_json::to_string_pretty(&json)?);
    }
    Ok(code)
}

/// The file at once: of a size that an archive can have, and no device or pipe.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>> {
    let cannot_read = || format!("cannot read {}", file.display());
    let metadata = std::fs::metadata(file).with_context(cannot_read)?;
    ensure!(metadata.is_file(), "{} is not a file", file.display());
    let mut bytes = Vec::new();
    let mut content = File::open(file)
        .with_context(cannot_read)?
        .take(PACKAGE_BYTES_MAX + 1);
    content.read_to_end(&mut bytes).with_context(cannot_read)?;
    let is_too_large = bytes.len() as u64 > PACKAGE_BYTES_MAX;
    ensure!(
        !is_too_large,
        "{}: more than {PACKAGE_BYTES_MAX} bytes",
        file.display()
    );
    Ok(bytes)
}

/// Refuses a package whose code or signature does not hold, the error is the fault; gives the
/// certificates of the signers that were verified.
pub(crate) fn verify(package: &Apk<'_>) -> Result<Vec<String>, String> {
    let report = examine(package)?;
    Ok(match report.signatures.verdict() {
        (_, Scheme::Verified(certificates)) => certificates.clone(),
        _ => Vec::new(),
    })
}

/// Verifies what `Apk::parse` has left: code and signatures. The error is the fault.
fn examine<'a>(package: &'a Apk<'_>) -> Result<Report<'a>, String> {
    let manifest = &package.manifest;
    let entries = package.dex_entries();
    if manifest.application.has_code && entries.is_empty() {
        return Err(
            "classes.dex: no such entry, and the manifest says that the application has code"
                .into(),
        );
    }
    let dex = entries
        .into_iter()
        .map(|entry| DexSummary::of(package, entry))
        .collect::<Result<Vec<_>, _>>()?;
    let signatures = Signatures::check(&package.archive);
    let (signature_scheme, verdict) = signatures.verdict();
    if let Scheme::Refused(fault) = verdict {
        return Err(format!("signature {signature_scheme}: {fault}"));
    }
    let native_abis: Vec<String> = package
        .native_abis()
        .into_iter()
        .map(str::to_owned)
        .collect();
    let remarks = remarks(manifest, verdict, &dex, &native_abis);
    Ok(Report {
        manifest,
        signature_scheme,
        signatures,
        dex,
        native_abis,
        remarks,
    })
}

impl DexSummary {
    fn of(package: &Apk<'_>, entry: String) -> Result<Self, String> {
        let bytes = package
            .archive
            .read_dense(&entry)
            .map_err(|it| it.to_string())?;
        let file = DexFile::parse(&bytes).map_err(|it| format!("{entry}: {it}"))?;
        let mut summary = Self {
            version: format!("{:03}", file.version()),
            classes: file.class_count(),
            methods: 0,
            code_units: 0,
            is_sha1_sound: file.is_signature_sound(),
            entry,
        };
        for class in file.classes() {
            let data = class.data(&file);
            summary.methods += data.methods().count();
            let units = data
                .methods()
                .filter_map(|it| it.code(&file))
                .map(|it| it.unit_count());
            summary.code_units += units.map(u64::from).sum::<u64>();
        }
        Ok(summary)
    }
}

fn remarks(
    manifest: &Manifest,
    verdict: &Scheme,
    dex: &[DexSummary],
    abis: &[String],
) -> Vec<String> {
    let mut remarks = Vec::new();
    match verdict {
        Scheme::Absent => remarks.push("not signed: Android would not install it".to_owned()),
        Scheme::Unchecked(what) => remarks.push(format!("signature not verified: {what}")),
        Scheme::Verified(_) | Scheme::Refused(_) => {}
    }
    if manifest.min_sdk > FRAMEWORK_SDK {
        remarks.push(format!(
            "needs API level {}; the framework here is that of level {FRAMEWORK_SDK}",
            manifest.min_sdk
        ));
    }
    if !abis.is_empty() && !abis.iter().any(|it| it == HOST_ABI) {
        let list = abis.join(", ");
        remarks.push(format!(
            "has native libraries for {list} only, not for {HOST_ABI}"
        ));
    }
    for stale in dex.iter().filter(|it| !it.is_sha1_sound) {
        remarks.push(format!(
            "{}: its SHA-1 is stale; as Android, we do not mind",
            stale.entry
        ));
    }
    remarks
}

fn print(report: &Report<'_>) {
    let manifest = report.manifest;
    let row = |name: &str, text: &str| println!("{name:<12} {text}");
    let version = manifest.version_name.as_deref().unwrap_or("no name");
    row(
        "package",
        &format!(
            "{} version {} ({version})",
            manifest.package, manifest.version_code
        ),
    );
    row(
        "label",
        manifest.application.label.as_deref().unwrap_or("none"),
    );
    row(
        "API level",
        &format!(
            "{} or later, written for {}",
            manifest.min_sdk, manifest.target_sdk
        ),
    );
    let schemes = [
        ("v1", &report.signatures.v1),
        ("v2", &report.signatures.v2),
        ("v3", &report.signatures.v3),
    ];
    for (name, scheme) in schemes {
        if *scheme != Scheme::Absent {
            row(&format!("signature {name}"), &scheme_text(scheme));
        }
    }
    for dex in &report.dex {
        let DexSummary {
            entry,
            version,
            classes,
            methods,
            code_units,
            ..
        } = dex;
        row(
            entry,
            &format!(
                "version {version}, {classes} classes, {methods} methods, {code_units} code units"
            ),
        );
    }
    for component in &manifest.application.components {
        row(kind_name(component.kind), &component_text(component));
    }
    for permission in &manifest.uses_permissions {
        row("permission", permission);
    }
    for remark in &report.remarks {
        row("remark", remark);
    }
}

fn scheme_text(scheme: &Scheme) -> String {
    match scheme {
        Scheme::Absent => "absent".to_owned(),
        Scheme::Verified(signers) => {
            format!("verified, certificate SHA-256 {}", signers.join(" and "))
        }
        Scheme::Unchecked(what) => format!("not verified: {what}"),
        Scheme::Refused(fault) => format!("does not hold, but a newer scheme does: {fault}"),
    }
}

fn kind_name(kind: ComponentKind) -> &'static str {
    match kind {
        ComponentKind::Activity => "activity",
        ComponentKind::ActivityAlias => "alias",
        ComponentKind::Service => "service",
        ComponentKind::Receiver => "receiver",
        ComponentKind::Provider => "provider",
    }
}

fn component_text(component: &Component) -> String {
    let actions: Vec<&str> = component
        .intent_filters
        .iter()
        .flat_map(|it| it.actions.iter().map(String::as_str))
        .collect();
    let mut text = component.name.clone();
    if let Some(target) = &component.target {
        text += &format!(" -> {target}");
    }
    if component.is_exported {
        text += ", exported";
    }
    if !component.authorities.is_empty() {
        text += &format!(", authorities {}", component.authorities.join(" "));
    }
    if !actions.is_empty() {
        text += &format!(", for {}", actions.join(" "));
    }
    text
}
