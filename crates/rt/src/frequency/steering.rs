// SPDX-License-Identifier: Apache-2.0
//! [`Steering`]: all processors at speeds that one program chooses, by the kernel's governor
//! `userspace`.
//!
//! What their governors were is written down before it changes, as limits are. A program steers or
//! holds: there is one lock for both.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::{Cpufreq, FrequencyError, NOTES, POLICIES, text};

const NOTE: &str = "governors";
const GOVERNOR: &str = "scaling_governor";
const USERSPACE: &str = "userspace";
const SPEED: &str = "scaling_setspeed";
/// Points where the driver names none: any frequency is one.
const STEPS: u64 = 10;
/// Digits of the greatest number that is written.
const DIGITS_MAX: usize = 20;

/// See the module. Gives the governors back when it goes.
#[derive(Debug)]
pub struct Steering {
    cpufreq: Cpufreq,
    before: Vec<Governed>,
    speeds: Vec<File>,
    points: Vec<u64>,
    /// Locked as long as this is.
    _lock: File,
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
    /// [`FrequencyError`]; then the governors are those of before. [`FrequencyError::Unlike`] where
    /// processors have other frequencies than the first: kinds of core are not steered.
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
        // Whoever left notes held the lock, and is gone.
        cpufreq.put_back_notes()?;
        let points = cpufreq.points(&names[0])?;
        let mut before = Vec::with_capacity(names.len());
        for policy in names {
            if cpufreq.points(&policy)? != points {
                return Err(FrequencyError::Unlike(policy));
            }
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
            speeds: Vec::new(),
            points,
            _lock: lock,
        };
        // Where that fails what has changed is given back as it goes.
        it.take_over()?;
        Ok(it)
    }

    fn take_over(&mut self) -> Result<(), FrequencyError> {
        for Governed { policy, .. } in &self.before {
            self.cpufreq.write_word(policy, GOVERNOR, USERSPACE)?;
            let path = self.cpufreq.policies.join(policy).join(SPEED);
            let file = File::options().write(true).open(&path);
            let file = file.map_err(|it| FrequencyError::File(text(&path), it))?;
            self.speeds.push(file);
        }
        Ok(())
    }

    /// Frequencies to choose from, ascending, in kHz.
    pub fn points(&self) -> &[u64] {
        &self.points
    }

    /// Has all processors run at a frequency of these. One write for each policy, without memory of
    /// its own. The kernel's part takes a lock of the policy that others hold while they change it.
    ///
    /// # Errors
    ///
    /// What the kernel said; then some processors may run at what they ran at before.
    pub fn set(&self, khz: u64) -> std::io::Result<()> {
        let mut digits = [0; DIGITS_MAX];
        let mut rest = &mut digits[..];
        write!(rest, "{khz}")?;
        let left = rest.len();
        for file in &self.speeds {
            file.write_all_at(&digits[..DIGITS_MAX - left], 0)?;
        }
        Ok(())
    }
}

impl Drop for Steering {
    fn drop(&mut self) {
        // Where that fails the note stays, for whoever comes next.
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
        for policy in ["policy0", "policy4"] {
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
        assert_eq!(
            steering.points(),
            [903_000, 1_421_000, 1_805_000, 2_112_000, 2_362_000]
        );
        for khz in [903_000, 2_362_000] {
            steering.set(khz).unwrap();
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
    fn unlike_processors_and_a_missing_governor_are_named() {
        let fake = fake();
        fake.write(
            "policy4",
            "scaling_available_frequencies",
            "903000 1000000\n",
        );
        let refused = steer(&fake).unwrap_err();
        assert!(
            matches!(&refused, FrequencyError::Unlike(it) if it == "policy4"),
            "{refused}"
        );
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
