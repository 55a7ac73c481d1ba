// SPDX-License-Identifier: Apache-2.0
//! [`Devices`]: all of a machine's, whenever they come and go.

use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::fs::DirEntryExt as _;
use std::path::PathBuf;

use screen::back_end::Stage;

use crate::device::{Device, Person};

const FOLDER: &str = "/dev/input";
/// A machine with more has lost count.
const DEVICES_MAX: usize = 64;

/// A node of the kernel's: its name may be given again, its number is another one then.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    path: PathBuf,
    inode: u64,
}

/// What is there.
#[derive(Default)]
pub(crate) struct Devices {
    /// None for a device that no person uses, or that is not for us.
    all: Vec<(Node, Option<Device>)>,
    numbers: u8,
}

impl Devices {
    /// Looks for what has come and gone.
    pub(crate) fn scan(&mut self, person: &mut Person, stage: &dyn Stage) {
        let nodes = nodes();
        self.all.retain_mut(|(node, device)| {
            let is_there = nodes.contains(node);
            if let Some(device) = device.as_mut().filter(|_| !is_there) {
                device.let_go(person);
            }
            is_there
        });
        for node in nodes {
            let is_known = self.all.iter().any(|it| it.0 == node);
            if is_known || self.all.len() == DEVICES_MAX {
                continue;
            }
            match Device::open(&node.path, self.numbers) {
                Ok(device) => {
                    self.numbers = self.numbers.wrapping_add(u8::from(device.is_some()));
                    self.all.push((node, device));
                }
                Err(error) => {
                    let path = node.path.display();
                    stage.say(&format!("{path} is not used: {error}"));
                    self.all.push((node, None));
                }
            }
        }
    }

    /// What can be waited for.
    pub(crate) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let used = self.all.iter().filter_map(|it| it.1.as_ref());
        used.map(|it| it.as_fd())
    }

    /// Takes what they say.
    pub(crate) fn hear(&mut self, person: &mut Person) {
        for (_, place) in &mut self.all {
            let Some(device) = place else {
                continue;
            };
            if device.hear(person).is_err() {
                // It was pulled out: its node will be another one.
                device.let_go(person);
                *place = None;
            }
        }
    }

    /// They are somebody else's from now on.
    pub(crate) fn let_go(&mut self, person: &mut Person) {
        for (_, device) in std::mem::take(&mut self.all) {
            if let Some(mut device) = device {
                device.let_go(person);
            }
        }
    }
}

fn nodes() -> Vec<Node> {
    let entries = std::fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let is_event = |it: &std::fs::DirEntry| it.file_name().to_string_lossy().starts_with("event");
    let node = |it: std::fs::DirEntry| Node {
        path: it.path(),
        inode: it.ino(),
    };
    let mut nodes: Vec<Node> = entries.filter(is_event).map(node).collect();
    nodes.sort_by(|one, other| one.path.cmp(&other.path));
    nodes
}
