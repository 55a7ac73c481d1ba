// SPDX-License-Identifier: Apache-2.0
//! Options of the machine, as the launcher hands them over.

use std::path::PathBuf;
use std::sync::OnceLock;

use heap::CollectorKind;

/// What was asked for.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) java_home: String,
    /// `-D` and what stands for a property, in order.
    pub(crate) properties: Vec<(String, String)>,
    pub(crate) heap_bytes_max: u64,
    /// `-Xms`: memory of the heap from the start on.
    pub(crate) heap_bytes_start: Option<u64>,
    /// `-XX:+AlwaysPreTouch`: the whole heap is made resident, and locked where that is granted, before anything runs.
    pub(crate) is_heap_touched: bool,
    pub(crate) collector: CollectorKind,
    /// `--realtime`: the heap is in memory, and the collector runs in the slack that real-time threads leave.
    pub(crate) is_real_time: bool,
    pub(crate) stack_scan: StackScan,
    /// The heap is checked when the program is over, and every root that a stack map names.
    pub(crate) is_verifying: bool,
    /// Whether the boot loader's classes are checked and proven like all others.
    pub(crate) is_library_verified: bool,
    /// A line for each collection.
    pub(crate) is_verbose_gc: bool,
    pub(crate) is_verbose_class: bool,
    pub(crate) is_verbose_compile: bool,
    /// `--report`: figures at the end.
    pub(crate) is_reporting: bool,
    /// `--report=FILE`: the same as JSON.
    pub(crate) report_file: Option<PathBuf>,
    /// `--realtime-list=FILE`: what real-time threads need, beside what the machine finds.
    pub(crate) real_time_list: Option<PathBuf>,
    /// `--realtime-strict`: real-time threads run in real time or not at all.
    pub(crate) is_strictly_real_time: bool,
    /// Code uses no instruction that only some processors have: it is made here and runs elsewhere.
    pub(crate) is_code_portable: bool,
    /// Where compiled code is kept; nowhere if there is no such place.
    pub(crate) code_root: Option<PathBuf>,
    /// Names of classes to be compiled instead of running a program.
    pub(crate) compile_list: Option<PathBuf>,
    /// `-ea` for all classes of applications.
    pub(crate) has_assertions: bool,
    /// `-Xrs`: HUP, INT and TERM end the process without hooks.
    pub(crate) has_reduced_signals: bool,
    /// Arguments that are not properties, for `RuntimeMXBean`.
    pub(crate) arguments: Vec<String>,
}

/// How the collector looks at managed frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StackScan {
    /// By the stack maps of compiled code.
    Exact,
    /// Any word may be a reference: to compare with.
    Conservative,
}

/// Heap unless `-Xmx` says otherwise.
const HEAP_BYTES_DEFAULT: u64 = 2 << 30;

static OPTIONS: OnceLock<Options> = OnceLock::new();

pub(crate) fn get() -> &'static Options {
    OPTIONS.get().expect("options are read first")
}

/// Reads the launcher's options. Unknown `-XX` ones are named and ignored.
pub(crate) fn read(arguments: &[String]) -> Result<(), String> {
    let mut options = Options {
        java_home: java_home(),
        properties: Vec::new(),
        heap_bytes_max: HEAP_BYTES_DEFAULT,
        heap_bytes_start: None,
        is_heap_touched: false,
        collector: CollectorKind::Rc,
        is_real_time: false,
        stack_scan: StackScan::Exact,
        is_verifying: false,
        is_library_verified: false,
        is_verbose_gc: false,
        is_verbose_class: false,
        is_verbose_compile: false,
        is_reporting: false,
        report_file: None,
        is_strictly_real_time: false,
        real_time_list: None,
        is_code_portable: false,
        has_assertions: false,
        arguments: Vec::new(),
        code_root: crate::code_store::default_root(),
        has_reduced_signals: false,
        compile_list: None,
    };
    let mut numbered = std::collections::HashMap::new();
    for argument in arguments {
        options.arguments.push(argument.clone());
        if let Some(property) = argument.strip_prefix("-D") {
            let (name, value) = property.split_once('=').unwrap_or((property, ""));
            options.properties.push((name.to_owned(), value.to_owned()));
        } else if let Some(size) = argument.strip_prefix("-Xmx") {
            options.heap_bytes_max =
                parse_size(size).ok_or_else(|| format!("Invalid maximum heap size: {argument}"))?;
        } else if let Some(size) = argument.strip_prefix("-Xms") {
            let bytes = parse_size(size);
            options.heap_bytes_start =
                Some(bytes.ok_or_else(|| format!("Invalid initial heap size: {argument}"))?);
        } else if let Some((name, value)) = module_option(argument) {
            let place = numbered.entry(name).or_insert(0);
            options
                .properties
                .push((format!("jdk.module.{name}.{place}"), value.to_owned()));
            *place += 1;
        } else if let Some(modules) = argument.strip_prefix("--add-modules=") {
            options
                .properties
                .push(("jdk.module.addmods.0".into(), modules.to_owned()));
        } else if let Some(path) = argument.strip_prefix("--module-path=") {
            options
                .properties
                .push(("jdk.module.path".into(), path.to_owned()));
        } else {
            options.flag(argument);
        }
    }
    OPTIONS
        .set(options)
        .map_err(|_| "options are read once".to_owned())
}

fn module_option(argument: &str) -> Option<(&'static str, &str)> {
    let names = [
        ("--add-opens=", "addopens"),
        ("--add-exports=", "addexports"),
        ("--add-reads=", "addreads"),
        ("--patch-module=", "patch"),
    ];
    names
        .iter()
        .find_map(|(prefix, name)| Some((*name, argument.strip_prefix(prefix)?)))
}

impl Options {
    fn flag(&mut self, argument: &str) {
        match argument {
            "-verbose:class" | "-verbose" => self.is_verbose_class = true,
            "-Xtakt:compile" => self.is_verbose_compile = true,
            "-Xtakt:gc=rc" => self.collector = CollectorKind::Rc,
            "-Xtakt:gc=stw" => self.collector = CollectorKind::Stw,
            "-Xtakt:realtime" => self.is_real_time = true,
            "-Xtakt:stack-scan=exact" => self.stack_scan = StackScan::Exact,
            "-Xtakt:stack-scan=conservative" => self.stack_scan = StackScan::Conservative,
            "-Xtakt:verify" => self.is_verifying = true,
            "-Xverify" | "-Xverify:all" | "-XX:+BytecodeVerificationLocal" => {
                self.is_library_verified = true;
            }
            "-XX:+AlwaysPreTouch" => self.is_heap_touched = true,
            "-XX:-AlwaysPreTouch" => self.is_heap_touched = false,
            "-verbose:gc" | "-Xlog:gc" => self.is_verbose_gc = true,
            "-Xtakt:report" => self.is_reporting = true,
            "-Xtakt:realtime-strict" => self.is_strictly_real_time = true,
            "-Xtakt:portable-code" => self.is_code_portable = true,
            "-Xtakt:no-code-cache" => self.code_root = None,
            "-Xrs" => self.has_reduced_signals = true,
            "-ea" | "-enableassertions" => self.has_assertions = true,
            "-da" | "-disableassertions" => self.has_assertions = false,
            _ if argument.starts_with("-XX:") => {
                crate::report::warn(&format!(
                    "ignoring option {argument}: Takt has no such option"
                ));
            }
            _ => {
                if let Some(root) = argument.strip_prefix("-Xtakt:code-cache=") {
                    self.code_root = Some(root.into());
                } else if let Some(list) = argument.strip_prefix("-Xtakt:compile-list=") {
                    self.compile_list = Some(list.into());
                } else if let Some(file) = argument.strip_prefix("-Xtakt:realtime-list=") {
                    self.real_time_list = Some(file.into());
                } else if let Some(file) = argument.strip_prefix("-Xtakt:report=") {
                    self.report_file = Some(file.into());
                }
            }
        }
    }
}

fn parse_size(text: &str) -> Option<u64> {
    let (number, shift) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 10),
        b'm' | b'M' => (&text[..text.len() - 1], 20),
        b'g' | b'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    number
        .parse::<u64>()
        .ok()?
        .checked_shl(shift)
        .filter(|&bytes| bytes >= 2 << 20)
}

/// The JDK whose launcher started us, or `JAVA_HOME`.
fn java_home() -> String {
    let launcher = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    let beside = launcher.parent().and_then(|bin| bin.parent());
    let is_jdk = |home: &std::path::Path| home.join("lib/modules").exists();
    match beside.filter(|home| is_jdk(home)) {
        Some(home) => home.to_string_lossy().into_owned(),
        None => std::env::var("JAVA_HOME").unwrap_or_default(),
    }
}
