// SPDX-License-Identifier: Apache-2.0
//! [`Deaths`]: which handles are watched, and under which number: the kernel watches a handle once,
//! and may use its number again.

use std::collections::HashMap;

use rt::driver::Commands;

#[derive(Debug, Default)]
pub(super) struct Deaths {
    by_handle: HashMap<u32, Watch>,
    last: u64,
}

#[derive(Debug)]
struct Watch {
    number: u64,
    watchers: usize,
    is_over: bool,
}

impl Deaths {
    /// One more wants to be told.
    pub(super) fn watch(&mut self, handle: u32, commands: &mut Commands) {
        let last = &mut self.last;
        let watch = self.by_handle.entry(handle).or_insert_with(|| {
            *last += 1;
            commands.watch(handle, *last);
            Watch {
                number: *last,
                watchers: 0,
                is_over: false,
            }
        });
        watch.watchers += 1;
    }

    /// One less does.
    pub(super) fn unwatch(&mut self, handle: u32, commands: &mut Commands) {
        let Some(watch) = self.by_handle.get_mut(&handle) else {
            return;
        };
        watch.watchers -= 1;
        if watch.watchers == 0 {
            // Said even where it is over: the kernel keeps it until then.
            commands.unwatch(handle, watch.number);
            self.by_handle.remove(&handle);
        }
    }

    /// The handle that has this number, the first time.
    pub(super) fn is_over(&mut self, number: u64) -> Option<u32> {
        let mut watches = self.by_handle.iter_mut();
        let (handle, watch) = watches.find(|(_, it)| it.number == number)?;
        (!std::mem::replace(&mut watch.is_over, true)).then_some(*handle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_watched_once_and_a_number_means_one_watch() {
        let (mut deaths, mut commands) = (Deaths::default(), Commands::default());
        deaths.watch(5, &mut commands);
        deaths.watch(5, &mut commands);
        assert_eq!(deaths.is_over(1), Some(5));
        assert_eq!(deaths.is_over(1), None, "told once");
        deaths.unwatch(5, &mut commands);
        deaths.unwatch(5, &mut commands);
        deaths.unwatch(5, &mut commands);
        deaths.watch(5, &mut commands);
        assert_eq!(deaths.is_over(1), None, "the old watch");
        assert_eq!(deaths.is_over(2), Some(5));
        assert_eq!(deaths.is_over(u64::MAX), None);
    }
}
