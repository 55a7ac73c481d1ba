// SPDX-License-Identifier: Apache-2.0
//! Small packages that ask for much: time and memory stay in proportion to the file, or the limit
//! is named.

mod hostile;

use std::time::Duration;

use apk::{Apk, Archive, MEMORY_PER_BYTE_MAX, Manifest, Table};
use hostile::{REFERENCE, TEXT, Xml, entry, sparse, table, zip};

const NAME: u32 = 0x0101_0003;
const LABEL: u32 = 0x0101_0001;
/// A guard against what is quadratic: of processor time, of which all of this takes well below a
/// second.
const LONG: Duration = Duration::from_secs(8);

/// The most memory that this process has held since the last call, and now.
fn memory_bytes() -> (usize, usize) {
    let status = std::fs::read_to_string("/proc/self/status").expect("procfs");
    let field = |name: &str| -> usize {
        let line = status
            .lines()
            .find_map(|it| it.strip_prefix(name))
            .expect("a field");
        let number = line.trim().trim_end_matches(" kB").parse::<usize>();
        number.expect("a number") * 1024
    };
    std::fs::write("/proc/self/clear_refs", "5").expect("procfs");
    (field("VmHWM:"), field("VmRSS:"))
}

/// The processor's time for this thread.
fn spent() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("procfs");
    let nanoseconds = text.split(' ').next().and_then(|it| it.parse().ok());
    Duration::from_nanos(nanoseconds.expect("a number"))
}

#[test]
fn a_string_that_everything_names_is_not_copied_without_bound() {
    let mut xml = Xml::new();
    let name = xml.attribute("name", NAME);
    let tag = xml.string("permission");
    let long = xml.string(&"x".repeat(100_000));
    for _ in 0..2_000 {
        xml.element(tag, &[(name, TEXT, long)]);
    }
    let bytes = xml.finish();
    let package = zip(&[("AndroidManifest.xml", &bytes)]);
    assert!(package.len() < 13_000, "{}", package.len());
    let (_, before) = memory_bytes();
    let error = Apk::parse(&package).err().expect("it is over a limit");
    let (most, _) = memory_bytes();
    let text = "text of all attributes: ";
    assert!(error.to_string().contains(text), "{error}");
    let grown = most.saturating_sub(before);
    assert!(grown < bytes.len() * MEMORY_PER_BYTE_MAX, "{grown} bytes");
}

#[test]
fn permissions_by_the_ten_thousand_take_linear_time() {
    let mut xml = Xml::new();
    let name = xml.attribute("name", NAME);
    let tag = xml.string("uses-permission");
    let count = 40_000;
    for number in 0..count {
        let text = xml.string(&format!("p{number}"));
        xml.element(tag, &[(name, TEXT, text)]);
        xml.element(tag, &[(name, TEXT, text)]);
    }
    let bytes = xml.finish();
    let start = spent();
    let manifest = Manifest::parse(&bytes, None).expect("it is sound");
    assert_eq!(manifest.uses_permissions.len(), count);
    let spent = spent() - start;
    assert!(spent < LONG, "{spent:?}");
}

/// A manifest in which so many labels refer to resources from 0x7f010000 on.
fn labels(count: u32) -> Vec<u8> {
    let mut xml = Xml::new();
    let name = xml.attribute("name", NAME);
    let tag = xml.string("permission");
    let _ = xml.attribute("label", LABEL);
    for number in 0..count {
        xml.element(tag, &[(name, REFERENCE, 0x7f01_0000 + number)]);
    }
    xml.finish()
}

#[test]
fn a_sparse_type_is_searched_by_halving() {
    let pairs: Vec<(u16, u16)> = (0..=u16::MAX).map(|it| (it, 0)).collect();
    let bytes = table(&[sparse(&pairs, &entry(7))]);
    let table = Table::parse("resources.arsc", &bytes).expect("it is sound");
    let manifest = labels(40_000);
    let start = spent();
    let manifest = Manifest::parse(&manifest, Some(&table)).expect("it is sound");
    assert_eq!(manifest.permissions.len(), 40_000);
    assert!(manifest.permissions.iter().all(|it| it.name == "7"));
    let spent = spent() - start;
    assert!(spent < LONG, "{spent:?}");
}

#[test]
fn configurations_for_every_reference_have_a_limit() {
    let types = vec![sparse(&[(1, 0)], &entry(7)); 5_000];
    let bytes = table(&types);
    let table = Table::parse("resources.arsc", &bytes).expect("it is sound");
    let manifest = labels(3_000);
    let error = Manifest::parse(&manifest, Some(&table)).expect_err("it is over a limit");
    let text = "configurations to look through for all references: ";
    assert!(error.to_string().contains(text), "{error}");
}

#[test]
fn what_unpacks_to_too_much_is_refused_before_it_is_unpacked() {
    let blank = vec![0; 2 << 20];
    let mut bytes = zip(&[("a", &blank), ("b", &blank)]);
    let archive = Archive::parse(&bytes).expect("it is sound");
    let error = archive.read_dense("a").expect_err("it is over a limit");
    let text = "unpacked bytes for its packed size: 2097152 is over";
    assert!(error.to_string().contains(text), "{error}");
    assert_eq!(archive.read("a").expect("it is sound").len(), blank.len());
    // As much as an entry may say of itself; the directory comes last.
    for name in [b"a", b"b"] {
        let is_record = |at: &usize| {
            bytes[*at..].starts_with(b"PK\x01\x02") && bytes[at + 46..].starts_with(name)
        };
        let record = (0..bytes.len()).find(is_record).expect("a record");
        bytes[record + 24..record + 28].copy_from_slice(&(200u32 << 20).to_le_bytes());
    }
    let error = Archive::parse(&bytes).err().expect("it is over a limit");
    let text = "unpacked bytes of all entries: 419430400 is over";
    assert!(error.to_string().contains(text), "{error}");
}
