// SPDX-License-Identifier: Apache-2.0
//! [`Steering`]: all processors at speeds that one program chooses, by the kernel's governor
//! `userspace`.
//!
//! Processors with the same operating points and capacity are of one [`Kind`], and have one speed.
//! What their governors were is written down before it changes, as limits are. A program steers or
//! holds: there is one lock for both.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::{Cpufreq, FrequencyError, NOTES, POLICIES, text};
use crate::affinity::{CPUS_MAX, CpuSet};

const NOTE: &str = "governors";
const GOVERNOR: &str = "scaling_governor";
const USERSPACE: &str = "userspace";
const SPEED: &str = "scaling_setspeed";
/// Points where the driver names none: any frequency is one.
const STEPS: u64 = 10;
/// Kinds of one machine.
pub const KINDS_MAX: usize = 8;
/// Digits of the greatest number that is written.
const DIGITS_MAX: usize = 20;

/// See the module. Gives the governors back when it goes.
#[derive(Debug)]
pub struct Steering {
    cpufreq: Cpufreq,
    before: Vec<Governed>,
    kinds: Vec<Kind>,
    /// The policies of each kind, to write into.
    speeds: Vec<Vec<File>>,
    /// Locked as long as this is.
    _lock: File,
}

/// Processors that do the same work at the same frequency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Frequencies to choose from, ascending, in kHz.
    pub points: Vec<u64>,
    /// What one does at its greatest frequency, as the kernel says it: 1,024 is the machine's most.
    /// `None` where the kernel tells no processors apart.
    pub capacity: Option<u32>,
    /// Its processors.
    pub cpus: CpuSet,
}

/// A policy, and its governor.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Governed {
    policy: String,
    governor: String,
}

impl Steering {
    /// Takes over all processors of this machine. For the beginning of a program: each write may
    /// wait for workers of the kernel's.
    ///
    /// # Errors
    ///
    /// [`FrequencyError`]; then the governors are those of before.
    pub fn begin() -> Result<Self, FrequencyError> {
        Self::at(Path::new(POLICIES), Path::new(NOTES))
    }

    /// The same with the kernel's folder of policies and the folder of notes at other places.
    ///
    /// # Errors
    ///
    /// Those of [`begin`](Self::begin).
    pub fn at(policies: &Path, notes: &Path) -> Result<Self, FrequencyError> {
        let cpufreq = Cpufreq::at(policies, notes);
        let names = cpufreq.names()?;
        let lock = cpufreq.lock()?;
        // The one that left notes held the lock, and is gone.
        cpufreq.put_back_notes()?;
        let mut before = Vec::with_capacity(names.len());
        for policy in names {
            let known = cpufreq.word(&policy, "scaling_available_governors")?;
            if !known.split_whitespace().any(|it| it == USERSPACE) {
                return Err(FrequencyError::NoUserspace(policy));
            }
            let governor = cpufreq.word(&policy, GOVERNOR)?;
            before.push(Governed { policy, governor });
        }
        let lines: String = before.iter().map(Governed::line).collect();
        cpufreq.write_note_at(NOTE, &lines)?;
        let mut it = Self {
            cpufreq,
            before,
            kinds: Vec::new(),
            speeds: Vec::new(),
            _lock: lock,
        };
        // Where that fails what has changed is given back as it goes.
        it.take_over()?;
        Ok(it)
    }

    fn take_over(&mut self) -> Result<(), FrequencyError> {
        for Governed { policy, .. } in &self.before {
            let (points, cpus) = (self.cpufreq.points(policy)?, self.cpufreq.cpus(policy)?);
            let capacity = self.cpufreq.capacity(&cpus)?;
            let is_same = |it: &Kind| (&it.points, it.capacity) == (&points, capacity);
            let known = self.kinds.iter().position(is_same);
            let place = known.unwrap_or(self.kinds.len());
            match self.kinds.get_mut(place) {
                Some(kind) => cpus.iter().for_each(|cpu| kind.cpus.insert(cpu)),
                None if place == KINDS_MAX => return Err(FrequencyError::Kinds(KINDS_MAX)),
                None => {
                    self.speeds.push(Vec::new());
                    self.kinds.push(Kind {
                        points,
                        capacity,
                        cpus,
                    });
                }
            }
            self.cpufreq.write_word(policy, GOVERNOR, USERSPACE)?;
            let path = self.cpufreq.policies.join(policy).join(SPEED);
            let file = File::options().write(true).open(&path);
            let file = file.map_err(|it| FrequencyError::File(text(&path), it))?;
            self.speeds[place].push(file);
        }
        Ok(())
    }

    /// The kinds of processor of this machine, one at least.
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Has all processors of a kind run at a frequency of its points. One write for each policy,
    /// without memory of its own. The kernel's part takes a lock of the policy that others hold
    /// while they change it. Panics if there is no such kind.
    ///
    /// # Errors
    ///
    /// What the kernel said; then some processors may run at what they ran at before.
    pub fn set(&self, kind: usize, khz: u64) -> std::io::Result<()> {
        let mut digits = [0; DIGITS_MAX];
        let mut rest = &mut digits[..];
        write!(rest, "{khz}")?;
        let left = rest.len();
        for file in &self.speeds[kind] {
            file.write_all_at(&digits[..DIGITS_MAX - left], 0)?;
        }
        Ok(())
    }
}

impl Drop for Steering {
    fn drop(&mut self) {
        // Where that fails the note stays, for the next one.
        let _ = self.cpufreq.put_back_governors(&self.before);
    }
}

impl Governed {
    fn line(&self) -> String {
        format!("{} {}\n", self.policy, self.governor)
    }

    fn of(line: &str) -> Option<Self> {
        let (policy, governor) = line.split_once(' ')?;
        let is_plain = |it: &str| !it.is_empty() && !it.contains(['/', ' ']);
        let is_one = policy.starts_with("policy") && is_plain(policy) && is_plain(governor);
        is_one.then(|| Self {
            policy: policy.to_owned(),
            governor: governor.to_owned(),
        })
    }
}

impl Cpufreq {
    /// Frequencies of a policy, ascending; where the driver names none, some between its ends.
    fn points(&self, policy: &str) -> Result<Vec<u64>, FrequencyError> {
        let least = self.read(policy, "cpuinfo_min_freq")?;
        let most = self.read(policy, "cpuinfo_max_freq")?;
        let mut points = self.listed(policy);
        points.retain(|it| (least..=most).contains(it));
        if points.is_empty() {
            let step = |it| least + most.saturating_sub(least) * it / STEPS;
            points = (0..=STEPS).map(step).collect();
        }
        points.sort_unstable();
        points.dedup();
        Ok(points)
    }

    /// The processors of a policy, those that are offline as well.
    fn cpus(&self, policy: &str) -> Result<CpuSet, FrequencyError> {
        let listed = self.word(policy, "related_cpus")?;
        let mut cpus = CpuSet::EMPTY;
        for cpu in listed.split_whitespace() {
            let cpu = cpu.parse().ok().filter(|it| *it < CPUS_MAX);
            let path = self.policies.join(policy).join("related_cpus");
            let fault = || FrequencyError::File(text(&path), ErrorKind::InvalidData.into());
            cpus.insert(cpu.ok_or_else(fault)?);
        }
        Ok(cpus)
    }

    /// The capacity of processors, as the kernel says of their first.
    fn capacity(&self, cpus: &CpuSet) -> Result<Option<u32>, FrequencyError> {
        let Some(first) = cpus.iter().next() else {
            return Ok(None);
        };
        let path = self.policies.with_file_name(format!("cpu{first}"));
        let path = path.join("cpu_capacity");
        let fault = |it| FrequencyError::File(text(&path), it);
        let said = match std::fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            said => said.map_err(fault)?,
        };
        let capacity = said.trim().parse().ok().filter(|it| 0 < *it);
        let unknown = || fault(ErrorKind::InvalidData.into());
        capacity.ok_or_else(unknown).map(Some)
    }

    fn put_back_governors(&self, before: &[Governed]) -> Result<(), FrequencyError> {
        let mut outcome = Ok(());
        for Governed { policy, governor } in before {
            outcome = outcome.and(self.write_word(policy, GOVERNOR, governor));
        }
        outcome?;
        let note = self.notes.join(NOTE);
        std::fs::remove_file(&note).map_err(|it| FrequencyError::Note(text(&note), it))
    }

    /// Puts back what a program that was killed has left; false if there is nothing.
    pub(super) fn put_back_left_governors(&self) -> Result<bool, FrequencyError> {
        let Some(mut left) = self.note_at(NOTE, Governed::of)? else {
            return Ok(false);
        };
        // A policy whose processors are gone has no governor any more.
        left.retain(|it| self.policies.join(&it.policy).exists());
        self.put_back_governors(&left).map(|()| true)
    }

    pub(super) fn has_left_governors(&self) -> bool {
        self.notes.join(NOTE).exists()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Fake;
    use super::*;

    fn steer(fake: &Fake) -> Result<Steering, FrequencyError> {
        Steering::at(&fake.policies(), &fake.notes())
    }

    fn fake() -> Fake {
        let fake = Fake::new(&["policy0", "policy4"]);
        for (policy, cpus) in [("policy0", "0 1 2 3\n"), ("policy4", "4 5 6 7\n")] {
            fake.write(policy, "related_cpus", cpus);
            fake.write(
                policy,
                "scaling_available_governors",
                "ondemand userspace\n",
            );
            fake.write(policy, GOVERNOR, "ondemand\n");
            fake.write(policy, SPEED, "<unsupported>\n");
        }
        fake
    }

    #[test]
    fn all_processors_have_the_speed_and_their_governors_come_back() {
        let fake = fake();
        let steering = steer(&fake).unwrap();
        let [kind] = steering.kinds() else {
            panic!("all are of one kind")
        };
        assert_eq!(
            kind.points,
            [903_000, 1_421_000, 1_805_000, 2_112_000, 2_362_000]
        );
        assert_eq!(
            (kind.cpus.to_string().as_str(), kind.capacity),
            ("0-7", None)
        );
        for khz in [903_000, 2_362_000] {
            steering.set(0, khz).unwrap();
            for policy in ["policy0", "policy4"] {
                assert!(fake.text(policy, SPEED).starts_with(&khz.to_string()));
                assert_eq!(fake.text(policy, GOVERNOR), USERSPACE);
            }
        }
        // Who steers holds: there is one lock.
        let refused = fake.open().hold(Some(0));
        assert!(
            matches!(refused, Err(FrequencyError::Taken(_))),
            "{refused:?}"
        );
        drop(steering);
        assert_eq!(fake.text("policy4", GOVERNOR), "ondemand");
        assert!(!fake.open().put_back_left().unwrap());
    }

    #[test]
    fn what_a_killed_one_has_left_is_put_back_by_whoever_comes_next() {
        let fake = fake();
        for next in [0, 1, 2] {
            let mut killed = steer(&fake).unwrap();
            // As the kernel does it: the lock goes, governors and note stay.
            let (lock, before) = (
                fake.open().notes.join("gone"),
                std::mem::take(&mut killed.before),
            );
            killed.cpufreq.notes = lock;
            drop(killed);
            assert_eq!(before.len(), 2);
            assert_eq!(fake.text("policy0", GOVERNOR), USERSPACE);
            match next {
                0 => assert!(fake.open().put_back_left().unwrap()),
                1 => drop(steer(&fake).unwrap()),
                _ => fake.open().hold(Some(0)).unwrap(),
            }
            assert_eq!(fake.text("policy0", GOVERNOR), "ondemand");
        }
    }

    #[test]
    fn each_kind_has_its_own_speed() {
        let fake = fake();
        fake.write(
            "policy0",
            "scaling_available_frequencies",
            "903000 1000000\n",
        );
        for (cpu, capacity) in [("cpu0", "462\n"), ("cpu4", "1024\n")] {
            let folder = fake.policies().with_file_name(cpu);
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("cpu_capacity"), capacity).unwrap();
        }
        let steering = steer(&fake).unwrap();
        let [little, big] = steering.kinds() else {
            panic!("two kinds: {:?}", steering.kinds())
        };
        assert_eq!((little.capacity, big.capacity), (Some(462), Some(1_024)));
        assert_eq!(little.points, [903_000, 1_000_000]);
        assert_eq!(big.cpus.to_string(), "4-7");
        steering.set(0, 1_000_000).unwrap();
        steering.set(1, 2_112_000).unwrap();
        assert!(fake.text("policy0", SPEED).starts_with("1000000"));
        assert!(fake.text("policy4", SPEED).starts_with("2112000"));
        drop(steering);
        let capacity = fake.policies().with_file_name("cpu0").join("cpu_capacity");
        std::fs::write(capacity, "0\n").unwrap();
        let refused = steer(&fake).unwrap_err().to_string();
        assert!(refused.contains("cpu0/cpu_capacity"), "{refused}");
        assert_eq!(fake.text("policy0", GOVERNOR), "ondemand");
    }

    #[test]
    fn a_missing_governor_is_named() {
        let fake = fake();
        fake.write("policy0", "scaling_available_governors", "ondemand\n");
        let refused = steer(&fake).unwrap_err();
        assert!(
            refused.to_string().contains("cpufreq_userspace"),
            "{refused}"
        );
        assert_eq!(fake.text("policy0", GOVERNOR), "ondemand");
    }

    #[test]
    fn a_note_of_somebody_else_changes_nothing() {
        let fake = fake();
        std::fs::create_dir_all(fake.notes()).unwrap();
        for text in [
            "policy0 a\n",
            "policy0\nend",
            "policy0 ../a\nend",
            "../policy0 a\nend",
        ] {
            std::fs::write(fake.notes().join(NOTE), text).unwrap();
            let refused = fake.open().put_back_left();
            assert!(matches!(refused, Err(FrequencyError::Note(..))), "{text:?}");
            assert_eq!(fake.text("policy0", GOVERNOR), "ondemand");
        }
    }
}
