// SPDX-License-Identifier: Apache-2.0
//! android.os.Debug: how much memory the process and the machine use, as the kernel and the C
//! library say it. What only Android's kernel or ART knows is not here, and says so by name.

use std::ffi::CStr;

use jni_sys::{jboolean, jclass, jint, jlong, jlongArray, jobject};

use crate::env::Env;

/// Of Debug.MEMINFO_…, the names in /proc/meminfo; what Linux has not is zero.
const MACHINE: [&str; 26] = [
    "MemTotal",
    "MemFree",
    "Buffers",
    "Cached",
    "Shmem",
    "Slab",
    "SReclaimable",
    "SUnreclaim",
    "SwapTotal",
    "SwapFree",
    "Zram",
    "Mapped",
    "VmallocUsed",
    "PageTables",
    "KernelStack",
    "KReclaimable",
    "Active",
    "Inactive",
    "Unevictable",
    "MemAvailable",
    "Active(anon)",
    "Inactive(anon)",
    "Active(file)",
    "Inactive(file)",
    "CmaTotal",
    "CmaFree",
];

/// Debug.MemoryInfo.NUM_CATEGORIES: what is counted of each part.
const COUNTS: usize = 9;
/// What a part of a MemoryInfo's fields is called, and its fields of each count.
const PARTS: [[&CStr; COUNTS]; 3] = [
    [
        c"dalvikPss",
        c"dalvikSwappablePss",
        c"dalvikRss",
        c"dalvikPrivateDirty",
        c"dalvikSharedDirty",
        c"dalvikPrivateClean",
        c"dalvikSharedClean",
        c"dalvikSwappedOut",
        c"dalvikSwappedOutPss",
    ],
    [
        c"nativePss",
        c"nativeSwappablePss",
        c"nativeRss",
        c"nativePrivateDirty",
        c"nativeSharedDirty",
        c"nativePrivateClean",
        c"nativeSharedClean",
        c"nativeSwappedOut",
        c"nativeSwappedOutPss",
    ],
    [
        c"otherPss",
        c"otherSwappablePss",
        c"otherRss",
        c"otherPrivateDirty",
        c"otherSharedDirty",
        c"otherPrivateClean",
        c"otherSharedClean",
        c"otherSwappedOut",
        c"otherSwappedOutPss",
    ],
];
const DALVIK: usize = 0;
const NATIVE: usize = 1;
const OTHER: usize = 2;

/// Debug.MemoryInfo.OTHER_…, by the ends of files' names.
const KINDS: [(&str, usize); 4] = [(".jar", 7), (".apk", 8), (".ttf", 9), (".dex", 10)];
const STACK: usize = 1;
const LIBRARY: usize = 6;
const UNKNOWN_FILE: usize = 13;

/// `NAME:  NUMBER kB` lines.
fn number(text: &str, name: &str) -> Option<i64> {
    let line = text
        .lines()
        .find_map(|it| it.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Of a whole process: none for one that is not ours to look at.
fn rollup(pid: jint) -> Option<String> {
    std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()
}

fn own_pid() -> jint {
    std::process::id().cast_signed()
}

/// Sums of the C library's arenas.
fn heap() -> libc::mallinfo2 {
    // SAFETY:
    // 1. mallinfo2 takes nothing; it locks each arena in turn.
    unsafe { libc::mallinfo2() }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Debug_getNativeHeapSize(_: Env, _: jclass) -> jlong {
    let heap = heap();
    (heap.arena + heap.hblkhd) as jlong
}

/// What was taken from the C library and not given back.
pub(crate) fn allocated_bytes() -> i64 {
    let heap = heap();
    (heap.uordblks + heap.hblkhd) as i64
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Debug_getNativeHeapAllocatedSize(_: Env, _: jclass) -> jlong {
    allocated_bytes()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Debug_getNativeHeapFreeSize(_: Env, _: jclass) -> jlong {
    heap().fordblks as jlong
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Debug_getPss__(_: Env, _: jclass) -> jlong {
    let text = rollup(own_pid()).unwrap_or_default();
    number(&text, "Pss").unwrap_or_default()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Debug_getRss__(_: Env, _: jclass) -> jlong {
    let text = rollup(own_pid()).unwrap_or_default();
    number(&text, "Rss").unwrap_or_default()
}

/// Fills in what is private, what is swapped and what is resident; nothing lies on a graphics card.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Debug_getPss__I_3J_3J(
    env: Env,
    _: jclass,
    pid: jint,
    out: jlongArray,
    cards: jlongArray,
) -> jlong {
    let text = rollup(pid).unwrap_or_default();
    let of = |name| number(&text, name).unwrap_or_default();
    let private = of("Private_Clean") + of("Private_Dirty");
    if !out.is_null() {
        write_some(env, out, &[private, of("SwapPss"), of("Rss")]);
    }
    if !cards.is_null() {
        write_some(env, cards, &[0, 0, 0, 0]);
    }
    of("Pss")
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Debug_getRss__I_3J(
    env: Env,
    _: jclass,
    pid: jint,
    cards: jlongArray,
) -> jlong {
    if !cards.is_null() {
        write_some(env, cards, &[0, 0, 0, 0]);
    }
    number(&rollup(pid).unwrap_or_default(), "Rss").unwrap_or_default()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Debug_getMemInfo(env: Env, _: jclass, out: jlongArray) {
    if out.is_null() {
        env.throw("java/lang/NullPointerException", "out array");
        return;
    }
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let numbers = MACHINE.map(|it| number(&text, it).unwrap_or_default());
    write_some(env, out, &numbers);
}

/// As many as the array has room for: Android's own arrays grew from version to version.
fn write_some(env: Env, out: jlongArray, numbers: &[jlong]) {
    let room = env.array_length(out) as usize;
    env.write_longs(out, &numbers[..numbers.len().min(room)]);
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Debug_getMemoryInfo__Landroid_os_Debug_00024MemoryInfo_2(
    env: Env,
    class: jclass,
    info: jobject,
) {
    let pid = own_pid();
    Java_android_os_Debug_getMemoryInfo__ILandroid_os_Debug_00024MemoryInfo_2(
        env, class, pid, info,
    );
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_Debug_getMemoryInfo__ILandroid_os_Debug_00024MemoryInfo_2(
    env: Env,
    _: jclass,
    pid: jint,
    info: jobject,
) -> jboolean {
    let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/smaps")) else {
        return false;
    };
    // An array of now lies in Java's heap.
    let probe = env.byte_array(&[0]);
    let java = (pid == own_pid()).then(|| env.address_of(probe) as u64);
    let usage = Usage::of(&text, java.unwrap_or_default());
    for (names, counts) in PARTS.iter().zip(&usage.parts) {
        let fields: Vec<(&CStr, jint)> =
            names.iter().copied().zip(counts.iter().copied()).collect();
        env.set_int_fields(info, &fields);
    }
    let others = env.object_field(info, c"otherStats", c"[I");
    let room = env.ints(others).len();
    let flat: Vec<jint> = usage.others.concat();
    env.write_ints(others, &flat[..flat.len().min(room)]);
    env.set_boolean_field(info, c"hasSwappedOutPss", text.contains("\nSwapPss:"));
    true
}

/// What a process uses, in kB.
struct Usage {
    parts: [[jint; COUNTS]; 3],
    /// Parts of the last one, by Debug.MemoryInfo.OTHER_….
    others: [[jint; COUNTS]; 17],
}

impl Usage {
    /// Reads /proc/PID/smaps; `java` is an address in Java's heap, or zero.
    fn of(text: &str, java: u64) -> Self {
        let mut usage = Self {
            parts: [[0; COUNTS]; 3],
            others: [[0; COUNTS]; 17],
        };
        let java = heap_of(text, java);
        for mapping in mappings(text) {
            let counts = mapping.counts();
            let part = mapping.part(java);
            if part == OTHER {
                add(&mut usage.others[mapping.kind()], &counts);
            }
            add(&mut usage.parts[part], &counts);
        }
        usage
    }
}

fn add(sum: &mut [jint; COUNTS], counts: &[jint; COUNTS]) {
    for (sum, count) in sum.iter_mut().zip(counts) {
        *sum += count;
    }
}

/// One mapping's lines in smaps.
struct Mapping<'a> {
    range: (u64, u64),
    name: &'a str,
    lines: &'a str,
}

impl Mapping<'_> {
    fn is_anonymous(&self) -> bool {
        self.name.is_empty() || self.name.starts_with("[anon:")
    }

    fn part(&self, java: (u64, u64)) -> usize {
        let is_java = java.0 <= self.range.0 && self.range.1 <= java.1;
        match self.name {
            _ if is_java => DALVIK,
            "[heap]" => NATIVE,
            _ if self.is_anonymous() => NATIVE,
            _ => OTHER,
        }
    }

    fn kind(&self) -> usize {
        let ending = KINDS.iter().find(|it| self.name.ends_with(it.0));
        if let Some((_, kind)) = ending {
            *kind
        } else if self.is_library() {
            LIBRARY
        } else if self.name.starts_with("[stack") {
            STACK
        } else {
            UNKNOWN_FILE
        }
    }

    fn is_library(&self) -> bool {
        self.name.ends_with(".so") || self.name.contains(".so.")
    }

    fn counts(&self) -> [jint; COUNTS] {
        let of = |name| number(self.lines, name).unwrap_or_default() as jint;
        let (pss, private_clean, private_dirty) =
            (of("Pss"), of("Private_Clean"), of("Private_Dirty"));
        let (shared_clean, shared_dirty) = (of("Shared_Clean"), of("Shared_Dirty"));
        let shared = shared_clean + shared_dirty;
        // What the kernel may drop and read again: this process's part of what is clean in files.
        let swappable = if self.is_anonymous() || pss == 0 {
            0
        } else {
            let own = i64::from(pss - private_clean - private_dirty) * i64::from(shared_clean);
            private_clean + own.checked_div(shared.into()).unwrap_or_default() as jint
        };
        [
            pss,
            swappable,
            of("Rss"),
            private_dirty,
            shared_dirty,
            private_clean,
            shared_clean,
            of("Swap"),
            of("SwapPss"),
        ]
    }
}

/// The mappings of smaps: a head with a range, then lines that begin with a capital letter.
fn mappings(text: &str) -> Vec<Mapping<'_>> {
    let mut found: Vec<Mapping<'_>> = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        if let Some(range) = range(line) {
            let name = line.splitn(6, ' ').nth(5).unwrap_or_default().trim();
            found.push(Mapping {
                range,
                name,
                lines: &text[at..at],
            });
        } else if let Some(last) = found.last_mut() {
            let from = start - last.lines.len();
            last.lines = &text[from..at];
        }
    }
    found
}

fn range(line: &str) -> Option<(u64, u64)> {
    let (start, end) = line.split_once(' ')?.0.split_once('-')?;
    let number = |it| u64::from_str_radix(it, 16).ok();
    Some((number(start)?, number(end)?))
}

/// The mappings without a gap around an address.
fn heap_of(text: &str, address: u64) -> (u64, u64) {
    let mut heap = (0, 0);
    for mapping in mappings(text).iter().filter(|it| it.is_anonymous()) {
        let (start, end) = mapping.range;
        if start != heap.1 {
            if (heap.0..heap.1).contains(&address) {
                return heap;
            }
            heap.0 = start;
        }
        heap.1 = end;
    }
    if (heap.0..heap.1).contains(&address) {
        return heap;
    }
    (0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "\
1000-3000 rw-p 00000000 00:00 0 
Rss:                  12 kB
Pss:                  10 kB
Private_Dirty:        10 kB
Pss_Dirty:             1 kB
3000-4000 ---p 00000000 00:00 0 
Rss:                   0 kB
5000-6000 rw-p 00000000 00:00 0                          [heap]
Pss:                   5 kB
7000-8000 r-xp 00000000 08:01 17                         /lib/x.so.1
Rss:                   8 kB
Pss:                   4 kB
Shared_Clean:          6 kB
Private_Clean:         1 kB
";

    #[test]
    fn each_mapping_counts_once_and_where_it_belongs() {
        let usage = Usage::of(SMAPS, 0x2000);
        assert_eq!(usage.parts[DALVIK][..4], [10, 0, 12, 10]);
        assert_eq!(usage.parts[NATIVE][0], 5);
        assert_eq!(usage.parts[OTHER][..3], [4, 4, 8]);
        assert_eq!(usage.others[LIBRARY], usage.parts[OTHER]);
        assert_eq!(Usage::of(SMAPS, 0).parts[NATIVE][0], 15);
    }
}
