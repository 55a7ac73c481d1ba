// SPDX-License-Identifier: Apache-2.0
//! Loading constraints (JVM specification, 5.3.4): loaders that link with each other must mean the
//! same class by the names in the signatures that they link by.
//!
//! [`link`] says that they must, [`Agreements::settle`] asks whenever a loader gets a class. Names
//! below `java/` are not asked about: only two loaders define such classes, and no package twice
//! (`define::check_package`).
//!
//! Beside them stands what proofs assumed about classes that were not there ([`assume`],
//! `constraint/assumption`). An object's class is known to a loader by its own name for it or by an
//! agreement, so both are judged here together.

mod assumption;

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::classes::class::{Class, Method};
use crate::link::loader::{self, Loader};
use crate::link::message;
use crate::link::tables;
use crate::memory::hash::Map;
use crate::memory::symbol::Symbol;
use crate::sync::lock::Lock;
use crate::threads::thread::{Thread, Thrown};
pub(crate) use assumption::Assumption;
use assumption::{Assumptions, World};

// Lock order: agreements, loaders, a loader's classes.

/// What loaders have agreed on so far.
pub(crate) static AGREEMENTS: LazyLock<Lock<Agreements>> = LazyLock::new(Lock::default);

/// Has both loaders mean the same classes from now on by the names in a field's or method's
/// `descriptor`, or names the type of which they mean two.
pub(crate) fn link(one: &Loader, other: &Loader, descriptor: Symbol) -> Result<(), String> {
    if core::ptr::eq(one, other) {
        return Ok(());
    }
    for ty in Types(descriptor.bytes()) {
        let name = Symbol::new(ty.name);
        let mut agreements = AGREEMENTS.lock();
        let sides = [side(one, name), side(other, name)];
        if agreements.agree(&Loaded, name, sides) == Err(Disagreement) {
            return Err(ty.text());
        }
    }
    Ok(())
}

/// Whether [`link`] would change nothing, because the loaders have their classes or have agreed
/// already.
pub(crate) fn is_linked(one: &Loader, other: &Loader, descriptor: Symbol) -> bool {
    core::ptr::eq(one, other)
        || Types(descriptor.bytes()).all(|ty| {
            let name = Symbol::new(ty.name);
            let agreements = AGREEMENTS.lock();
            agreements.have_agreed(name, [side(one, name), side(other, name)])
        })
}

/// Proofs that were refused because there was no room for what they assumed.
pub(crate) static ASSUMPTIONS_REFUSED: AtomicU64 = AtomicU64::new(0);

/// What proofs rest on so far.
pub(crate) fn assumption_count() -> usize {
    AGREEMENTS.lock().assumptions.count()
}

/// Why an assumption cannot be made.
pub(crate) enum Unfounded {
    /// It is false: both classes are there by now.
    Broken(Assumption),
    /// There are too many.
    Full,
}

/// Has all of them hold from now on, or none.
pub(crate) fn assume(assumptions: &[Assumption]) -> Result<(), Unfounded> {
    let mut agreements = AGREEMENTS.lock();
    if let Some(broken) = assumptions
        .iter()
        .find(|it| agreements.is_broken(&Loaded, it))
    {
        return Err(Unfounded::Broken(*broken));
    }
    if agreements.assumptions.add(assumptions) {
        return Ok(());
    }
    ASSUMPTIONS_REFUSED.fetch_add(1, Ordering::Relaxed);
    Err(Unfounded::Full)
}

/// The loaders that there are, and what they have.
struct Loaded;

impl World for Loaded {
    fn has(&self, loader: u32, name: Symbol) -> Option<u32> {
        loader::numbered(loader).visible(name).map(Class::address)
    }

    fn fits(&self, from: u32, to: u32) -> bool {
        let to = Class::at(to);
        to.is_interface() || Class::at(from).is_subtype_of(to)
    }
}

/// Throws LinkageError unless `class` and those whose methods it overrides or implements mean the
/// same classes by those methods' signatures.
pub(crate) fn check_overriding(thread: &Thread, class: &'static Class) -> Result<(), Thrown> {
    if class.info.loader.is_boot() || class.is_interface() {
        return Ok(());
    }
    if let Some(parent) = class.super_class() {
        let inherited = parent.info.vtable.iter();
        for (own, inherited) in class.info.vtable.iter().zip(inherited) {
            let (loader, other) = (own.class().info.loader, inherited.class().info.loader);
            // Others were asked when the superclass was linked.
            if core::ptr::eq(own.class(), class)
                && let Err(ty) = link(loader, other, own.descriptor)
            {
                let message = message::overriding_disagrees(own, inherited, &ty);
                return Err(thread.throw("java/lang/LinkageError", &message));
            }
        }
    }
    for &interface in &class.info.all_interfaces {
        check_implementing(thread, class, interface)?;
    }
    Ok(())
}

fn check_implementing(
    thread: &Thread,
    class: &'static Class,
    interface: &'static Class,
) -> Result<(), Thrown> {
    let asked = |method: &&&'static Method| Types(method.descriptor.bytes()).next().is_some();
    for &method in interface.info.methods.iter().filter(asked) {
        let is_selected = !method.is_static() && !method.is_private();
        let Some(chosen) = tables::selected_method(class, method).filter(|_| is_selected) else {
            continue;
        };
        let (own, other) = (interface.info.loader, chosen.class().info.loader);
        if let Err(ty) = link(own, other, method.descriptor) {
            let message = message::implementing_disagrees(class, method, chosen, &ty);
            return Err(thread.throw("java/lang/LinkageError", &message));
        }
    }
    Ok(())
}

/// A loader by its number, and the class that it has under a name, by its address.
type Side = (u32, Option<u32>);

fn side(loader: &Loader, name: Symbol) -> Side {
    (loader.id(), loader.loaded(name).map(Class::address))
}

/// Loaders that mean the same class by a name, and that class as soon as one of them has it.
struct Agreement {
    loaders: Vec<u32>,
    class: Option<u32>,
}

/// Two loaders mean different classes by one name, or one would mean a class that does not fit what
/// was assumed.
#[derive(Debug, PartialEq, Eq)]
struct Disagreement;

/// Which loaders must mean the same class by which name, a loader being in one agreement about a
/// name; and what proofs assumed.
#[derive(Default)]
pub(crate) struct Agreements {
    by_name: Map<Symbol, Vec<Agreement>>,
    assumptions: Assumptions,
}

/// Why a loader may not mean a class by its name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ruling {
    /// It has agreed on the class at this address.
    Agreed(u32),
    /// Verified code rests on something else.
    Assumed(Assumption),
}

impl Agreements {
    /// Whether `loader` may mean `class` by its name, as it does from then on.
    pub(crate) fn settle(&mut self, loader: &Loader, class: &'static Class) -> Result<(), Ruling> {
        self.settle_side(&Loaded, class.name(), loader.id(), class.address())
    }

    fn settle_side(
        &mut self,
        world: &impl World,
        name: Symbol,
        loader: u32,
        class: u32,
    ) -> Result<(), Ruling> {
        let own = self.agreement(name, loader);
        let broken = match own.map(|it| (it.class, &it.loaders)) {
            Some((Some(agreed), _)) if agreed != class => return Err(Ruling::Agreed(agreed)),
            // All of them were asked when it was agreed on.
            Some((Some(_), _)) => None,
            Some((None, loaders)) => self.broken_by(world, name, loaders, class),
            None => self.broken_by(world, name, &[loader], class),
        };
        if let Some(broken) = broken {
            return Err(Ruling::Assumed(broken));
        }
        let about = self.by_name.get_mut(&name).into_iter().flatten();
        for own in about.filter(|it| it.loaders.contains(&loader)) {
            own.class = Some(class);
        }
        Ok(())
    }

    fn agreement(&self, name: Symbol, loader: u32) -> Option<&Agreement> {
        let mut about = self.by_name.get(&name).into_iter().flatten();
        about.find(|it| it.loaders.contains(&loader))
    }

    /// The class of the objects that code of a loader may meet under a name.
    fn meant(&self, world: &impl World, loader: u32, name: Symbol) -> Option<u32> {
        let agreed = || self.agreement(name, loader)?.class;
        world.has(loader, name).or_else(agreed)
    }

    fn is_broken(&self, world: &impl World, assumption: &Assumption) -> bool {
        let meant = |name| self.meant(world, assumption.loader, name);
        let pair = meant(assumption.from).zip(meant(assumption.to));
        pair.is_some_and(|(from, to)| !world.fits(from, to))
    }

    /// An assumption that would be false if these loaders meant `class` by `name`.
    fn broken_by(
        &self,
        world: &impl World,
        name: Symbol,
        loaders: &[u32],
        class: u32,
    ) -> Option<Assumption> {
        let meant = |loader, other| match other == name {
            true => Some(class),
            false => self.meant(world, loader, other),
        };
        let is_broken = |it: &&Assumption| {
            let pair = meant(it.loader, it.from).zip(meant(it.loader, it.to));
            pair.is_some_and(|(from, to)| !world.fits(from, to))
        };
        self.assumptions
            .about(name, loaders)
            .find(is_broken)
            .copied()
    }

    fn agree(
        &mut self,
        world: &impl World,
        name: Symbol,
        sides: [Side; 2],
    ) -> Result<(), Disagreement> {
        if self.have_agreed(name, sides) {
            return Ok(());
        }
        let about = self.by_name.get(&name).map_or(&[][..], Vec::as_slice);
        let is_ours = |it: &Agreement| sides.iter().any(|(loader, _)| it.loaders.contains(loader));
        let ours = || about.iter().filter(|it| is_ours(it));
        let known = ours()
            .map(|it| it.class)
            .chain(sides.map(|(_, class)| class));
        let mut known: Vec<u32> = known.flatten().collect();
        known.dedup();
        if known.len() > 1 {
            return Err(Disagreement);
        }
        let mut loaders = ours().flat_map(|it| it.loaders.clone()).collect::<Vec<_>>();
        loaders.extend(sides.map(|(loader, _)| loader));
        loaders.sort_unstable();
        loaders.dedup();
        if let Some(&class) = known.first()
            && self.broken_by(world, name, &loaders, class).is_some()
        {
            return Err(Disagreement);
        }
        let about = self.by_name.entry(name).or_default();
        about.retain(|it| !is_ours(it));
        about.push(Agreement {
            loaders,
            class: known.first().copied(),
        });
        Ok(())
    }

    /// What a loader has it has for ever; so two that have the same class need no agreement.
    fn have_agreed(&self, name: Symbol, [one, other]: [Side; 2]) -> bool {
        let have_it = one.1.is_some() && one.1 == other.1;
        let mut about = self.by_name.get(&name).into_iter().flatten();
        have_it
            || about.any(|it| {
                [one.0, other.0]
                    .iter()
                    .all(|side| it.loaders.contains(side))
            })
    }
}

/// A type of a class that loaders may have two of.
struct Type<'a> {
    name: &'a [u8],
    dimensions: usize,
}

impl Type<'_> {
    /// As HotSpot writes it: arrays as in a signature.
    fn text(&self) -> String {
        let name = classfile::to_string_lossy(self.name).replace('/', ".");
        match self.dimensions {
            0 => name,
            count => format!("{}L{name};", "[".repeat(count)),
        }
    }
}

/// Such types of a descriptor that holds.
struct Types<'a>(&'a [u8]);

impl<'a> Iterator for Types<'a> {
    type Item = Type<'a>;

    fn next(&mut self) -> Option<Type<'a>> {
        loop {
            let start = self.0.iter().position(|&b| b == b'L')?;
            let (before, from) = self.0.split_at(start);
            let end = from.iter().position(|&b| b == b';')?;
            let name = &from[1..end];
            self.0 = &from[end + 1..];
            if !name.starts_with(b"java/") {
                let dimensions = before.iter().rev().take_while(|&&b| b == b'[').count();
                return Some(Type { name, dimensions });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_that_loaders_may_differ_about() {
        let texts = |descriptor: &[u8]| Types(descriptor).map(|it| it.text()).collect::<Vec<_>>();
        assert_eq!(
            texts(b"(I[[LLong;Ljava/lang/String;Lp/L;[J)[Lq/C;"),
            ["[[LLong;", "p.L", "[Lq.C;"]
        );
        assert_eq!(texts(b"(IJ[Ljava/util/List;)V"), [""; 0]);
        assert_eq!(texts(b"Lp/A;"), ["p.A"]);
    }

    /// No assumptions are made that it could be asked about.
    struct Nothing;

    impl World for Nothing {
        fn has(&self, _: u32, _: Symbol) -> Option<u32> {
            None
        }

        fn fits(&self, _: u32, _: u32) -> bool {
            true
        }
    }

    /// Loaders that agree or get classes in any order; what holds is looked at in all that was said
    /// before.
    #[test]
    fn nobody_gets_a_class_that_another_has_ruled_out() {
        const LOADERS: usize = 5;
        let name = Symbol::new(b"p/Agreed");
        let mut seed = 7_u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        let mut refused = [0; 2];
        for _ in 0..2000 {
            let mut agreements = Agreements::default();
            let mut has: [Option<u32>; LOADERS] = [None; LOADERS];
            // Whom each must agree with, itself included.
            let mut with: [u32; LOADERS] = core::array::from_fn(|own| 1 << own);
            let class_of = |has: &[Option<u32>; LOADERS], all: u32| {
                (0..LOADERS)
                    .filter(|it| all & 1 << it != 0)
                    .find_map(|it| has[it])
            };
            for _ in 0..12 {
                let (one, other) = (random(LOADERS), random(LOADERS));
                if random(2) == 0 {
                    let all = with[one] | with[other];
                    let mut classes = (0..LOADERS)
                        .filter(|it| all & 1 << it != 0)
                        .filter_map(|it| has[it]);
                    let first = classes.next();
                    let holds = classes.all(|class| Some(class) == first);
                    let sides = [one, other].map(|it| (it as u32, has[it]));
                    assert_eq!(agreements.agree(&Nothing, name, sides).is_ok(), holds);
                    if holds {
                        (0..LOADERS)
                            .filter(|it| all & 1 << it != 0)
                            .for_each(|it| with[it] = all);
                    }
                    refused[0] += u32::from(!holds);
                } else if has[one].is_none() {
                    let class = 100 + random(2) as u32;
                    let demanded = class_of(&has, with[one]).unwrap_or(class);
                    let settled = agreements.settle_side(&Nothing, name, one as u32, class);
                    let holds = demanded == class;
                    assert_eq!(settled.is_ok(), holds);
                    assert!(holds || settled == Err(Ruling::Agreed(demanded)));
                    has[one] = Some(class).filter(|_| class == demanded);
                    refused[1] += u32::from(class != demanded);
                }
            }
        }
        assert!(refused.iter().all(|&count| count > 100), "{refused:?}");
    }

    const SIDES: usize = 3;

    /// Two names, `q/From` and `q/To`; each loader may have one of two classes by each.
    struct Small {
        names: [Symbol; 2],
        has: [[Option<u32>; 2]; SIDES],
        /// Whom each must agree with about each name, itself included.
        with: [[u32; 2]; SIDES],
        assumed: [bool; SIDES],
    }

    impl World for Small {
        fn has(&self, loader: u32, name: Symbol) -> Option<u32> {
            self.has[loader as usize][usize::from(name == self.names[1])]
        }

        /// The first class of the one name is a first of the other, and nothing else is.
        fn fits(&self, from: u32, to: u32) -> bool {
            (from, to) == (0, 0)
        }
    }

    impl Small {
        fn new() -> Self {
            let names = [b"q/From".as_slice(), b"q/To".as_slice()].map(Symbol::new);
            Self {
                names,
                has: Default::default(),
                with: core::array::from_fn(|own| [1 << own; 2]),
                assumed: [false; SIDES],
            }
        }

        /// All classes that loaders which must agree with this one have by a name.
        fn meant(&self, loader: usize, name: usize) -> Vec<u32> {
            let all = (0..SIDES).filter(|it| self.with[loader][name] & 1 << it != 0);
            all.filter_map(|it| self.has[it][name]).collect()
        }

        /// Whether nobody means two classes by a name, or takes one for what it is not.
        fn is_sound(&self) -> bool {
            (0..SIDES).all(|loader| {
                let [from, to] = [0, 1].map(|name| self.meant(loader, name));
                let is_one = |all: &[u32]| all.iter().all(|it| *it == all[0]);
                let pair = from.first().zip(to.first());
                let fits = pair.is_none_or(|(&from, &to)| self.fits(from, to));
                is_one(&from) && is_one(&to) && (fits || !self.assumed[loader])
            })
        }
    }

    /// Assumptions, agreements and classes in any order: what would break one that was made is
    /// refused, and nothing else.
    #[test]
    fn what_proofs_assumed_holds_for_all_that_comes() {
        let mut seed = 11_u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        let (mut done, mut refused) = ([0; 3], [0; 3]);
        for _ in 0..4000 {
            let mut agreements = Agreements::default();
            let mut small = Small::new();
            for _ in 0..10 {
                let (event, one, other, name) =
                    (random(3), random(SIDES), random(SIDES), random(2));
                let before = (small.has, small.with, small.assumed);
                let symbol = small.names[name];
                let is_taken = match event {
                    0 if small.has[one][name].is_none() => {
                        let class = random(2) as u32;
                        let found = agreements.settle_side(&small, symbol, one as u32, class);
                        small.has[one][name] = Some(class);
                        found.is_ok()
                    }
                    0 => continue,
                    1 => {
                        let sides = [one, other].map(|it| (it as u32, small.has[it][name]));
                        let found = agreements.agree(&small, symbol, sides);
                        let all = small.with[one][name] | small.with[other][name];
                        let mut ours = (0..SIDES).filter(|it| all & 1 << it != 0);
                        ours.by_ref().for_each(|it| small.with[it][name] = all);
                        found.is_ok()
                    }
                    _ => {
                        let [from, to] = small.names;
                        let loader = one as u32;
                        let assumption = Assumption { loader, from, to };
                        let is_broken = agreements.is_broken(&small, &assumption);
                        assert!(is_broken || agreements.assumptions.add(&[assumption]));
                        small.assumed[one] = true;
                        !is_broken
                    }
                };
                assert_eq!(is_taken, small.is_sound(), "{event} {one} {other} {name}");
                if !is_taken {
                    (small.has, small.with, small.assumed) = before;
                }
                [&mut refused, &mut done][usize::from(is_taken)][event] += 1;
            }
        }
        let all = done.iter().chain(&refused);
        assert!(
            all.clone().all(|&count| count > 100),
            "{done:?} {refused:?}"
        );
    }
}
