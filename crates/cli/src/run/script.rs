// SPDX-License-Identifier: Apache-2.0
//! [`Script`]: what `takt run` does at the display, in the order of its options.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::{Arg, ArgAction, ArgMatches, Command, Error, FromArgMatches, value_parser};
use serde::Serialize;

/// One step; the launcher reads these names.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Step {
    /// A finger comes down there and goes up.
    Tap(f32, f32),
    /// For the view that takes text.
    Text(String),
    /// A key goes down and up.
    Key(String),
    /// The display turns by a quarter.
    Rotate(bool),
    /// Milliseconds.
    Wait(u64),
    /// Where the picture goes.
    Screenshot(PathBuf),
    /// Where the list of views goes.
    Views(PathBuf),
    /// So many touches, and where the lines of what came of them go: for `takt bench input`.
    Measure(u32, PathBuf),
    /// So many random events, and the seed that they come of.
    Monkey(u32, u32),
}

/// Steps in the order in which the options stand.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Script(Vec<Step>);

impl Script {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Files that steps write.
    pub(super) fn outputs(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().filter_map(|step| match step {
            Step::Screenshot(path) | Step::Views(path) | Step::Measure(_, path) => {
                Some(path.as_path())
            }
            _ => None,
        })
    }

    /// The steps with whole paths: the application's process may be elsewhere.
    pub(super) fn steps(&self) -> Result<Vec<Step>> {
        let whole = |step: &Step| match step {
            Step::Screenshot(path) => whole_path("screenshot", path).map(Step::Screenshot),
            Step::Views(path) => whole_path("views", path).map(Step::Views),
            Step::Measure(count, path) => Ok(Step::Measure(*count, std::path::absolute(path)?)),
            other => Ok(other.clone()),
        };
        self.0.iter().map(whole).collect()
    }
}

fn whole_path(option: &str, path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).with_context(|| format!("--{option} {}", path.display()))
}

fn place(text: &str) -> Result<Step, String> {
    let wanted = || "X,Y in pixels is wanted".to_owned();
    let (x, y) = text.split_once(',').ok_or_else(wanted)?;
    let number = |text: &str| {
        let number = text.parse::<f32>().ok().filter(|it| it.is_finite());
        number.ok_or_else(wanted)
    };
    Ok(Step::Tap(number(x)?, number(y)?))
}

fn wait(text: &str) -> Result<Step, String> {
    let time: Duration = humantime::parse_duration(text).map_err(|it| it.to_string())?;
    let millis = u64::try_from(time.as_millis()).map_err(|it| it.to_string())?;
    Ok(Step::Wait(millis))
}

fn text(text: &str) -> Result<Step, String> {
    Ok(Step::Text(text.to_owned()))
}

fn key(text: &str) -> Result<Step, String> {
    Ok(Step::Key(text.to_uppercase()))
}

fn rotate(_: &str) -> Result<Step, String> {
    Ok(Step::Rotate(true))
}

fn file(text: &str) -> Result<PathBuf, String> {
    match text {
        "" => Err("a file is wanted".to_owned()),
        path => Ok(PathBuf::from(path)),
    }
}

fn screenshot(text: &str) -> Result<Step, String> {
    file(text).map(Step::Screenshot)
}

fn views(text: &str) -> Result<Step, String> {
    file(text).map(Step::Views)
}

fn measure(text: &str) -> Result<Step, String> {
    let (count, path) = text.split_once(',').ok_or("COUNT,FILE is wanted")?;
    let count = count.parse().map_err(|_| "COUNT,FILE is wanted")?;
    Ok(Step::Measure(count, PathBuf::from(path)))
}

fn monkey(text: &str) -> Result<Step, String> {
    let count = text.parse().ok();
    let count = count.filter(|it| (1..=EVENTS_MAX).contains(it));
    let count = count.ok_or_else(|| format!("a number from 1 to {EVENTS_MAX} is wanted"))?;
    Ok(Step::Monkey(count, 0))
}

/// Of one step: some hours.
const EVENTS_MAX: u32 = 1_000_000;

/// A seed that nobody chose; the launcher prints it.
fn some_seed() -> u32 {
    RandomState::new().build_hasher().finish() as u32
}

const NAMES: [&str; 9] = [
    "tap",
    "text",
    "key",
    "rotate",
    "wait",
    "screenshot",
    "views",
    "measure-input",
    "monkey",
];

impl clap::Args for Script {
    fn augment_args(command: Command) -> Command {
        let arg = |name: &'static str, value: &'static str, help: &'static str| {
            let arg = Arg::new(name).long(name).value_name(value).help(help);
            arg.action(ArgAction::Append).help_heading(HEADING)
        };
        command
            .arg(arg("tap", "X,Y", "Tap the display there").value_parser(place))
            .arg(arg("text", "TEXT", "Give text to the view that takes it").value_parser(text))
            .arg(
                arg(
                    "key",
                    "NAME",
                    "Press a key by Android's name, such as BACK or ENTER",
                )
                .value_parser(key),
            )
            .arg(
                arg("rotate", "", "Turn the display by a quarter")
                    .num_args(0)
                    .default_missing_value("")
                    .value_parser(rotate),
            )
            .arg(arg("wait", "TIME", "Wait, such as 500ms").value_parser(wait))
            .arg(
                arg(
                    "screenshot",
                    "FILE",
                    "Write what the display shows, as a PNG",
                )
                .value_parser(screenshot),
            )
            .arg(
                arg(
                    "views",
                    "FILE",
                    "Write the views that are shown, as XML like `uiautomator dump`",
                )
                .value_parser(views),
            )
            .arg(
                arg("measure-input", "COUNT,FILE", "Measure touches")
                    .value_parser(measure)
                    .hide(true),
            )
            .arg(arg("monkey", "N", "Do N random taps, drags, keys and texts").value_parser(monkey))
            .arg(
                Arg::new("seed")
                    .long("seed")
                    .value_name("S")
                    .help("What --monkey does comes of this number, which the log says")
                    .value_parser(value_parser!(u32))
                    .requires("monkey")
                    .help_heading(HEADING),
            )
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

const HEADING: &str = "At the display, step by step in this order";

impl FromArgMatches for Script {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut steps: Vec<(usize, Step)> = Vec::new();
        for name in NAMES {
            let places = matches.indices_of(name).into_iter().flatten();
            let values = matches.get_many::<Step>(name).into_iter().flatten();
            steps.extend(places.zip(values.cloned()));
        }
        steps.sort_by_key(|(place, _)| *place);
        let seed = matches.get_one::<u32>("seed").copied();
        for (_, step) in &mut steps {
            if let Step::Monkey(_, own) = step {
                *own = seed.unwrap_or_else(some_seed);
            }
        }
        Ok(Self(steps.into_iter().map(|(_, step)| step).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::Args as _;

    use super::*;

    fn parsed(options: &[&str]) -> Result<Script, Error> {
        let command = Script::augment_args(Command::new("run").no_binary_name(true));
        Script::from_arg_matches(&command.try_get_matches_from(options)?)
    }

    #[test]
    fn steps_stand_in_the_order_of_the_options() {
        let script = parsed(&[
            "--tap=1,2.5",
            "--screenshot=a.png",
            "--text=x",
            "--tap=3,4",
            "--rotate",
            "--key=enter",
            "--views=a.xml",
            "--wait=2s",
        ]);
        let expected = [
            Step::Tap(1.0, 2.5),
            Step::Screenshot("a.png".into()),
            Step::Text("x".to_owned()),
            Step::Tap(3.0, 4.0),
            Step::Rotate(true),
            Step::Key("ENTER".to_owned()),
            Step::Views("a.xml".into()),
            Step::Wait(2000),
        ];
        assert_eq!(script.unwrap().0, expected);
        assert!(parsed(&[]).unwrap().is_empty());
        for wrong in [
            "--tap=1",
            "--tap=a,1",
            "--tap=1,inf",
            "--wait=x",
            "--screenshot=",
        ] {
            assert!(parsed(&[wrong]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_monkey_has_a_seed() {
        let script = parsed(&["--monkey=5", "--wait=1s", "--seed=7", "--monkey=6"]).unwrap();
        let expected = [Step::Monkey(5, 7), Step::Wait(1000), Step::Monkey(6, 7)];
        assert_eq!(script.0, expected);
        let seeds: BTreeSet<u32> = (0..8)
            .map(|_| match parsed(&["--monkey=5"]).unwrap().0[..] {
                [Step::Monkey(5, seed)] => seed,
                ref other => panic!("{other:?}"),
            })
            .collect();
        assert!(seeds.len() > 1, "without --seed it is always {seeds:?}");
        for wrong in ["--monkey=0", "--monkey=1000001", "--monkey=x", "--seed=1"] {
            assert!(parsed(&[wrong]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_launcher_reads_names_and_values() {
        let json = |step: Step| serde_json::to_string(&step).unwrap();
        assert_eq!(json(Step::Tap(1.0, 2.0)), r#"{"tap":[1.0,2.0]}"#);
        assert_eq!(json(Step::Wait(5)), r#"{"wait":5}"#);
        assert_eq!(json(Step::Monkey(5, 7)), r#"{"monkey":[5,7]}"#);
    }
}
