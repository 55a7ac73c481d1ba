// SPDX-License-Identifier: Apache-2.0
//! Hostile class files: every one of many random changes to the JDK's own is refused or becomes IR
//! that verifies, and nothing panics. `fuzz/targets/class.rs` does the same without end.

mod anything;

use anything::Anything;
use classfile::{ClassFile, Jimage};
use ir::{Subject, check_references};

const IMAGES: [&str; 2] = [
    "/usr/lib/jvm/java-17-openjdk-amd64/lib/modules",
    "/usr/lib/jvm/default-java/lib/modules",
];

/// The class library's image; without it nothing can be tested here.
fn image() -> Vec<u8> {
    let found = IMAGES.iter().find_map(|path| std::fs::read(path).ok());
    found.unwrap_or_else(|| {
        panic!("no image of a JDK 17 in {IMAGES:?}: install openjdk-17-jdk-headless")
    })
}
const SEED: u64 = 20_261_122;
const ROUNDS: usize = 12_000;
const BYTES_MAX: usize = 3_000;

/// What became of one file.
#[derive(Default)]
struct Outcome {
    /// Files that parse, and of those the ones that keep the format's other rules.
    parsed: usize,
    checked: usize,
    /// Methods.
    proven: usize,
    refused: usize,
}

impl Outcome {
    fn add(&mut self, bytes: &[u8]) {
        let class = match ClassFile::parse(bytes) {
            Ok(class) => class,
            Err(error) => return assert!(!error.to_string().is_empty()),
        };
        self.parsed += 1;
        self.checked += usize::from(class.check().is_ok());
        for method in class.methods.iter().filter(|it| it.code.is_some()) {
            let is_framed = ir::bytecode::check_frames(&class, method).is_ok();
            let subject = Subject::of(&class, method);
            let is_proven = ir::bytecode::translate(&class, method).is_ok_and(|function| {
                check_references(&function, &subject, &class.constants, &mut Anything).is_ok()
            });
            match is_framed && is_proven {
                true => self.proven += 1,
                false => self.refused += 1,
            }
        }
    }
}

fn change(random: &mut fastrand::Rng, bytes: &mut Vec<u8>) {
    for _ in 0..random.usize(1..4) {
        let at = random.usize(8..bytes.len());
        match random.u8(..6) {
            0 => bytes[at] = random.u8(..),
            1 => bytes[at] ^= 1 << random.u8(..8),
            // Most counts, indices and tags are small.
            2 => bytes[at] = random.u8(..24),
            3 => bytes[at] = random.u8(..0xca),
            4 => {
                let from = random.usize(8..bytes.len());
                let size = random.usize(..32).min(bytes.len() - at.max(from));
                bytes.copy_within(from..from + size, at);
            }
            _ if random.u8(..8) == 0 => bytes.truncate(at),
            _ => bytes[at] = [0, 1, 0x7f, 0xff][random.usize(..4)],
        }
        if bytes.len() <= 8 {
            return;
        }
    }
}

#[test]
fn changed_class_files_are_refused_or_proven() {
    let bytes = image();
    let image = Jimage::parse(&bytes).expect("the JDK's own");
    let mut samples: Vec<(Vec<u8>, &[u8])> = image
        .resources()
        .filter(|(name, content)| {
            name.starts_with(b"/java.base/java/util/")
                && name.ends_with(b".class")
                && content.len() <= BYTES_MAX
        })
        .collect();
    samples.sort();
    assert!(samples.len() > 100, "{}", samples.len());
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut outcome = Outcome::default();
    for _ in 0..ROUNDS {
        let mut bytes = samples[random.usize(..samples.len())].1.to_vec();
        change(&mut random, &mut bytes);
        outcome.add(&bytes);
    }
    let Outcome {
        parsed,
        checked,
        proven,
        refused,
    } = outcome;
    println!(
        "{parsed} of {ROUNDS} parse, {checked} keep the rules; {proven} methods proven, {refused} refused"
    );
    assert!(ROUNDS / 10 < checked && checked < parsed && parsed < ROUNDS);
    assert!(refused > ROUNDS / 100 && proven > refused);
}

/// The tables of an image lie: names and places are looked for where they say, or not found.
#[test]
fn changed_images_are_answered() {
    let bytes = image();
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut header = bytes[..28].to_vec();
    let (mut refused, mut found) = (0, 0);
    for _ in 0..200 {
        let at = random.usize(8..header.len());
        let before = header[at];
        header[at] ^= 1 << random.u8(..8);
        let changed = [&header[..], &bytes[28..1 << 20]].concat();
        match Jimage::parse(&changed) {
            Ok(image) => {
                let place = image.find("java.base", "java/lang/Object.class");
                found += usize::from(place.is_some()) + image.resources().take(1_000).count();
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
        }
        header[at] = before;
    }
    println!("{refused} of 200 refused, {found} resources found in the others");
    assert!(0 < refused && refused < 200);
}
