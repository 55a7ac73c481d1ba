// SPDX-License-Identifier: Apache-2.0
//! The processors' frequency: [`Cpufreq`] holds one level at a time by equal limits, [`Steering`]
//! changes it.
//!
//! What the limits were is written down before they change. So who was killed while it held a level
//! leaves a note, and the next one puts the limits back. One program holds the frequency of a
//! machine at a time.

mod steering;

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::clock::{Clock, Monotonic};

pub use steering::{KINDS_MAX, Kind, Steering};

/// Where the kernel shows them; one folder for all processors that change together.
const POLICIES: &str = "/sys/devices/system/cpu/cpufreq";
/// Where the limits of before lie; gone with the next boot, which sets limits of its own.
const NOTES: &str = "/run/takt";
/// Its holder is the one that may write limits.
const LOCK: &str = "frequency.lock";
const NOTE: &str = "frequency";
/// Ends a note that is whole.
const END: &str = "end";
/// Policies of one machine: as many as it has processors at most.
const POLICIES_MAX: usize = 4_096;

/// For a worker of the kernel's to take over new limits: it is an ordinary thread.
const SETTLE_NS_MAX: u64 = 1_000_000_000;
/// Between looks for that.
const LOOK_NS: u64 = 200_000;

const LEAST: &str = "scaling_min_freq";
const MOST: &str = "scaling_max_freq";

/// Why a frequency is not held, or not given back.
#[derive(Debug, thiserror::Error)]
pub enum FrequencyError {
    /// There is nothing to hold.
    #[error("no cpufreq: {0} has no policy; the frequency is the hypervisor's or the firmware's")]
    Missing(String),
    /// The kernel's files.
    #[error("{0} cannot be used: {1}; the frequency is root's to hold")]
    File(String, io::Error),
    /// Where the limits of before are kept.
    #[error("{0}, where the limits of before are kept: {1}; without it the frequency is not held")]
    Note(String, io::Error),
    /// Somebody else does.
    #[error("another program holds the frequency: {0} is locked")]
    Taken(String),
    /// The kernel lets it not be that.
    #[error("{path} is {found} kHz after {wanted} were written: something else limits it")]
    Limited {
        /// Which file.
        path: String,
        /// What was written.
        wanted: u64,
        /// What is there.
        found: u64,
    },
    /// More kinds of core than anybody builds.
    #[error("there are more than {0} kinds of processor: they are not steered")]
    Kinds(usize),
    /// The kernel's governor for programs.
    #[error("{0} has no governor 'userspace': `modprobe cpufreq_userspace`")]
    NoUserspace(String),
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// See the module. Puts the limits back when it goes.
#[derive(Debug)]
pub struct Cpufreq {
    policies: PathBuf,
    notes: PathBuf,
    held: Option<Held>,
}

#[derive(Debug)]
struct Held {
    percent: u8,
    before: Vec<Limits>,
    /// Locked as long as this is.
    _lock: File,
}

/// Of one policy, in kHz.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Limits {
    policy: String,
    least: u64,
    most: u64,
}

impl Default for Cpufreq {
    fn default() -> Self {
        Self::at(Path::new(POLICIES), Path::new(NOTES))
    }
}

impl Cpufreq {
    /// With the kernel's folder of policies and the folder of notes at other places.
    pub fn at(policies: &Path, notes: &Path) -> Self {
        Self {
            policies: policies.to_owned(),
            notes: notes.to_owned(),
            held: None,
        }
    }

    /// Has the machine a frequency to hold?
    pub fn is_there(&self) -> bool {
        self.names().is_ok()
    }

    /// What is held, in percent of the way from the least to the greatest frequency.
    pub fn held(&self) -> Option<u8> {
        self.held.as_ref().map(|it| it.percent)
    }

    /// Holds all processors at a level, or none. On each policy that is the first of its operating
    /// points that is at least so fast. Two files are written for each; then it waits until the
    /// kernel has taken that over, for a second at most.
    ///
    /// # Errors
    ///
    /// [`FrequencyError`]; then nothing is held, and the limits are those of before.
    pub fn hold(&mut self, percent: Option<u8>) -> Result<(), FrequencyError> {
        if self.held() == percent {
            return Ok(());
        }
        self.release()?;
        match percent {
            Some(percent) => self.begin(percent.min(100)),
            None => Ok(()),
        }
    }

    fn begin(&mut self, percent: u8) -> Result<(), FrequencyError> {
        let names = self.names()?;
        let lock = self.lock()?;
        // The one that left notes held the lock, and is gone.
        self.put_back_notes()?;
        let mut before = Vec::with_capacity(names.len());
        let mut wanted = Vec::with_capacity(names.len());
        for policy in names {
            let khz = self.point(&policy, percent)?;
            wanted.push(Limits {
                policy: policy.clone(),
                least: khz,
                most: khz,
            });
            before.push(Limits {
                least: self.read(&policy, LEAST)?,
                most: self.read(&policy, MOST)?,
                policy,
            });
        }
        self.write_note(&before)?;
        let outcome = self.set_all(&wanted);
        self.held = Some(Held {
            percent,
            before,
            _lock: lock,
        });
        if outcome.is_err() {
            self.release()?;
        }
        outcome
    }

    /// Puts the limits back. All are tried; the first that fails is said.
    ///
    /// # Errors
    ///
    /// [`FrequencyError`]; then the note stays for the next one.
    pub fn release(&mut self) -> Result<(), FrequencyError> {
        match self.held.take() {
            Some(held) => self.put_back(&held.before),
            None => Ok(()),
        }
    }

    /// Puts back what somebody that was killed has left; false if there is nothing.
    ///
    /// # Errors
    ///
    /// [`FrequencyError`]; [`FrequencyError::Taken`] if somebody holds it now.
    pub fn put_back_left(&self) -> Result<bool, FrequencyError> {
        if !self.notes.join(NOTE).exists() && !self.has_left_governors() {
            return Ok(false);
        }
        let _lock = self.lock()?;
        self.put_back_notes()
    }

    /// Limits and governors; the lock is held.
    fn put_back_notes(&self) -> Result<bool, FrequencyError> {
        let of_limits = self.put_back_note();
        let of_governors = self.put_back_left_governors();
        Ok(of_limits? | of_governors?)
    }

    fn put_back_note(&self) -> Result<bool, FrequencyError> {
        let Some(left) = self.note_at(NOTE, limits)? else {
            return Ok(false);
        };
        // A policy whose processors are gone has no limits any more.
        let is_there = |it: &Limits| self.policies.join(&it.policy).exists();
        let left: Vec<Limits> = left.into_iter().filter(is_there).collect();
        self.put_back(&left).map(|()| true)
    }

    fn put_back(&self, before: &[Limits]) -> Result<(), FrequencyError> {
        self.set_all(before)?;
        let note = self.notes.join(NOTE);
        std::fs::remove_file(&note).map_err(|it| FrequencyError::Note(text(&note), it))
    }

    /// Has all policies have these limits. All are tried; the first that fails is said.
    fn set_all(&self, limits: &[Limits]) -> Result<(), FrequencyError> {
        let mut outcome = Ok(());
        for it in limits {
            outcome = outcome.and(self.set(it));
        }
        outcome?;
        let due_ns = Monotonic.now_ns() + SETTLE_NS_MAX;
        for it in limits {
            while let Err(error) = self.check(it) {
                if Monotonic.now_ns() >= due_ns {
                    return Err(error);
                }
                Monotonic.sleep_until(Monotonic.now_ns() + LOOK_NS);
            }
        }
        Ok(())
    }

    /// The names of all policies.
    fn names(&self) -> Result<Vec<String>, FrequencyError> {
        let missing = || FrequencyError::Missing(text(&self.policies));
        let entries = std::fs::read_dir(&self.policies).map_err(|_| missing())?;
        let names = entries.filter_map(|it| it.ok()?.file_name().into_string().ok());
        let is_policy = |it: &String| it.starts_with("policy");
        let mut names: Vec<String> = names.filter(is_policy).take(POLICIES_MAX).collect();
        names.sort();
        match names.is_empty() {
            true => Err(missing()),
            false => Ok(names),
        }
    }

    /// The operating point of a level; where the driver names none, any frequency is one.
    fn point(&self, policy: &str, percent: u8) -> Result<u64, FrequencyError> {
        let least = self.read(policy, "cpuinfo_min_freq")?;
        let most = self.read(policy, "cpuinfo_max_freq")?;
        let exact = least + most.saturating_sub(least) * u64::from(percent) / 100;
        let points = self.listed(policy).into_iter();
        let is_enough = |it: &u64| (exact..=most).contains(it);
        Ok(points.filter(is_enough).min().unwrap_or(exact))
    }

    /// The operating points that the driver names, in its order.
    fn listed(&self, policy: &str) -> Vec<u64> {
        let listed = self.word(policy, "scaling_available_frequencies");
        let listed = listed.unwrap_or_default();
        let points = listed.split_whitespace().filter_map(|it| it.parse().ok());
        points.collect()
    }

    fn word(&self, policy: &str, name: &str) -> Result<String, FrequencyError> {
        let path = self.policies.join(policy).join(name);
        let read = std::fs::read_to_string(&path);
        let read = read.map_err(|it| FrequencyError::File(text(&path), it))?;
        Ok(read.trim().to_owned())
    }

    fn read(&self, policy: &str, name: &str) -> Result<u64, FrequencyError> {
        let number = self.word(policy, name)?.parse();
        number.map_err(|_| {
            let path = self.policies.join(policy).join(name);
            FrequencyError::File(text(&path), io::ErrorKind::InvalidData.into())
        })
    }

    fn write_word(&self, policy: &str, name: &str, word: &str) -> Result<(), FrequencyError> {
        let path = self.policies.join(policy).join(name);
        let file = File::options().write(true).truncate(true).open(&path);
        let written = file.and_then(|mut it| it.write_all(word.as_bytes()));
        written.map_err(|it| FrequencyError::File(text(&path), it))
    }

    /// Writes both limits, so that the least is at no time above the most.
    fn set(&self, limits: &Limits) -> Result<(), FrequencyError> {
        let (least, most) = ((LEAST, limits.least), (MOST, limits.most));
        let order = match limits.most >= self.read(&limits.policy, MOST)? {
            true => [most, least],
            false => [least, most],
        };
        for (name, khz) in order {
            self.write_word(&limits.policy, name, &khz.to_string())?;
        }
        Ok(())
    }

    /// A worker of the kernel's takes over what was written; the frequency has changed by then.
    fn check(&self, limits: &Limits) -> Result<(), FrequencyError> {
        for (name, wanted) in [(LEAST, limits.least), (MOST, limits.most)] {
            let found = self.read(&limits.policy, name)?;
            if found != wanted {
                let path = self.policies.join(&limits.policy).join(name);
                return Err(FrequencyError::Limited {
                    path: text(&path),
                    wanted,
                    found,
                });
            }
        }
        Ok(())
    }

    fn lock(&self) -> Result<File, FrequencyError> {
        let path = self.notes.join(LOCK);
        let fault = |it| FrequencyError::Note(text(&path), it);
        DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(&self.notes)
            .map_err(fault)?;
        let file = File::create(&path).map_err(fault)?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(FrequencyError::Taken(text(&path))),
            Err(TryLockError::Error(error)) => Err(fault(error)),
        }
    }

    fn write_note(&self, before: &[Limits]) -> Result<(), FrequencyError> {
        let line = |it: &Limits| format!("{} {} {}\n", it.policy, it.least, it.most);
        self.write_note_at(NOTE, &before.iter().map(line).collect::<String>())
    }

    /// Not made durable: a boot sets limits of its own, so only the page cache has to last.
    fn write_note_at(&self, name: &str, lines: &str) -> Result<(), FrequencyError> {
        let (new, note) = (
            self.notes.join(format!("{name}.new")),
            self.notes.join(name),
        );
        let written = std::fs::write(&new, format!("{lines}{END}"));
        let written = written.and_then(|()| std::fs::rename(&new, &note));
        written.map_err(|it| FrequencyError::Note(text(&note), it))
    }

    /// What a note's lines say, by `parse`; `None` where there is none.
    fn note_at<T>(
        &self,
        name: &str,
        parse: fn(&str) -> Option<T>,
    ) -> Result<Option<Vec<T>>, FrequencyError> {
        let path = self.notes.join(name);
        let read = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|it| FrequencyError::Note(text(&path), it))?,
        };
        let parsed = read.strip_suffix(END).and_then(|lines| {
            let parsed: Option<Vec<T>> = lines.lines().map(parse).collect();
            parsed
        });
        let damaged = || FrequencyError::Note(text(&path), io::ErrorKind::InvalidData.into());
        parsed.ok_or_else(damaged).map(Some)
    }
}

impl Drop for Cpufreq {
    fn drop(&mut self) {
        // Where that fails the note stays, for the next one.
        let _ = self.release();
    }
}

fn limits(line: &str) -> Option<Limits> {
    let mut words = line.split(' ');
    let policy = words.next()?;
    let is_plain = policy.starts_with("policy") && !policy.contains('/');
    let mut khz = || words.next()?.parse().ok();
    let (least, most) = (khz()?, khz()?);
    is_plain.then(|| Limits {
        policy: policy.to_owned(),
        least,
        most,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: &str = "903000 1421000 1805000 2112000 2362000 \n";

    /// Files in the place of the kernel's: they take whatever is written.
    pub(super) struct Fake(tempfile::TempDir);

    impl Fake {
        pub(super) fn new(policies: &[&str]) -> Self {
            let it = Self(tempfile::tempdir().unwrap());
            for policy in policies {
                let folder = it.policies().join(policy);
                std::fs::create_dir_all(&folder).unwrap();
                for (name, text) in [
                    ("cpuinfo_min_freq", "903000"),
                    ("cpuinfo_max_freq", "2362000"),
                    ("scaling_available_frequencies", POINTS),
                    (LEAST, "1421000\n"),
                    (MOST, "2112000\n"),
                ] {
                    std::fs::write(folder.join(name), text).unwrap();
                }
            }
            it
        }

        pub(super) fn policies(&self) -> PathBuf {
            self.0.path().join("cpufreq")
        }

        pub(super) fn notes(&self) -> PathBuf {
            self.0.path().join("run")
        }

        pub(super) fn open(&self) -> Cpufreq {
            Cpufreq::at(&self.policies(), &self.notes())
        }

        pub(super) fn write(&self, policy: &str, name: &str, text: &str) {
            std::fs::write(self.policies().join(policy).join(name), text).unwrap();
        }

        pub(super) fn text(&self, policy: &str, name: &str) -> String {
            self.open().word(policy, name).unwrap()
        }

        fn limits(&self, policy: &str) -> (u64, u64) {
            let it = self.open();
            (
                it.read(policy, LEAST).unwrap(),
                it.read(policy, MOST).unwrap(),
            )
        }
    }

    const BEFORE: (u64, u64) = (1_421_000, 2_112_000);

    #[test]
    fn each_level_is_an_operating_point_and_what_was_before_comes_back() {
        let fake = Fake::new(&["policy0", "policy4"]);
        let mut it = fake.open();
        for (percent, khz) in [
            (0, 903_000),
            (50, 1_805_000),
            (99, 2_362_000),
            (100, 2_362_000),
        ] {
            it.hold(Some(percent)).unwrap();
            assert_eq!(it.held(), Some(percent));
            for policy in ["policy0", "policy4"] {
                assert_eq!(fake.limits(policy), (khz, khz));
            }
        }
        it.hold(None).unwrap();
        assert_eq!(fake.limits("policy0"), BEFORE);
        it.hold(Some(0)).unwrap();
        drop(it);
        assert_eq!(fake.limits("policy4"), BEFORE);
    }

    #[test]
    fn what_a_killed_one_has_left_is_put_back_by_the_next() {
        let fake = Fake::new(&["policy0"]);
        let mut killed = fake.open();
        killed.hold(Some(100)).unwrap();
        let taken = fake.open().put_back_left();
        assert!(matches!(taken, Err(FrequencyError::Taken(_))), "{taken:?}");
        // As the kernel does it: the lock goes, the limits and the note stay.
        killed.held = None;
        assert_eq!(fake.limits("policy0"), (2_362_000, 2_362_000));
        assert!(fake.open().put_back_left().unwrap());
        assert_eq!(fake.limits("policy0"), BEFORE);
        assert!(!fake.open().put_back_left().unwrap());
        // The next holder does so too, and keeps what was before both.
        killed.hold(Some(0)).unwrap();
        killed.held = None;
        let mut next = fake.open();
        next.hold(Some(50)).unwrap();
        next.hold(None).unwrap();
        assert_eq!(fake.limits("policy0"), BEFORE);
    }

    #[test]
    fn two_programs_do_not_hold_it_together_and_a_machine_without_it_says_so() {
        let fake = Fake::new(&["policy0"]);
        let (mut one, mut other) = (fake.open(), fake.open());
        one.hold(Some(0)).unwrap();
        let refused = other.hold(Some(0));
        assert!(
            matches!(refused, Err(FrequencyError::Taken(_))),
            "{refused:?}"
        );
        one.hold(None).unwrap();
        other.hold(Some(0)).unwrap();
        let none = Fake::new(&[]);
        let refused = none.open().hold(Some(50)).unwrap_err();
        assert!(refused.to_string().starts_with("no cpufreq"), "{refused}");
    }

    #[test]
    fn a_half_written_note_or_one_of_somebody_else_changes_nothing() {
        let fake = Fake::new(&["policy0"]);
        let notes = fake.notes();
        std::fs::create_dir_all(&notes).unwrap();
        for text in ["policy0 1 2\n", "policy0 1\nend", "../policy0 1 2\nend", ""] {
            std::fs::write(notes.join(NOTE), text).unwrap();
            let refused = fake.open().put_back_left();
            assert!(matches!(refused, Err(FrequencyError::Note(..))), "{text:?}");
            assert_eq!(fake.limits("policy0"), BEFORE);
        }
    }
}
