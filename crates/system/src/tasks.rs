// SPDX-License-Identifier: Apache-2.0
//! What packages declare of real-time tasks, and whether they fit on this machine together.
//!
//! A task is a service with RTDroid's `<periodic>`; the looper of a component with `<messages>`,
//! which says how often messages come at its priority, and what each takes; and the collector of an
//! application with `<collector>`, at the priority that `--realtime` gives it.

use std::path::Path;

use admission::{Machine, Policy, Refusal, Task, Throttle, Verdict, admit};
use apk::{Component, ComponentKind, Extension, Manifest};

/// What `javax.realtime` gives a thread without a priority of its own.
const PRIORITY: u8 = 50;
/// The collector's under `--realtime`.
const COLLECTOR: u8 = 1;
/// How late a machine is said to start a release, without a measurement.
pub const WAKE_US: u32 = 100;

/// This machine, with the share that its kernel leaves to real-time threads.
///
/// # Errors
///
/// What of the kernel's cannot be read.
pub fn machine(processors: u32, wake_us: u32) -> Result<Machine, String> {
    let kernel = |name: &str| {
        let path = Path::new("/proc/sys/kernel").join(name);
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|it| format!("cannot read {}: {it}", path.display()))?;
        let micros = text.trim().parse::<i64>();
        let micros = micros.map_err(|it| format!("{}: {text}: {it}", path.display()))?;
        // Without a bound the kernel says -1.
        Ok::<_, String>(u64::try_from(micros).ok().map(|it| it * 1000))
    };
    let throttle = kernel("sched_rt_runtime_us")?.zip(kernel("sched_rt_period_us")?);
    Ok(Machine {
        processors,
        wake_ns: u64::from(wake_us) * 1000,
        throttle: throttle.map(|(runtime_ns, period_ns)| Throttle {
            runtime_ns,
            period_ns,
        }),
    })
}

/// The tasks of a package that are switched on.
///
/// # Errors
///
/// What is declared and is no task, in words.
pub fn declared(manifest: &Manifest) -> Result<Vec<Task>, String> {
    let application = &manifest.application;
    let mut tasks = Vec::new();
    for it in application.components.iter().filter(|it| it.is_enabled) {
        let fifo = || priority(it).map(fifo);
        let periodic = named(&it.extensions, "periodic");
        if let Some(found) = periodic.filter(|_| it.kind == ComponentKind::Service) {
            tasks.push(task(&it.name, found, fifo()?)?);
        }
        if let Some(found) = named(&it.extensions, "messages") {
            let looper = format!("looper of {}", it.name);
            tasks.push(task(&looper, found, fifo()?)?);
        }
    }
    if let Some(found) = named(&application.extensions, "collector") {
        let name = format!("collector of {}", manifest.package);
        tasks.push(task(&name, found, fifo(COLLECTOR))?);
    }
    Ok(tasks)
}

fn fifo(priority: u8) -> Policy {
    Policy::Fifo {
        priority,
        processor: None,
    }
}

fn priority(component: &Component) -> Result<u8, String> {
    let name = &component.name;
    match named(&component.extensions, "priority").and_then(|it| value(it, "priority")) {
        None => Ok(PRIORITY),
        Some(text) => {
            let number = text.parse();
            number.map_err(|_| format!("{name}: priority {text} is no number"))
        }
    }
}

fn task(name: &str, found: &Extension, policy: Policy) -> Result<Task, String> {
    let time = |attribute: &str| {
        let Some(text) = value(found, attribute) else {
            return Ok(None);
        };
        let fault = || {
            format!(
                "{name}: {attribute} {text} is no time: a whole number with us, ms or s behind it"
            )
        };
        nanos(text).map(Some).ok_or_else(fault)
    };
    let element = &found.name;
    let needed = |attribute: &str| {
        time(attribute)?.ok_or_else(|| format!("{name}: <{element}> declares no {attribute}"))
    };
    let period_ns = needed("period")?;
    Ok(Task {
        name: name.to_owned(),
        policy,
        runtime_ns: needed("runtime")?,
        deadline_ns: time("deadline")?.unwrap_or(period_ns),
        period_ns,
        blocking_ns: time("blocking")?.unwrap_or(0),
    })
}

fn named<'a>(extensions: &'a [Extension], name: &str) -> Option<&'a Extension> {
    extensions.iter().find(|it| it.name == name)
}

fn value<'a>(extension: &'a Extension, name: &str) -> Option<&'a str> {
    let mut attributes = extension.attributes.iter();
    attributes.find_map(|(its, value)| (its == name).then_some(value.as_str()))
}

/// Of a whole number of at most nine digits with us, ms or s behind it, as in the manifest of a
/// periodic service.
fn nanos(text: &str) -> Option<u64> {
    let end = text.find(|it: char| !it.is_ascii_digit())?;
    let unit = match &text[end..] {
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return None,
    };
    let digits = (1..=9).contains(&end).then_some(&text[..end])?;
    Some(digits.parse::<u64>().ok()? * unit)
}

/// Whether a package may come to those that are installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// It has no task, so it changes nothing.
    NoTask,
    /// All are in time, its own and the others'.
    Admitted(Verdict),
    /// Not; why, in words.
    Refused(String),
}

/// Judges a package beside others. Of those, one that was forced in and cannot be read counts for
/// nothing.
pub(crate) fn judge<'a>(
    machine: &Machine,
    package: &Manifest,
    others: impl Iterator<Item = &'a Manifest>,
) -> Judgement {
    let own = match declared(package) {
        Ok(own) if own.is_empty() => return Judgement::NoTask,
        Ok(own) => own,
        Err(text) => return Judgement::Refused(text),
    };
    let (mut tasks, mut beside) = (own, 0);
    for it in others.filter(|it| it.package != package.package) {
        let its = declared(it).unwrap_or_default();
        beside += usize::from(!its.is_empty());
        tasks.extend(its);
    }
    match admit(machine, &tasks) {
        Ok(verdict) => Judgement::Admitted(verdict),
        Err(refusal) => Judgement::Refused(refused(&refusal, machine, tasks.len(), beside)),
    }
}

fn refused(refusal: &Refusal, machine: &Machine, tasks: usize, beside: usize) -> String {
    let processors = machine.processors;
    format!(
        "{tasks} real-time task(s) do not fit on {processors} processor(s), those of {beside} \
         other package(s) among them: {refusal}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_manifest() {
        assert_eq!(nanos("500us"), Some(500_000));
        assert_eq!(nanos("2ms"), Some(2_000_000));
        assert_eq!(nanos("999999999s"), Some(999_999_999_000_000_000));
        for text in [
            "",
            "2",
            "ms",
            "-2ms",
            "2 ms",
            "0.5ms",
            "1234567890us",
            "2min",
        ] {
            assert_eq!(nanos(text), None, "{text}");
        }
    }

    fn element(name: &str, attributes: &[(&str, &str)]) -> Extension {
        let attributes = attributes.iter();
        Extension {
            namespace: String::new(),
            name: name.to_owned(),
            attributes: attributes
                .map(|it| (it.0.to_owned(), it.1.to_owned()))
                .collect(),
        }
    }

    /// A service that computes so long in each 10 ms, and a looper and a collector beside it.
    fn package(name: &str, runtime: &str) -> Manifest {
        let times = [("period", "10ms"), ("runtime", runtime)];
        let mut service = Component::new(ComponentKind::Service, "p.Work");
        service.extensions = vec![
            element("priority", &[("priority", "60")]),
            element("periodic", &times),
            element("messages", &[("period", "20ms"), ("runtime", "1ms")]),
        ];
        service.is_enabled = true;
        let mut manifest = Manifest::new(name);
        manifest.application.components = vec![service];
        let collector = element("collector", &[("period", "50ms"), ("runtime", "5ms")]);
        manifest.application.extensions = vec![collector];
        manifest
    }

    const ONE: Machine = Machine {
        processors: 1,
        wake_ns: 0,
        throttle: None,
    };

    #[test]
    fn loopers_and_collector_are_tasks_and_who_does_not_fit_beside_others_is_refused() {
        let names = |it: &Manifest| {
            let tasks = declared(it).unwrap();
            tasks.into_iter().map(|it| it.name).collect::<Vec<_>>()
        };
        let (one, other) = (package("one", "4ms"), package("other", "4ms"));
        let expected = ["p.Work", "looper of p.Work", "collector of one"];
        assert_eq!(names(&one), expected);
        let alone = judge(&ONE, &one, [].into_iter());
        assert!(matches!(alone, Judgement::Admitted(_)), "{alone:?}");
        // An older version of itself does not count.
        assert_eq!(judge(&ONE, &one, [&one].into_iter()), alone);
        let Judgement::Refused(text) = judge(&ONE, &other, [&one].into_iter()) else {
            panic!("10 ms of each 10 ms were let in");
        };
        let words = "6 real-time task(s) do not fit on 1 processor(s), those of 1 other package(s) \
                     among them: a deadline is missed: ";
        assert!(text.starts_with(words), "{text}");
        let plain = Manifest::new("plain");
        assert_eq!(
            judge(&ONE, &plain, [&one, &other].into_iter()),
            Judgement::NoTask
        );
    }

    #[test]
    fn what_is_no_task_is_refused_by_name() {
        let fault = |runtime| declared(&package("one", runtime)).unwrap_err();
        assert!(fault("soon").starts_with("p.Work: runtime soon is no time"));
        let mut mute = package("one", "1ms");
        mute.application.components[0].extensions[1]
            .attributes
            .retain(|it| it.0 == "period");
        let text = "p.Work: <periodic> declares no runtime";
        assert_eq!(declared(&mute), Err(text.to_owned()));
    }
}
