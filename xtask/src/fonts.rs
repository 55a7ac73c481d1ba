// SPDX-License-Identifier: Apache-2.0
//! The fonts that the framework draws with: those of our list, and those of the scripts that
//! `TAKT_FONTS` names, as AOSP's own list in the jar has them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::jdk;
use crate::stage::command;

/// Latin, Greek, Cyrillic and symbols.
const LIST: &str = "framework/fonts/fonts.xml";
/// Of the jar.
const ALL: &str = "fonts/fonts.xml";
/// Scripts, by their letters in ISO 15924, `cjk`, `emoji` or `all`.
const SETTING: &str = "TAKT_FONTS";
const END: &str = "</familyset>";
const FONT_END: &str = "</font>";
const FAMILY_END: &str = "</family>";

/// What is wanted beyond our list.
fn wanted() -> BTreeSet<String> {
    let setting = std::env::var(SETTING).unwrap_or_default();
    let names = setting.split(',').map(str::trim);
    let names = names.filter(|it| !it.is_empty());
    names.map(str::to_ascii_lowercase).collect()
}

/// A file that is newer than what was built if something else is wanted now.
pub(crate) fn note(out: &Path) -> Result<PathBuf> {
    let file = out.join("fonts.txt");
    let names: Vec<String> = wanted().into_iter().collect();
    let text = names.join(",") + "\n";
    if std::fs::read_to_string(&file).ok().as_ref() != Some(&text) {
        std::fs::create_dir_all(out)?;
        std::fs::write(&file, text)?;
    }
    Ok(file)
}

/// Puts the fonts and their list into `host`, from the jar.
pub(crate) fn unpack(jar: &Path, host: &Path) -> Result<()> {
    let extract = |files: &[String]| {
        let mut command_line = jdk::tool("jar");
        command_line.arg("--extract").arg("--file").arg(jar);
        command(command_line.args(files).current_dir(host))
    };
    extract(&[ALL.to_owned()])?;
    let list = host.join(ALL);
    let all = std::fs::read_to_string(&list)?;
    let names = jdk::tool("jar")
        .arg("--list")
        .arg("--file")
        .arg(jar)
        .output()?;
    let there = String::from_utf8_lossy(&names.stdout).into_owned();
    let there: BTreeSet<&str> = there.lines().collect();
    let has = |name: &str| there.contains(format!("fonts/{name}").as_str());
    let own = std::fs::read_to_string(LIST)?;
    let whole = with(&own, &all, &wanted(), has)?;
    let files: Vec<String> = files(&whole).map(|it| format!("fonts/{it}")).collect();
    extract(&files)?;
    Ok(std::fs::write(list, whole)?)
}

/// The files that a list names.
fn files(list: &str) -> impl Iterator<Item = &str> {
    let words = list.split(['<', '>']).map(str::trim);
    let is_file = |it: &&str| it.ends_with(".ttf") || it.ends_with(".ttc");
    words.filter(is_file)
}

/// What a family's languages are called in the setting: `und-Arab` is `arab`.
fn scripts(languages: &str) -> BTreeSet<String> {
    let name = |it: &str| match it {
        "zh-Hans" | "zh-Hant" | "zh-Bopo" | "ja" | "ko" => "cjk".to_owned(),
        "und-Zsye" => "emoji".to_owned(),
        _ => it.trim_start_matches("und-").to_ascii_lowercase(),
    };
    languages.split(',').map(name).collect()
}

/// Our own list, and behind it those families of the other one whose script is wanted and whose
/// files are there.
fn with(
    own: &str,
    all: &str,
    wanted: &BTreeSet<String>,
    is_there: impl Fn(&str) -> bool,
) -> Result<String> {
    let mut known = BTreeSet::new();
    let mut more = String::new();
    for family in all.split("<family lang=\"").skip(1) {
        let (languages, rest) = family.split_once('"').context("a list without languages")?;
        let (attributes, fonts) = rest.split_once('>').context("a family without an end")?;
        let (fonts, _) = fonts
            .split_once(FAMILY_END)
            .context("a family without an end")?;
        let is_of_jar = |it: &&str| files(it).all(&is_there) && files(it).count() > 0;
        let fonts = fonts.split_inclusive(FONT_END).map(str::trim);
        let fonts: Vec<&str> = fonts.filter(is_of_jar).collect();
        if fonts.is_empty() {
            continue;
        }
        let scripts = scripts(languages);
        known.extend(scripts.clone());
        if wanted.contains("all") || !scripts.is_disjoint(wanted) {
            let fonts = fonts.join("\n        ");
            more += &format!(
                "    <family lang=\"{languages}\"{attributes}>\n        {fonts}\n    {FAMILY_END}\n"
            );
        }
    }
    known.insert("all".to_owned());
    if let Some(other) = wanted.difference(&known).next() {
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        bail!(
            "{SETTING}: no font has {other:?}; there are {}",
            known.join(", ")
        );
    }
    let (own, _) = own.split_once(END).context("a list without an end")?;
    Ok(format!("{own}{more}{END}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "<familyset>\n<font>A.ttf</font>\n</familyset>\n";
    const ALL: &str = r#"<familyset>
    <family name="serif">
        <font>B.ttf</font>
    </family>
    <family lang="und-Arab" variant="compact">
        <font weight="400">Arab.ttf
            <axis tag="wght" stylevalue="400" />
        </font>
        <font weight="700">Gone.ttf</font>
    </family>
    <family lang="zh-Hant,zh-Bopo">
        <font index="3">Cjk.ttc</font>
    </family>
    <family lang="und-Goth">
        <font>Gone.ttf</font>
    </family>
</familyset>"#;

    fn chosen(wanted: &[&str]) -> Result<String> {
        let wanted = wanted.iter().map(|it| (*it).to_owned()).collect();
        with(OWN, ALL, &wanted, |it| it != "Gone.ttf")
    }

    #[test]
    fn scripts_that_are_wanted_come_behind_our_own_fonts() {
        assert_eq!(chosen(&[]).unwrap(), OWN);
        let arab = chosen(&["arab"]).unwrap();
        assert_eq!(files(&arab).collect::<Vec<_>>(), ["A.ttf", "Arab.ttf"]);
        assert!(arab.contains(r#"<family lang="und-Arab" variant="compact">"#));
        assert!(
            arab.contains("400\" />\n        </font>\n    </family>"),
            "{arab}"
        );
        let all = chosen(&["all"]).unwrap();
        let found: Vec<&str> = files(&all).collect();
        assert_eq!(found, ["A.ttf", "Arab.ttf", "Cjk.ttc"]);
        assert_eq!(files(&chosen(&["cjk"]).unwrap()).last(), Some("Cjk.ttc"));
    }

    #[test]
    fn a_script_without_a_font_is_refused_by_name() {
        let text = chosen(&["goth"]).unwrap_err().to_string();
        assert!(
            text.contains("\"goth\"; there are all, arab, cjk"),
            "{text}"
        );
    }
}
