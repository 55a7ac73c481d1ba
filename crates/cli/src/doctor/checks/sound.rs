// SPDX-License-Identifier: Apache-2.0
//! Cards that play, and who has them; sound servers.

use crate::doctor::finding::Finding;
use crate::doctor::machine::Machine;

const CARDS: &str = "proc/asound";
const USERS: &str = "run/user";

/// The kernel's own list. A card's smallest burst stands nowhere there: a stream that opens the
/// card gets it, and says so.
pub(super) fn cards(machine: &Machine) -> Finding {
    const NAME: &str = "sound";
    let outputs = outputs(machine);
    if outputs.is_empty() {
        let why = "libaaudio plays into a file or nothing (TAKT_SOUND=file:PATH, null)";
        return Finding::fit(NAME, "no card that plays", why);
    }
    let why = "libaaudio takes one for itself (TAKT_SOUND=alsa:hw:CARD,DEVICE); the smallest burst \
               is not asked: `AAudioStream_getFramesPerBurst` says it of an open stream";
    Finding::fit(NAME, outputs.join("; "), why)
}

/// PipeWire's doors: one for each user who has it.
pub(super) fn servers(machine: &Machine) -> Finding {
    const NAME: &str = "sound servers";
    let users = machine.names(USERS).into_iter();
    let has_door = |it: &String| {
        let names = machine.names(&format!("{USERS}/{it}"));
        names.iter().any(|it| it == "pipewire-0")
    };
    let doors: Vec<String> = users
        .filter(has_door)
        .map(|it| format!("user {it}"))
        .collect();
    match doors.is_empty() {
        true => Finding::fit(NAME, "no PipeWire", "TAKT_SOUND=pipewire is refused"),
        false => Finding::fit(
            NAME,
            format!("PipeWire of {}", doors.join(", ")),
            "libaaudio plays there beside others (TAKT_SOUND=pipewire), by XDG_RUNTIME_DIR",
        ),
    }
}

/// `hw:0,0 Dummy, free`, each.
fn outputs(machine: &Machine) -> Vec<String> {
    let is_card = |name: &String| {
        let number = name.strip_prefix("card");
        number.is_some_and(|it| it.parse::<u32>().is_ok())
    };
    let mut found = Vec::new();
    for card in machine.names(CARDS).into_iter().filter(is_card) {
        let place = format!("{CARDS}/{card}");
        let name = machine.read(&format!("{place}/id")).unwrap_or_default();
        for pcm in machine.names(&place) {
            let number = pcm.strip_prefix("pcm").and_then(|it| it.strip_suffix('p'));
            let Some(number) = number else { continue };
            let holders = holders(machine, &format!("{place}/{pcm}"));
            let card = &card["card".len()..];
            found.push(format!("hw:{card},{number} {name}, {holders}"));
        }
    }
    found
}

/// Who has one of its parts open.
fn holders(machine: &Machine, place: &str) -> String {
    let parts = machine.names(place);
    let owners = parts.iter().filter_map(|part| {
        let status = machine.read(&format!("{place}/{part}/status"))?;
        let mut lines = status.lines();
        let owner = lines.find_map(|line| line.strip_prefix("owner_pid")?.split(':').nth(1))?;
        let name = machine.read(&format!("proc/{}/comm", owner.trim()));
        let name = name.unwrap_or_else(|| "gone".to_owned());
        Some(format!("{name} ({})", owner.trim()))
    });
    let owners: Vec<String> = owners.collect();
    match owners.is_empty() {
        true => "free".to_owned(),
        false => format!("held by {}", owners.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_and_who_has_them() {
        let root = tempfile::tempdir().unwrap();
        let machine = Machine::at(root.path());
        assert_eq!(cards(&machine).found, "no card that plays");
        assert_eq!(servers(&machine).found, "no PipeWire");
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("run/user/1000/pipewire-0", "");
        write("run/user/1001/bus", "");
        assert_eq!(servers(&machine).found, "PipeWire of user 1000");
        write("proc/asound/card0/id", "Dummy\n");
        write("proc/asound/card0/pcm0p/sub0/status", "closed\n");
        write("proc/asound/card0/pcm0c/sub0/status", "closed\n");
        write("proc/asound/card1/id", "USB\n");
        let held = "state: RUNNING\nowner_pid   : 77\ntrigger_time: 1\n";
        write("proc/asound/card1/pcm2p/sub0/status", held);
        write("proc/77/comm", "synth\n");
        let found = cards(&machine).found;
        assert_eq!(found, "hw:0,0 Dummy, free; hw:1,2 USB, held by synth (77)");
    }
}
