// SPDX-License-Identifier: Apache-2.0
//! A sandbox on its way to the process that enters it: [`Entry`] is what goes through a socket.
//!
//! For a process that somebody else's copy becomes (a template's), where who confines it is not who
//! makes it. Steps are words, and descriptors beside them in the order of the steps. Both ends are
//! of one build.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::process::Resource;
use rustix::thread::{CapabilitySet, UnshareFlags};
use seccompiler::sock_filter;

use crate::confinement::{Confinement, Error};
use crate::report::Bound;
use crate::spec::Identity;
use crate::step::Step;

/// Words of all steps: the filters of calls have some hundreds.
const WORDS_MAX: usize = 8_192;

/// What a copy of another process is told before it is anything: who its parent is, its environment
/// beside the one that it has, and its sandbox; descriptors go beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The process that it ends with.
    pub parent: u32,
    /// Names and values, without a zero byte.
    pub environment: Vec<(String, String)>,
    /// [`Packed::words`]; none for no sandbox.
    pub steps: Vec<u64>,
}

impl Entry {
    /// Of its bytes: those of a sandbox, and some paths.
    pub const BYTES_MAX: usize = 96 << 10;

    /// For [`Entry::parse`]; at most [`Entry::BYTES_MAX`].
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let number = |it: usize, bytes: &mut Vec<u8>| {
            bytes.extend_from_slice(&u32::try_from(it).expect("a bound").to_ne_bytes());
        };
        number(self.parent as usize, &mut bytes);
        number(self.environment.len(), &mut bytes);
        for text in self.environment.iter().flat_map(|(name, it)| [name, it]) {
            number(text.len(), &mut bytes);
            bytes.extend_from_slice(text.as_bytes());
        }
        number(self.steps.len(), &mut bytes);
        let words = self.steps.iter().flat_map(|it| it.to_ne_bytes());
        bytes.extend(words);
        assert!(bytes.len() <= Self::BYTES_MAX, "limit: {}", Self::BYTES_MAX);
        bytes
    }

    /// What [`Entry::to_bytes`] has written; none for anything else.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let parent = take_number(&mut rest)?;
        let mut environment = Vec::new();
        for _ in 0..take_number(&mut rest)? {
            environment.push((take_text(&mut rest)?, take_text(&mut rest)?));
        }
        let count = take_number(&mut rest)? as usize;
        let (words, []) = rest.as_chunks::<8>() else {
            return None;
        };
        let steps: Vec<u64> = words.iter().map(|it| u64::from_ne_bytes(*it)).collect();
        (steps.len() == count).then_some(Self {
            parent,
            environment,
            steps,
        })
    }
}

fn take<'a>(rest: &mut &'a [u8], size: usize) -> Option<&'a [u8]> {
    let (first, others) = rest.split_at_checked(size)?;
    *rest = others;
    Some(first)
}

fn take_number(rest: &mut &[u8]) -> Option<u32> {
    let bytes = take(rest, 4)?;
    bytes.try_into().ok().map(u32::from_ne_bytes)
}

fn take_text(rest: &mut &[u8]) -> Option<String> {
    let size = take_number(rest)? as usize;
    let text = std::str::from_utf8(take(rest, size)?).ok()?;
    (!text.contains('\0')).then(|| text.to_owned())
}

/// A sandbox that was tried, to be handed to the process that enters it.
#[derive(Debug)]
pub struct Packed<'a> {
    /// For [`enter`].
    pub words: Vec<u64>,
    /// The same, in this order.
    pub fds: Vec<BorrowedFd<'a>>,
}

impl Confinement {
    /// All that entering takes.
    pub fn packed(&self) -> Packed<'_> {
        let mut packed = Packed {
            words: Vec::new(),
            fds: Vec::new(),
        };
        for step in self.steps() {
            pack(step, &mut packed);
        }
        assert!(packed.words.len() <= WORDS_MAX, "limit: {WORDS_MAX} words");
        packed
    }
}

/// The calling process, which has one thread, enters a sandbox that was packed elsewhere. Nothing
/// of it can be taken back. What is not the words and descriptors of one is refused before the
/// first step.
pub fn enter(words: &[u64], fds: Vec<OwnedFd>) -> Result<(), Error> {
    let steps = unpack(words, fds).ok_or(Error::Torn)?;
    for step in &steps {
        step.take().map_err(|errno| step.failed(errno))?;
    }
    Ok(())
}

const KILL_ORDER: u64 = 1;
const JOIN: u64 = 2;
const LIMIT: u64 = 3;
const GRANT: u64 = 4;
const UNSHARE: u64 = 5;
const BOUNDING: u64 = 6;
const BECOME: u64 = 7;
const CAPABILITIES: u64 = 8;
const NO_NEW_PRIVILEGES: u64 = 9;
const DUMPABLE: u64 = 10;
const OWN_PROCESS: u64 = 11;
const FILES: u64 = 12;
const CALLS: u64 = 13;
const ASK: u64 = 14;

/// Limits that steps set, and what each bounds.
const LIMITS: [(Resource, Bound); 7] = [
    (Resource::Nofile, Bound::OpenFiles),
    (Resource::Core, Bound::CoreFiles),
    (Resource::Memlock, Bound::LockedMemory),
    (Resource::Rttime, Bound::RealTimeRun),
    (Resource::Rtprio, Bound::RealTime),
    (Resource::Nice, Bound::RealTime),
    (Resource::Nproc, Bound::Tasks),
];

fn pack<'a>(step: &'a Step, packed: &mut Packed<'a>) {
    let Packed { words, fds } = packed;
    let limit = |resource: &Resource| {
        let at = LIMITS.iter().position(|(it, _)| it == resource);
        at.expect("each limit that a plan sets has a place") as u64
    };
    match step {
        Step::KillOrder(text) => {
            let order: i64 = text.parse().expect("a plan writes a number");
            words.extend([KILL_ORDER, order.cast_unsigned()]);
        }
        Step::Join(members) => {
            words.push(JOIN);
            fds.push(members.as_fd());
        }
        Step::Limit(_, resource, value) => words.extend([LIMIT, limit(resource), *value]),
        Step::Grant(_, resource, value) => words.extend([GRANT, limit(resource), *value]),
        Step::Unshare(bound, flags) => {
            words.extend([UNSHARE, bound.is_some().into(), flags.bits().into()]);
        }
        Step::Bounding(kept) => words.extend([BOUNDING, kept.bits()]),
        Step::Become(it) => words.extend([BECOME, it.uid.into(), it.gid.into()]),
        Step::Capabilities(kept) => words.extend([CAPABILITIES, kept.bits()]),
        Step::NoNewPrivileges => words.push(NO_NEW_PRIVILEGES),
        Step::Dumpable => words.push(DUMPABLE),
        Step::OwnProcess(ruleset, rights) => {
            words.extend([OWN_PROCESS, *rights]);
            fds.push(ruleset.as_fd());
        }
        Step::Files(ruleset) => {
            words.push(FILES);
            fds.push(ruleset.as_fd());
        }
        Step::Calls(program) => {
            words.push(CALLS);
            pack_program(program, words);
        }
        Step::Ask(program, far) => {
            words.push(ASK);
            pack_program(program, words);
            fds.push(far.as_fd());
        }
    }
}

fn pack_program(program: &[sock_filter], words: &mut Vec<u64>) {
    words.push(program.len() as u64);
    words.extend(program.iter().map(|it| {
        let code = u64::from(it.code) << 48 | u64::from(it.jt) << 40 | u64::from(it.jf) << 32;
        code | u64::from(it.k)
    }));
}

fn unpack(words: &[u64], fds: Vec<OwnedFd>) -> Option<Vec<Step>> {
    let (mut words, mut fds) = (words.iter().copied(), fds.into_iter());
    let mut steps = Vec::new();
    while let Some(kind) = words.next() {
        steps.push(unpack_step(kind, &mut words, &mut fds)?);
    }
    fds.next().is_none().then_some(steps)
}

fn unpack_step(
    kind: u64,
    words: &mut impl Iterator<Item = u64>,
    fds: &mut impl Iterator<Item = OwnedFd>,
) -> Option<Step> {
    let limit = |it: u64| LIMITS.get(usize::try_from(it).ok()?).copied();
    Some(match kind {
        KILL_ORDER => Step::KillOrder(words.next()?.cast_signed().to_string()),
        JOIN => Step::Join(fds.next()?),
        LIMIT => {
            let (resource, bound) = limit(words.next()?)?;
            Step::Limit(bound, resource, words.next()?)
        }
        GRANT => {
            let (resource, bound) = limit(words.next()?)?;
            Step::Grant(bound, resource, words.next()?)
        }
        UNSHARE => {
            let bound = (words.next()? != 0).then_some(Bound::AbstractSockets);
            let flags = u32::try_from(words.next()?).ok()?;
            Step::Unshare(bound, UnshareFlags::from_bits(flags)?)
        }
        BOUNDING => Step::Bounding(CapabilitySet::from_bits_retain(words.next()?)),
        BECOME => Step::Become(Identity {
            uid: u32::try_from(words.next()?).ok()?,
            gid: u32::try_from(words.next()?).ok()?,
        }),
        CAPABILITIES => Step::Capabilities(CapabilitySet::from_bits_retain(words.next()?)),
        NO_NEW_PRIVILEGES => Step::NoNewPrivileges,
        DUMPABLE => Step::Dumpable,
        OWN_PROCESS => Step::OwnProcess(fds.next()?, words.next()?),
        FILES => Step::Files(fds.next()?),
        CALLS => Step::Calls(unpack_program(words)?),
        ASK => Step::Ask(unpack_program(words)?, fds.next()?),
        _ => return None,
    })
}

fn unpack_program(words: &mut impl Iterator<Item = u64>) -> Option<Vec<sock_filter>> {
    let count = usize::try_from(words.next()?).ok();
    let count = count.filter(|it| *it <= WORDS_MAX)?;
    let mut program = Vec::with_capacity(count);
    for _ in 0..count {
        let word = words.next()?;
        program.push(sock_filter {
            code: (word >> 48) as u16,
            jt: (word >> 40) as u8,
            jf: (word >> 32) as u8,
            k: word as u32,
        });
    }
    Some(program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Limits, LocalSockets, Network, OtherProcesses, RealTime, Spec};
    use crate::{Grant, Strictness};

    fn spec(real_time: RealTime) -> Spec {
        Spec {
            identity: Some(Identity {
                uid: 54_321,
                gid: 54_321,
            }),
            files: Grant::system(),
            network: Network::None,
            local_sockets: LocalSockets::Refused,
            other_processes: OtherProcesses::Listed,
            real_time,
            limits: Limits {
                tasks: Some(9),
                open_files: Some(64),
                locked_bytes: Some(1 << 20),
                real_time_us: Some(1_000_000),
                kill_order: Some(-200),
            },
            group: None,
            disk: None,
            lacks: Vec::new(),
        }
    }

    #[test]
    fn what_a_copy_is_told_comes_whole_or_not_at_all() {
        let pair = |name: &str, it: &str| (name.to_owned(), it.to_owned());
        let entry = Entry {
            parent: 7,
            environment: vec![pair("HOME", "/data"), pair("X", "")],
            steps: vec![1, u64::MAX],
        };
        let bytes = entry.to_bytes();
        assert_eq!(Entry::parse(&bytes), Some(entry));
        for cut in 0..bytes.len() {
            assert_eq!(Entry::parse(&bytes[..cut]), None, "{cut}");
        }
        assert_eq!(Entry::parse(&[&bytes[..], &[0]].concat()), None);
    }

    /// Descriptors are others behind the socket; all else is the same, in the same order.
    fn shape(steps: &[Step]) -> Vec<String> {
        let number = |text: String| match text.find("fd: ") {
            Some(at) => text[..at].to_owned(),
            None => text,
        };
        steps.iter().map(|it| number(format!("{it:?}"))).collect()
    }

    #[test]
    fn what_is_packed_is_what_is_entered() {
        for real_time in [RealTime::FromOutside, RealTime::Asked(50), RealTime::AsUser] {
            let made = Confinement::prepare(&spec(real_time), Strictness::Best).unwrap();
            let Packed { words, fds } = made.packed();
            let copies = || -> Vec<OwnedFd> {
                let all = fds.iter();
                all.map(|it| it.try_clone_to_owned().unwrap()).collect()
            };
            let steps = unpack(&words, copies()).unwrap();
            assert!(steps.len() > 10, "{steps:?}");
            assert_eq!(shape(&steps), shape(made.steps()));
            // What is torn is nothing: no step is taken of it.
            for cut in 1..words.len() {
                let torn = unpack(&words[..cut], copies());
                assert!(torn.is_none_or(|it| it.len() < steps.len()), "{cut}");
            }
            let mut fewer = copies();
            fewer.pop();
            assert!(unpack(&words, fewer).is_none());
            let mut more = copies();
            more.extend(copies());
            assert!(unpack(&words, more).is_none());
        }
    }
}
