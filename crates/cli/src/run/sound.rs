// SPDX-License-Identifier: Apache-2.0
//! [`devices`]: which devices of sound an application reaches from its sandbox. As on Android,
//! playing needs no permission; what records is there for RECORD_AUDIO alone.

use std::path::PathBuf;

pub(crate) const RECORD_AUDIO: &str = "android.permission.RECORD_AUDIO";
/// Which device plays and which one records; who starts applications says it.
pub(crate) const VARIABLES: [&str; 2] = ["TAKT_SOUND", "TAKT_SOUND_INPUT"];
const FOLDER: &str = "/dev/snd";
/// What only cards by ALSA need.
const CARD: &str = "alsa:";

/// Those of all cards; none unless a card is chosen, as it is without a word.
pub(crate) fn devices(may_record: bool) -> Vec<PathBuf> {
    let chosen = VARIABLES.map(|name| std::env::var(name).ok());
    let is_card = |it: &String| it.contains(CARD);
    if chosen[0].is_some() && !chosen.iter().flatten().any(is_card) {
        return Vec::new();
    }
    let entries = std::fs::read_dir(FOLDER).into_iter().flatten();
    let paths = entries.filter_map(|it| Some(it.ok()?.path()));
    let is_wanted = |path: &PathBuf| {
        let name = path.file_name().and_then(|it| it.to_str());
        name.is_some_and(|it| is_reached(it, may_record))
    };
    paths.filter(is_wanted).collect()
}

/// A card's controls, its outputs, and its inputs for who may record.
fn is_reached(name: &str, may_record: bool) -> bool {
    let is_output = name.starts_with("pcm") && name.ends_with('p');
    let is_input = name.starts_with("pcm") && name.ends_with('c');
    name == "timer" || name.starts_with("control") || is_output || (is_input && may_record)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_for_who_may_record() {
        for name in ["controlC0", "pcmC0D0p", "pcmC12D3p", "timer"] {
            assert!(is_reached(name, false), "{name}");
        }
        assert!(!is_reached("pcmC0D0c", false));
        assert!(is_reached("pcmC0D0c", true));
        for name in ["seq", "midiC0D0", "by-path", "hwC0D0"] {
            assert!(!is_reached(name, true), "{name}");
        }
    }
}
