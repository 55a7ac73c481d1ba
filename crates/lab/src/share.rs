// SPDX-License-Identifier: Apache-2.0
//! Directories of the host in the guest, by 9p over virtio: the root, read-only, and the directory
//! for output files.

use std::ffi::OsString;
use std::path::Path;

use crate::module::ModuleRequest;

/// What a guest needs to mount the host's root under an overlay.
const MODULES: [&str; 4] = ["virtio_pci", "9pnet_virtio", "9p", "overlay"];

/// The modules, before those that the user asks for.
pub(crate) fn modules() -> Vec<ModuleRequest> {
    let request = |name: &&str| ModuleRequest {
        name: (*name).to_owned(),
        file: None,
        parameters: String::new(),
    };
    MODULES.iter().map(request).collect()
}

/// QEMU's words for the host's root. Files that the user cannot read stay unreadable: QEMU runs as
/// the user.
pub(crate) fn root_arguments() -> [OsString; 2] {
    [
        "-virtfs".into(),
        "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap".into(),
    ]
}

/// QEMU's words for a directory that the guest writes; the files belong to the user.
pub(crate) fn out_arguments(directory: &Path) -> [OsString; 2] {
    let mut value = OsString::from("local,mount_tag=out,security_model=none,multidevs=remap,path=");
    value.push(escape(directory));
    ["-virtfs".into(), value]
}

/// A comma inside a value of QEMU's is written twice.
pub(crate) fn escape(path: &Path) -> String {
    path.to_string_lossy().replace(',', ",,")
}
