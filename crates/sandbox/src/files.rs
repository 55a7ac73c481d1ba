// SPDX-License-Identifier: Apache-2.0
//! Landlock: which files, which signals and sockets. Rules are made before the fork; see
//! [`Rules`].

use std::os::fd::OwnedFd;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, Scope, make_bitflags, path_beneath_rules,
};

use crate::spec::{Access, Network, OtherProcesses, Spec};
use crate::sys;

/// The level that this code was written against and tried on. What later ones add is not asked for,
/// so a newer kernel changes nothing by itself.
const LEVEL_KNOWN: u32 = 7;
const ABI_KNOWN: ABI = ABI::V7;

/// From these levels on the kernel bounds it.
pub(crate) const LEVEL_TRUNCATION: u32 = 3;
pub(crate) const LEVEL_PORTS: u32 = 4;
pub(crate) const LEVEL_DEVICE_CALLS: u32 = 5;
pub(crate) const LEVEL_SCOPES: u32 = 6;

/// The kernel's level of Landlock; 0 where it has none.
pub fn landlock_level() -> u32 {
    sys::landlock_level().unwrap_or(0)
}

/// What one process will be put under.
pub(crate) struct Rules {
    pub(crate) ruleset: OwnedFd,
    /// What a process may do with its own folder of /proc; that rule is added when there is one.
    pub(crate) own_process: u64,
}

/// `None` where the kernel has no Landlock.
pub(crate) fn rules(spec: &Spec, level: u32) -> Result<Option<Rules>, RulesetError> {
    let mut ruleset = Ruleset::default().handle_access(AccessFs::from_all(ABI_KNOWN))?;
    ruleset = match spec.network {
        Network::None => ruleset.handle_access(AccessNet::from_all(ABI_KNOWN))?,
        Network::Listen => ruleset.handle_access(AccessNet::ConnectTcp)?,
        Network::Full => ruleset,
    };
    let mut created = ruleset.scope(Scope::from_all(ABI_KNOWN))?.create()?;
    for grant in &spec.files {
        let rules = path_beneath_rules([&grant.path], rights(grant.access));
        created = created.add_rules(rules)?;
    }
    if spec.other_processes == OtherProcesses::Listed {
        created = created.add_rules(path_beneath_rules(["/proc"], rights(Access::Read)))?;
    }
    let ruleset: Option<OwnedFd> = created.into();
    Ok(ruleset.map(|ruleset| Rules {
        ruleset,
        own_process: (own_process() & AccessFs::from_all(abi(level))).bits(),
    }))
}

fn rights(access: Access) -> BitFlags<AccessFs> {
    let read = make_bitflags!(AccessFs::{ReadFile | ReadDir});
    match access {
        Access::Read => read,
        Access::Run => read | AccessFs::Execute,
        Access::Write => {
            read | make_bitflags!(AccessFs::{
                WriteFile | Truncate | Refer | MakeReg | MakeDir | MakeSym | MakeFifo | MakeSock
                    | RemoveFile | RemoveDir
            })
        }
        Access::Device => make_bitflags!(AccessFs::{ReadFile | WriteFile | IoctlDev}),
        Access::Scratch => make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate | MakeReg}),
        Access::Socket => make_bitflags!(AccessFs::{MakeSock | RemoveFile}),
    }
}

/// Names of threads, the machine's own way to write code, how soon it is ended.
fn own_process() -> BitFlags<AccessFs> {
    make_bitflags!(AccessFs::{ReadFile | ReadDir | WriteFile | Truncate})
}

fn abi(level: u32) -> ABI {
    match level.min(LEVEL_KNOWN) {
        0 => ABI::Unsupported,
        1 => ABI::V1,
        2 => ABI::V2,
        3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        6 => ABI::V6,
        _ => ABI::V7,
    }
}
