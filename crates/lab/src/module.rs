// SPDX-License-Identifier: Apache-2.0
//! Kernel modules: [`ModuleRequest`] from the command line to a list of files in load order,
//! dependencies first.
//!
//! A module names what it needs in its `.modinfo` section; no depmod is needed.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use object::{Object, ObjectSection};

use crate::cache::Cache;
use crate::determinism::digest;
use crate::error::LabError;
use crate::kernel::{Kernel, decompress};

/// A module to load, as `name` or `name:parameter=value parameter=value`; for one that is not the
/// kernel's own, the path of its `.ko` in place of the name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleRequest {
    /// Name, with `-` or `_` as one likes.
    pub name: String,
    /// A file that is not the kernel package's.
    pub file: Option<PathBuf>,
    /// Parameters, apart by spaces; may be empty.
    pub parameters: String,
}

impl FromStr for ModuleRequest {
    type Err = String;

    fn from_str(text: &str) -> Result<ModuleRequest, String> {
        let (named, parameters) = text.split_once(':').unwrap_or((text, ""));
        let is_word = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
        let path = Path::new(named);
        let is_file = path.extension().is_some_and(|it| it == "ko");
        let name = match is_file {
            true => module_name(path),
            false => named.to_owned(),
        };
        if name.is_empty() || !name.chars().all(is_word) {
            return Err(format!("'{named}' is no module name"));
        }
        if parameters.contains(['\n', '*', '?', '[']) {
            return Err("parameters hold no newlines and no wildcards".to_owned());
        }
        Ok(ModuleRequest {
            name,
            file: is_file.then(|| path.to_owned()),
            parameters: parameters.to_owned(),
        })
    }
}

/// A module file with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Module {
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    pub(crate) parameters: String,
}

/// All modules of one kernel, by name.
pub(crate) struct ModuleIndex<'a> {
    kernel: &'a Kernel,
    cache: &'a Cache,
    files: HashMap<String, PathBuf>,
    builtin: HashSet<String>,
}

impl<'a> ModuleIndex<'a> {
    /// Reads the names under lib/modules/RELEASE.
    pub(crate) fn read(kernel: &'a Kernel, cache: &'a Cache) -> Result<Self, LabError> {
        let mut files = HashMap::new();
        collect(&kernel.modules.join("kernel"), &mut files)?;
        let builtin =
            fs::read_to_string(kernel.modules.join("modules.builtin")).unwrap_or_default();
        Ok(ModuleIndex {
            kernel,
            cache,
            files,
            builtin: builtin
                .lines()
                .map(|it| module_name(Path::new(it)))
                .collect(),
        })
    }

    /// What to load, and in which order: every module after all that it needs, none twice.
    pub(crate) fn plan(&self, requests: &[ModuleRequest]) -> Result<Vec<Module>, LabError> {
        let mut plan = Vec::new();
        for request in requests {
            match &request.file {
                Some(file) => self.add_file(request, file, &mut plan)?,
                None => self.add(&request.name, &request.parameters, &mut plan)?,
            }
        }
        Ok(plan)
    }

    /// A module that was built apart: for this very kernel, or the guest would refuse it.
    fn add_file(
        &self,
        request: &ModuleRequest,
        file: &Path,
        plan: &mut Vec<Module>,
    ) -> Result<(), LabError> {
        let bytes = fs::read(file).map_err(LabError::io("read", file))?;
        let built_for = info(&bytes, "vermagic").into_iter().next();
        let release = built_for.as_deref().and_then(|it| it.split(' ').next());
        if release != Some(self.kernel.release.as_str()) {
            return Err(LabError::ModuleOfOtherKernel {
                file: file.to_owned(),
                built_for: release.unwrap_or("nothing").to_owned(),
                kernel: self.kernel.release.clone(),
            });
        }
        for need in needs(&bytes) {
            self.add(&need, "", plan)?;
        }
        plan.push(Module {
            name: request.name.clone(),
            file: file.to_owned(),
            parameters: request.parameters.clone(),
        });
        Ok(())
    }

    fn add(&self, name: &str, parameters: &str, plan: &mut Vec<Module>) -> Result<(), LabError> {
        let name = name.replace('-', "_");
        if plan.iter().any(|it| it.name == name) || self.builtin.contains(&name) {
            return Ok(());
        }
        let packed = self
            .files
            .get(&name)
            .ok_or_else(|| LabError::ModuleNotFound {
                name: name.clone(),
                kernel: self.kernel.release.clone(),
            })?;
        let (file, needs) = self.open(packed)?;
        for need in needs {
            self.add(&need, "", plan)?;
        }
        plan.push(Module {
            name,
            file,
            parameters: parameters.to_owned(),
        });
        Ok(())
    }

    /// The module's uncompressed file, and the names it needs.
    fn open(&self, packed: &Path) -> Result<(PathBuf, Vec<String>), LabError> {
        let tool: Option<(&'static str, &[&str])> =
            match packed.extension().and_then(|it| it.to_str()) {
                Some("xz") => Some(("xz", &["-dcq"])),
                Some("zst") => Some(("zstd", &["-dcq"])),
                _ => None,
            };
        let mut bytes = fs::read(packed).map_err(LabError::io("read", packed))?;
        let mut file = packed.to_owned();
        if let Some((tool, flags)) = tool {
            file = self
                .cache
                .find_or_build("module", &digest(&bytes), |made| {
                    decompress(tool, flags, &bytes, made)
                })?;
            bytes = fs::read(&file).map_err(LabError::io("read", &file))?;
        }
        Ok((file, needs(&bytes)))
    }
}

fn collect(directory: &Path, files: &mut HashMap<String, PathBuf>) -> Result<(), LabError> {
    for entry in fs::read_dir(directory).map_err(LabError::io("read", directory))? {
        let path = entry.map_err(LabError::io("read", directory))?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.to_string_lossy().contains(".ko") {
            files.insert(module_name(&path), path);
        }
    }
    Ok(())
}

/// kernel/drivers/char/virtio-rng.ko.xz -> virtio_rng
fn module_name(path: &Path) -> String {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    file.split(".ko")
        .next()
        .unwrap_or_default()
        .replace('-', "_")
}

fn needs(module: &[u8]) -> Vec<String> {
    let named = info(module, "depends");
    let named = named.iter().flat_map(|it| it.split(','));
    named
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect()
}

/// What a module says of itself under this key.
fn info(module: &[u8], key: &str) -> Vec<String> {
    let Ok(file) = object::File::parse(module) else {
        return Vec::new();
    };
    let Some(Ok(info)) = file.section_by_name(".modinfo").map(|it| it.data()) else {
        return Vec::new();
    };
    info.split(|it| *it == 0)
        .filter_map(|it| it.strip_prefix(key.as_bytes())?.strip_prefix(b"="))
        .map(|it| String::from_utf8_lossy(it).into_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_parse() {
        let request: ModuleRequest = "binder_linux:devices=binder,hwbinder".parse().unwrap();
        assert_eq!(request.name, "binder_linux");
        assert_eq!(request.parameters, "devices=binder,hwbinder");
        assert_eq!("9p".parse::<ModuleRequest>().unwrap().parameters, "");
        assert_eq!(request.file, None);
        let built: ModuleRequest = "../a/my-own.ko:devices=x".parse().unwrap();
        assert_eq!(built.name, "my_own");
        assert_eq!(built.file, Some(PathBuf::from("../a/my-own.ko")));
        assert_eq!(built.parameters, "devices=x");
        assert!("../x".parse::<ModuleRequest>().is_err());
        assert!(".ko".parse::<ModuleRequest>().is_err());
        assert!("".parse::<ModuleRequest>().is_err());
        assert!("x:a=1\nrm".parse::<ModuleRequest>().is_err());
    }

    #[test]
    fn names_lose_folder_ending_and_dashes() {
        assert_eq!(
            module_name(Path::new("kernel/a/virtio-rng.ko.xz")),
            "virtio_rng"
        );
        assert_eq!(module_name(Path::new("9p.ko")), "9p");
    }
}
