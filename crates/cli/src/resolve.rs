// SPDX-License-Identifier: Apache-2.0
//! `takt resolve`: which components of these packages take an intent?

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use apk::{Apk, ComponentKind};
use intent::{Filter, Intent, Match, Resolved, Resolver, Uri};
use serde::Serialize;
use server::packages::filter;

use crate::EXIT_FAILED;

/// Which components of these packages take an intent, and in which order?
///
/// Filters of the manifests are matched as Android matches them. The first row is what is asked
/// first: greater priority, then a closer match. Activities must have the category DEFAULT, as
/// startActivity asks for; --all does without. Exit code: 0 found, 2 nothing takes it.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  takt resolve -a android.intent.action.MAIN --all target/framework/apps/widgets.apk"
)]
pub(crate) struct Args {
    /// The packages
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// What is to be done
    #[arg(short, long)]
    action: Option<String>,
    /// With what: an address
    #[arg(short, long)]
    data: Option<String>,
    /// Its MIME type
    #[arg(short = 't', long = "type")]
    mime_type: Option<String>,
    /// What who takes it must be; may be repeated
    #[arg(short, long)]
    category: Vec<String>,
    /// Only this package
    #[arg(short, long)]
    package: Option<String>,
    /// What is looked for
    #[arg(short, long, value_enum, default_value_t = Kind::Activity)]
    kind: Kind,
    /// Activities without the category DEFAULT too
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Activity,
    Service,
    Receiver,
    Provider,
}

impl Kind {
    fn has(self, kind: ComponentKind) -> bool {
        match self {
            Self::Activity => kind.is_activity(),
            Self::Service => kind == ComponentKind::Service,
            Self::Receiver => kind == ComponentKind::Receiver,
            Self::Provider => kind == ComponentKind::Provider,
        }
    }
}

/// Whose filter it is.
#[derive(Clone, PartialEq, Eq)]
struct Owner {
    package: String,
    name: String,
    is_exported: bool,
}

#[derive(Serialize)]
struct Json {
    program: &'static str,
    version: &'static str,
    components: Vec<Row>,
}

/// A component that takes the intent.
#[derive(Serialize)]
struct Row {
    package: String,
    component: String,
    priority: i32,
    /// By what the filter matches.
    by: &'static str,
    is_default: bool,
    is_exported: bool,
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut resolver = Resolver::default();
    for file in &args.files {
        let bytes = crate::apk::read(file)?;
        let package = Apk::parse(&bytes).map_err(|it| anyhow!("{}: {it}", file.display()))?;
        add(&mut resolver, &package.manifest, args.kind)
            .map_err(|it| anyhow!("{}: {it}", file.display()))?;
    }
    let intent = Intent {
        action: args.action.clone(),
        data: args.data.clone().map(Uri::new),
        kind: args.mime_type.clone(),
        categories: args.category.iter().cloned().collect(),
        package: args.package.clone(),
        ..Intent::default()
    };
    let default_only = args.kind == Kind::Activity && !args.all;
    let rows = rows(resolver.query(&intent, default_only));
    let is_found = !rows.is_empty();
    if args.json {
        let json = Json {
            program: "takt resolve",
            version: env!("CARGO_PKG_VERSION"),
            components: rows,
        };
        println!("{}", serde_json::to_string_pretty(&json)?);
    } else {
        for row in rows {
            let seen = if row.is_exported {
                ""
            } else {
                ", not exported"
            };
            let (package, component) = (row.package, row.component);
            println!(
                "{package}/{component}: by {}, priority {}{seen}",
                row.by, row.priority
            );
        }
    }
    if is_found {
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("takt: no {} takes it", name(args.kind));
    Ok(ExitCode::from(EXIT_FAILED))
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Activity => "activity",
        Kind::Service => "service",
        Kind::Receiver => "receiver",
        Kind::Provider => "provider",
    }
}

/// Each component once, the most important first.
fn rows(mut found: Vec<Resolved<'_, Owner>>) -> Vec<Row> {
    let mut seen: Vec<&Owner> = Vec::new();
    found.retain(|it| {
        let is_new = !seen.contains(&it.owner);
        seen.push(it.owner);
        is_new
    });
    let is_default = |it: &Filter| it.has_category(intent::CATEGORY_DEFAULT);
    found.sort_by_key(|it| {
        let rank = (it.filter.priority, is_default(it.filter), it.closeness);
        core::cmp::Reverse(rank)
    });
    let row = |it: Resolved<'_, Owner>| Row {
        package: it.owner.package.clone(),
        component: it.owner.name.clone(),
        priority: it.filter.priority,
        by: by(it.closeness),
        is_default: is_default(it.filter),
        is_exported: it.owner.is_exported,
    };
    found.into_iter().map(row).collect()
}

fn by(closeness: Match) -> &'static str {
    match closeness {
        Match::Empty => "action",
        Match::Scheme => "scheme",
        Match::Host => "host",
        Match::Port => "port",
        Match::Path => "path",
        Match::SchemeSpecificPart => "scheme-specific part",
        Match::Type => "type",
    }
}

fn add(resolver: &mut Resolver<Owner>, manifest: &apk::Manifest, kind: Kind) -> Result<(), String> {
    let application = &manifest.application;
    let enabled = application
        .components
        .iter()
        .filter(|it| it.is_enabled && application.is_enabled);
    for component in enabled.filter(|it| kind.has(it.kind)) {
        for declared in &component.intent_filters {
            let owner = Owner {
                package: manifest.package.clone(),
                name: component.name.clone(),
                is_exported: component.is_exported,
            };
            let filter = filter(declared).map_err(|it| format!("{}: {it}", component.name))?;
            resolver.add(owner, &manifest.package, filter);
        }
    }
    Ok(())
}
