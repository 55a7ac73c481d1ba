// SPDX-License-Identifier: Apache-2.0
//! [`Races`]: what the server's own sequence says of the order of broadcasts.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use server::broadcasts::{Note, Place, Standing};

/// Two broadcasts that waited at one place at once are a race. It fails if the less urgent one went
/// first, or of equals the later one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Races {
    pub(crate) races: u64,
    /// Of them, those of ordered broadcasts for a turn at the process.
    pub(crate) of_turns: u64,
    /// Broadcasts that stayed, and came to who registered later.
    pub(crate) stayed: u64,
    pub(crate) failures: u64,
    /// What waits for more than was written down.
    pub(crate) is_cut: bool,
}

impl Races {
    /// Of all that came and left, in order.
    pub(crate) fn of(notes: &[Note], is_cut: bool) -> Self {
        let mut races = Self {
            is_cut,
            ..Self::default()
        };
        let mut waiting: BTreeMap<Place, Vec<Standing>> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for note in notes {
            let place = waiting.entry(note.place).or_default();
            if note.comes {
                let is_step = matches!(note.place, Place::Steps(_));
                let is_new = seen.insert((note.place, note.standing.number));
                races.stayed += u64::from(is_step && !is_new);
                place.push(note.standing);
                continue;
            }
            let at = place.iter().position(|it| *it == note.standing);
            let Some(at) = at else {
                continue;
            };
            let own = place.remove(at).priority;
            // Who stands before it came before it.
            let earlier = place[..at].iter().filter(|it| it.priority >= own);
            let later = place[at..].iter().filter(|it| it.priority > own);
            races.races += place.len() as u64;
            races.failures += (earlier.count() + later.count()) as u64;
            if let Place::Turns(_) = note.place {
                races.of_turns += place.len() as u64;
            }
        }
        races
    }
}

#[cfg(test)]
mod tests {
    use server::ProcessId;

    use super::*;

    fn note(place: Place, number: u64, priority: u8, comes: bool) -> Note {
        Note {
            standing: Standing {
                number,
                priority,
                rank: priority,
            },
            place,
            comes,
        }
    }

    #[test]
    fn two_that_wait_at_once_are_a_race_and_the_lower_one_first_is_a_failure() {
        let (steps, turns) = (Place::Steps(ProcessId(1)), Place::Turns(ProcessId(1)));
        let came = [(1, 5), (2, 9), (3, 9)].map(|(number, it)| note(steps, number, it, true));
        let left = |order: [(u64, u8); 3]| order.map(|(number, it)| note(steps, number, it, false));
        let races = |order| Races::of(&[came, left(order)].concat(), false);
        let right = races([(2, 9), (3, 9), (1, 5)]);
        assert_eq!((right.races, right.failures), (3, 0));
        // Equals go as they came.
        assert_eq!(races([(3, 9), (2, 9), (1, 5)]).failures, 1);
        assert_eq!(races([(1, 5), (2, 9), (3, 9)]).failures, 2);
        // One after the other is no race, elsewhere is none, and to come again is to have stayed.
        let apart = [
            note(steps, 1, 1, true),
            note(turns, 2, 9, true),
            note(steps, 1, 1, false),
            note(steps, 1, 1, true),
            note(turns, 2, 9, false),
        ];
        let apart = Races::of(&apart, false);
        assert_eq!((apart.races, apart.failures, apart.stayed), (0, 0, 1));
    }
}
