// SPDX-License-Identifier: Apache-2.0
//! Options of the machine, as the launcher hands them over.

pub(crate) mod android;
mod assertions;
mod foreign;
pub(crate) mod properties;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use heap::CollectorKind;

pub(crate) use assertions::{Assertions, Directive};
use foreign::Foreign;

/// What was asked for.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) java_home: String,
    /// `-D` and what stands for a property, in order.
    pub(crate) properties: Vec<(String, String)>,
    pub(crate) heap_bytes_max: u64,
    /// `-Xms`: memory of the heap from the start on.
    pub(crate) heap_bytes_start: Option<u64>,
    /// `-XX:+AlwaysPreTouch`: the whole heap is made resident, and locked where that is granted,
    /// before anything runs.
    pub(crate) is_heap_touched: bool,
    /// The heap is to lie in reserved pages of 2 MiB.
    pub(crate) has_large_pages: bool,
    pub(crate) collector: CollectorKind,
    /// `--realtime`: the heap is in memory, and the collector runs in the slack that real-time
    /// threads leave.
    pub(crate) is_real_time: bool,
    pub(crate) stack_scan: StackScan,
    /// For tests: class metadata ends after so many bytes, and code.
    pub(crate) metadata_bytes_max: Option<u64>,
    pub(crate) code_bytes_max: Option<u64>,
    /// The heap is checked when the program is over, and every root that a stack map names.
    pub(crate) is_verifying: bool,
    /// Whether the boot loader's classes are checked and proven like all others.
    pub(crate) is_library_verified: bool,
    /// A line for each collection; it and the next one can be switched while the program runs.
    pub(crate) is_verbose_gc: AtomicBool,
    pub(crate) is_verbose_class: AtomicBool,
    pub(crate) is_verbose_compile: bool,
    /// `-Xtakt:dump=CLASS.METHOD`: what becomes of these is shown when they are compiled.
    pub(crate) dumped: Vec<String>,
    /// `-XX:+DumpPerfMapAtExit`: names of compiled code for `perf`.
    pub(crate) is_perf_mapped: bool,
    /// `--report`: figures at the end.
    pub(crate) is_reporting: bool,
    /// `--report=FILE`: the same as JSON.
    pub(crate) report_file: Option<PathBuf>,
    /// `--realtime-list=FILE`: what real-time threads need, beside what the machine finds.
    pub(crate) real_time_list: Option<PathBuf>,
    /// `--realtime-strict`: real-time threads run in real time or not at all.
    pub(crate) is_strictly_real_time: bool,
    /// Every method is compiled as large ones are, piece by piece: for tests of that.
    pub(crate) is_cutting_all: bool,
    /// `-Xtakt:passes=-NAME,...`: what is done to a method's IR.
    pub(crate) passes: compiler::Passes,
    /// `-Xtakt:template`: no thread starts before the process is copied.
    pub(crate) is_template: bool,
    /// Code uses no instruction that only some processors have: it is made here and runs elsewhere.
    pub(crate) is_code_portable: bool,
    /// Where compiled code is kept; nowhere if there is no such place.
    pub(crate) code_root: Option<PathBuf>,
    pub(crate) code_library: CodeLibrary,
    /// `-Xtakt:install-code=DIR`: gives such a store its place, and ends.
    pub(crate) code_install: Option<PathBuf>,
    /// `-Xtakt:again=MS`, `=off`: how often methods with cold sites are looked at.
    pub(crate) again_ms: Option<u64>,
    /// `-Xtakt:inline=straight|direct|guessed|received|profiled`: which callees' bodies stand in
    /// place of calls.
    pub(crate) inlining: Inlining,
    /// `-Xtakt:compile-loaded`: at the end, what loaded classes of the platform's have besides.
    pub(crate) is_compiling_loaded: bool,
    /// `-Xtakt:gather-code`: at the end, the kept code that ran is kept once more, in one file.
    pub(crate) is_gathering_code: bool,
    /// Names of classes to be compiled instead of running a program.
    pub(crate) compile_list: Option<PathBuf>,
    /// DEX code that they are in, over the class path; else they are of the class path.
    pub(crate) compile_package: Option<PathBuf>,
    /// `-ea`, `-da`, `-esa`, `-dsa`.
    pub(crate) assertions: Assertions,
    /// `-Xss`: stack of a thread that Java code starts, unless its constructor was told another.
    pub(crate) stack_bytes: Option<u64>,
    /// `-Xrs`: HUP, INT and TERM end the process without hooks.
    pub(crate) has_reduced_signals: bool,
    /// `-XX:+DisableAttachMechanism`: no tool may ask anything.
    pub(crate) is_attach_disabled: bool,
    /// Tools list the process, unless `-XX:-UsePerfData`.
    pub(crate) is_listed: bool,
    /// `-Xbootclasspath/a`: folders and jars.
    pub(crate) boot_append: Vec<String>,
    /// `-javaagent`: a jar and what its agent is told.
    pub(crate) agents: Vec<(String, Option<String>)>,
    /// Arguments that are not properties, for `RuntimeMXBean`.
    pub(crate) arguments: Vec<String>,
}

/// Code that was delivered and installed, and is only read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CodeLibrary {
    /// What the build delivered with the machine, if it is there.
    Beside,
    /// `-Xtakt:code-library=DIR`.
    At(PathBuf),
    /// `-Xtakt:no-code-library`.
    None,
}

/// How the collector looks at managed frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StackScan {
    /// By the stack maps of compiled code.
    Exact,
    /// Any word may be a reference: to compare with.
    Conservative,
}

/// From a test's pace to one that nobody would notice.
const AGAIN_MS: core::ops::RangeInclusive<u64> = 1..=60_000;
const AGAIN_MS_DEFAULT: u64 = 100;

/// Heap unless `-Xmx` says otherwise.
const HEAP_BYTES_DEFAULT: u64 = 2 << 30;
const HEAP_BYTES_MIN: u64 = 2 << 20;
/// As HotSpot's.
const STACK_BYTES_MAX: u64 = 1 << 30;

static OPTIONS: OnceLock<Options> = OnceLock::new();

pub(crate) fn get() -> &'static Options {
    OPTIONS.get().expect("options are read first")
}

/// Reads the launcher's options. Unknown `-XX` ones are named and ignored, other unknown ones
/// refused unless the launcher `ignores_unknown` ones. The error is for the user, in HotSpot's
/// words where it has some.
pub(crate) fn read(arguments: &[String], ignores_unknown: bool) -> Result<(), String> {
    let mut options = Options::usual(arguments);
    let mut numbered = HashMap::new();
    for argument in arguments {
        let is_known = options.property(argument, &mut numbered)
            || options.size(argument)?
            || options.assertions.take(argument)
            || options.path(argument, &mut numbered)
            || options.flag(argument)
            || options.file(argument);
        if is_known {
            continue;
        }
        match Foreign::of(argument) {
            Foreign::Silent => {}
            Foreign::Ignored(why) => {
                crate::console::warn(&format!("ignoring option {argument}: {why}"));
            }
            Foreign::Unsupported(what) => return Err(format!("{argument}: Takt has no {what}")),
            Foreign::Unknown if ignores_unknown => {}
            Foreign::Unknown => return Err(format!("Unrecognized option: {argument}")),
        }
    }
    OPTIONS
        .set(options)
        .map_err(|_| "options are read once".to_owned())
}

/// Of each there may be several: the property's name ends in a number.
const NUMBERED: [(&str, &str); 6] = [
    ("--add-opens=", "addopens"),
    ("--add-exports=", "addexports"),
    ("--add-reads=", "addreads"),
    ("--add-modules=", "addmods"),
    ("--patch-module=", "patch"),
    ("--enable-native-access=", "enable.native.access"),
];
const SINGLE: [(&str, &str); 3] = [
    ("--module-path=", "path"),
    ("--upgrade-module-path=", "upgrade.path"),
    ("--limit-modules=", "limitmods"),
];

/// Whether the property stands for an option of the module system: it has to be given as such.
fn is_reserved(property: &str) -> bool {
    let names = NUMBERED.iter().chain(&SINGLE);
    property.strip_prefix("jdk.module.").is_some_and(|own| {
        names
            .filter_map(|(_, name)| own.strip_prefix(name))
            .any(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

impl Options {
    /// Before an option is read.
    fn usual(arguments: &[String]) -> Self {
        Self {
            java_home: java_home(),
            properties: Vec::new(),
            heap_bytes_max: HEAP_BYTES_DEFAULT,
            heap_bytes_start: None,
            is_heap_touched: false,
            has_large_pages: false,
            collector: CollectorKind::Rc,
            is_real_time: false,
            stack_scan: StackScan::Exact,
            metadata_bytes_max: None,
            code_bytes_max: None,
            is_verifying: false,
            is_library_verified: false,
            is_verbose_gc: AtomicBool::new(false),
            is_verbose_class: AtomicBool::new(false),
            is_verbose_compile: false,
            dumped: Vec::new(),
            is_perf_mapped: false,
            is_reporting: false,
            report_file: None,
            is_strictly_real_time: false,
            real_time_list: None,
            is_cutting_all: false,
            passes: compiler::Passes::ALL,
            is_template: false,
            is_code_portable: false,
            assertions: Assertions::default(),
            stack_bytes: None,
            arguments: arguments.to_vec(),
            code_root: default_root(),
            code_library: CodeLibrary::Beside,
            code_install: None,
            has_reduced_signals: false,
            is_attach_disabled: false,
            is_listed: true,
            boot_append: Vec::new(),
            agents: Vec::new(),
            again_ms: Some(AGAIN_MS_DEFAULT),
            inlining: Inlining::Profiled,
            is_compiling_loaded: false,
            is_gathering_code: false,
            compile_list: None,
            compile_package: None,
        }
    }

    /// `-D`, and what the module system reads as a property. `numbered` counts those of each name.
    fn property(&mut self, argument: &str, numbered: &mut HashMap<&str, u32>) -> bool {
        let value_of = |(prefix, name): &(&str, &'static str)| {
            Some((*name, argument.strip_prefix(prefix)?.to_owned()))
        };
        if Foreign::is_property(argument) {
            return false;
        }
        let property = if let Some(property) = argument.strip_prefix("-D") {
            let (name, value) = property.split_once('=').unwrap_or((property, ""));
            if is_reserved(name) {
                crate::console::warn(
                    "Ignoring system property options whose names match the '-Djdk.module.*'. \
                     names that are reserved for internal use.",
                );
                return true;
            }
            (name.to_owned(), value.to_owned())
        } else if let Some((name, value)) = NUMBERED.iter().find_map(value_of) {
            let place = numbered.entry(name).or_insert(0);
            *place += 1;
            (format!("jdk.module.{name}.{}", *place - 1), value)
        } else if let Some((name, value)) = SINGLE.iter().find_map(value_of) {
            (format!("jdk.module.{name}"), value)
        } else {
            return false;
        };
        self.properties.push(property);
        true
    }

    /// `-Xbootclasspath/a` and `-javaagent`, which needs its module.
    fn path(&mut self, argument: &str, numbered: &mut HashMap<&str, u32>) -> bool {
        if let Some(paths) = argument.strip_prefix("-Xbootclasspath/a:") {
            let paths = paths.split(':').filter(|path| !path.is_empty());
            self.boot_append.extend(paths.map(str::to_owned));
            return true;
        }
        let Some(agent) = argument.strip_prefix("-javaagent:") else {
            return false;
        };
        let (jar, told) = match agent.split_once('=') {
            Some((jar, told)) => (jar, Some(told.to_owned())),
            None => (agent, None),
        };
        self.agents.push((jar.to_owned(), told));
        self.property("--add-modules=java.instrument", numbered)
    }

    /// `-Xmx`, `-Xms`, `-Xss`.
    fn size(&mut self, argument: &str) -> Result<bool, String> {
        if let Some(size) = argument.strip_prefix("-Xmx") {
            let bytes = parse_size(size);
            self.heap_bytes_max =
                bytes.ok_or_else(|| format!("Invalid maximum heap size: {argument}"))?;
            if self.heap_bytes_max < HEAP_BYTES_MIN {
                return Err("Too small maximum heap".to_owned());
            }
        } else if let Some(size) = argument.strip_prefix("-Xms") {
            let bytes = parse_size(size);
            self.heap_bytes_start =
                Some(bytes.ok_or_else(|| format!("Invalid initial heap size: {argument}"))?);
        } else if let Some(size) = argument.strip_prefix("-Xss") {
            let bytes = parse_size(size).filter(|&bytes| bytes <= STACK_BYTES_MAX);
            let bytes = bytes.ok_or_else(|| format!("Invalid thread stack size: {argument}"))?;
            self.stack_bytes = (bytes > 0).then_some(bytes);
        } else if let Some(size) = argument.strip_prefix("-Xtakt:metadata=") {
            self.metadata_bytes_max = parse_size(size);
        } else if let Some(size) = argument.strip_prefix("-Xtakt:code=") {
            self.code_bytes_max = parse_size(size);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn flag(&mut self, argument: &str) -> bool {
        match argument {
            "-verbose:class" | "-verbose" => *self.is_verbose_class.get_mut() = true,
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
            "-XX:+UseLargePages" => self.has_large_pages = true,
            "-XX:-UseLargePages" => self.has_large_pages = false,
            // They are asked for anyway.
            "-XX:+UseTransparentHugePages" => {}
            // What it unlocks is there anyway.
            "-XX:+UnlockDiagnosticVMOptions" => {}
            "-XX:+DisableAttachMechanism" => self.is_attach_disabled = true,
            "-XX:-DisableAttachMechanism" => self.is_attach_disabled = false,
            "-XX:+UsePerfData" => self.is_listed = true,
            "-XX:-UsePerfData" | "-XX:+PerfDisableSharedMem" => self.is_listed = false,
            "-XX:+DumpPerfMapAtExit" => self.is_perf_mapped = true,
            "-verbose:gc" | "-Xlog:gc" => *self.is_verbose_gc.get_mut() = true,
            "-Xtakt:report" => self.is_reporting = true,
            "-Xtakt:realtime-strict" => self.is_strictly_real_time = true,
            "-Xtakt:template" => self.is_template = true,
            "-Xtakt:pieces" => self.is_cutting_all = true,
            "-Xtakt:portable-code" => self.is_code_portable = true,
            "-Xtakt:compile-loaded" => self.is_compiling_loaded = true,
            "-Xtakt:gather-code" => self.is_gathering_code = true,
            "-Xtakt:no-code-cache" => {
                self.code_root = None;
                self.code_library = CodeLibrary::None;
            }
            "-Xtakt:no-code-library" => self.code_library = CodeLibrary::None,
            "-Xrs" => self.has_reduced_signals = true,
            _ => return false,
        }
        true
    }

    /// Takt's own options that name a file.
    fn file(&mut self, argument: &str) -> bool {
        let Some((name, file)) = argument
            .strip_prefix("-Xtakt:")
            .and_then(|it| it.split_once('='))
        else {
            return false;
        };
        if name == "code-library" {
            self.code_library = CodeLibrary::At(file.into());
            return true;
        }
        if name == "dump" {
            self.dumped.push(file.to_owned());
            return true;
        }
        if name == "again" {
            let ms = file.parse().ok().filter(|ms| AGAIN_MS.contains(ms));
            self.again_ms = ms;
            return file == "off" || ms.is_some();
        }
        if name == "passes" {
            let passes = compiler::Passes::all_but(file);
            self.passes = passes.unwrap_or(self.passes);
            return passes.is_some();
        }
        if let Some(inlining) = Inlining::of(name, file) {
            self.inlining = inlining;
            return true;
        }
        let place = match name {
            "code-cache" => &mut self.code_root,
            "install-code" => &mut self.code_install,
            "compile-list" => &mut self.compile_list,
            "compile-package" => &mut self.compile_package,
            "realtime-list" => &mut self.real_time_list,
            "report" => &mut self.report_file,
            _ => return false,
        };
        *place = Some(file.into());
        true
    }
}

/// Which callees' bodies stand in place of calls. Each has what comes before it too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Inlining {
    /// Those that can neither throw nor call.
    Straight,
    /// Others of calls with one possible callee.
    Direct,
    /// Those of virtual calls whose callee nobody overrides so far.
    Guessed,
    /// Those of calls whose receiver's class is known, or likely.
    Received,
    /// Those of calls most of whose receivers had one class when they were counted.
    Profiled,
}

impl Inlining {
    fn of(option: &str, value: &str) -> Option<Self> {
        match (option, value) {
            ("inline", "straight") => Some(Self::Straight),
            ("inline", "direct") => Some(Self::Direct),
            ("inline", "guessed") => Some(Self::Guessed),
            ("inline", "received") => Some(Self::Received),
            ("inline", "profiled") => Some(Self::Profiled),
            _ => None,
        }
    }
}

/// Bytes of `512`, `64k`, `3M`, `1g`.
fn parse_size(text: &str) -> Option<u64> {
    let (number, unit) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1 << 10),
        b'm' | b'M' => (&text[..text.len() - 1], 1 << 20),
        b'g' | b'G' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
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

/// Where code lies unless an option says otherwise.
/// Where compiled code is kept, by the environment.
pub(crate) fn default_root() -> Option<std::path::PathBuf> {
    let absolute = |name| {
        let path = std::path::PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(caches.join("takt/code"))
}

/// What `-version` and reports call the collector.
pub(crate) fn collector_name() -> &'static str {
    match get().collector {
        CollectorKind::Rc => "rc: on-the-fly reference counting",
        CollectorKind::Stw => "stw: stop-the-world mark-sweep",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_and_do_not_overflow() {
        assert_eq!(parse_size("512"), Some(512));
        assert_eq!(parse_size("64k"), Some(64 << 10));
        assert_eq!(parse_size("3M"), Some(3 << 20));
        assert_eq!(parse_size("1g"), Some(1 << 30));
        for wrong in ["", "k", "-1m", "1kb", "99999999999g"] {
            assert_eq!(parse_size(wrong), None, "{wrong}");
        }
    }
}
