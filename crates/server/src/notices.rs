// SPDX-License-Identifier: Apache-2.0
//! Notifications: what packages want a person to know, kept until somebody takes it away.
//!
//! As on Android one outlives its process, unless a service in the foreground has it. It ends with
//! its package, and when that is stopped by force.
//!
//! What is not here: channels and their settings, and what a notification does when it is clicked.

use std::collections::BTreeMap;

use crate::ProcessId;

/// Of one package, as on Android.
pub const NOTICES_PER_PACKAGE_MAX: usize = 50;
/// Bytes of each text; what is longer is cut.
pub const TEXT_BYTES_MAX: usize = 1_024;

/// What one package calls one of its notifications.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct NoticeKey {
    /// Its package.
    pub package: String,
    /// The package's own name for it.
    pub tag: Option<String>,
    /// The package's own number.
    pub id: i32,
}

/// A notification.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notice {
    /// Its channel.
    pub channel: String,
    /// Its first line.
    pub title: String,
    /// The rest.
    pub text: String,
    /// A person does not wipe it away.
    pub is_ongoing: bool,
    /// The process whose service is in the foreground with it.
    pub service: Option<ProcessId>,
}

/// There is no room for one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{NOTICES_PER_PACKAGE_MAX} notifications of the package are there already")]
pub struct Full;

/// All notifications.
#[derive(Clone, Debug, Default)]
pub struct Notices {
    /// Each with the number of its posting.
    all: BTreeMap<NoticeKey, (u64, Notice)>,
    last: u64,
}

fn cut(text: &mut String) {
    text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
}

impl Notices {
    /// Shows one, in the place of an older one of the same key.
    ///
    /// # Errors
    ///
    /// [`Full`]; then nothing has changed.
    pub fn post(&mut self, mut key: NoticeKey, mut notice: Notice) -> Result<(), Full> {
        key.tag.iter_mut().for_each(cut);
        let texts = [&mut notice.channel, &mut notice.title, &mut notice.text];
        texts.into_iter().for_each(cut);
        let own = self.all.keys().filter(|it| it.package == key.package);
        if !self.all.contains_key(&key) && own.count() >= NOTICES_PER_PACKAGE_MAX {
            return Err(Full);
        }
        self.last += 1;
        self.all.insert(key, (self.last, notice));
        Ok(())
    }

    /// Takes one away. A service's goes only with `is_service`: its package does not take away what
    /// says that it runs. False if nothing went.
    pub fn withdraw(&mut self, mut key: NoticeKey, is_service: bool) -> bool {
        key.tag.iter_mut().for_each(cut);
        let found = self.all.get(&key);
        let may = found.is_some_and(|(_, it)| is_service || it.service.is_none());
        may && self.all.remove(&key).is_some()
    }

    /// Takes all of a package away but those of services in the foreground.
    pub fn withdraw_all(&mut self, package: &str) {
        self.all
            .retain(|key, (_, it)| key.package != package || it.service.is_some());
    }

    /// A package is gone, or stopped by force.
    pub fn end_package(&mut self, package: &str) {
        self.all.retain(|key, _| key.package != package);
    }

    /// A process is gone, and its services with it.
    pub fn process_died(&mut self, process: ProcessId) {
        self.all.retain(|_, (_, it)| it.service != Some(process));
    }

    /// All, the oldest posting first.
    pub fn list(&self) -> Vec<(&NoticeKey, &Notice)> {
        let mut all: Vec<_> = self.all.iter().collect();
        all.sort_by_key(|(_, (number, _))| *number);
        all.into_iter().map(|(key, (_, it))| (key, it)).collect()
    }

    /// Panics if a rule is broken.
    pub fn assert_consistent(&self) {
        let mut counts = BTreeMap::<&str, usize>::new();
        for key in self.all.keys() {
            *counts.entry(&key.package).or_default() += 1;
        }
        assert!(counts.values().all(|it| *it <= NOTICES_PER_PACKAGE_MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(package: &str, tag: Option<&str>, id: i32) -> NoticeKey {
        NoticeKey {
            package: package.to_owned(),
            tag: tag.map(str::to_owned),
            id,
        }
    }

    fn titled(title: &str) -> Notice {
        Notice {
            title: title.to_owned(),
            ..Notice::default()
        }
    }

    fn titles(notices: &Notices) -> Vec<&str> {
        let all = notices.list().into_iter();
        all.map(|it| it.1.title.as_str()).collect()
    }

    #[test]
    fn one_takes_the_place_of_another_of_its_name() {
        let mut notices = Notices::default();
        for (tag, title) in [(None, "a"), (Some("t"), "b"), (None, "c")] {
            notices.post(key("p", tag, 1), titled(title)).unwrap();
        }
        assert_eq!(titles(&notices), ["b", "c"]);
        assert!(!notices.withdraw(key("q", None, 1), false), "another's");
        assert!(notices.withdraw(key("p", None, 1), false));
        assert_eq!(titles(&notices), ["b"]);
        notices.end_package("p");
        assert!(titles(&notices).is_empty());
    }

    #[test]
    fn what_says_that_a_service_runs_goes_with_it() {
        let mut notices = Notices::default();
        let running = Notice {
            service: Some(ProcessId(3)),
            ..titled("runs")
        };
        notices.post(key("p", None, 1), running).unwrap();
        notices.post(key("p", None, 2), titled("stays")).unwrap();
        notices.withdraw_all("p");
        assert!(!notices.withdraw(key("p", None, 1), false));
        assert_eq!(titles(&notices), ["runs"]);
        notices.post(key("p", None, 2), titled("stays")).unwrap();
        notices.process_died(ProcessId(3));
        assert_eq!(titles(&notices), ["stays"]);
    }

    #[test]
    fn a_package_has_fifty_and_texts_end() {
        let mut notices = Notices::default();
        for id in 0..50 {
            notices.post(key("p", None, id), titled("x")).unwrap();
        }
        assert_eq!(notices.post(key("p", None, 50), titled("x")), Err(Full));
        notices.post(key("p", None, 49), titled("again")).unwrap();
        let long = "ä".repeat(TEXT_BYTES_MAX);
        notices
            .post(key("q", Some(&long), 0), titled(&long))
            .unwrap();
        notices.assert_consistent();
        let all = notices.list();
        let (key, notice) = all.last().unwrap();
        assert_eq!(key.tag.as_ref().map(String::len), Some(TEXT_BYTES_MAX));
        assert_eq!(notice.title.len(), TEXT_BYTES_MAX);
    }
}
