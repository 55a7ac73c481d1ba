// SPDX-License-Identifier: Apache-2.0
//! What is known while a method is written: who is in scope, what it may cost, which labels are
//! around. A method's cost is a bound of its steps, so every program comes to an end.

use fastrand::Rng;

use super::types::{CLASSES, FIELDS, Kind, TYPES, Type, plain};

/// Steps of one method with all that it calls.
const COST_MAX: u64 = 30_000;
/// Loops inside each other times their turns.
pub(crate) const TRIPS_MAX: u64 = 600;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// May be assigned, so a lambda may not capture it.
    Free,
    /// Is never assigned, so a lambda may.
    Fixed,
    /// A loop's own: neither.
    Counter,
    /// Assigned or not, it is a lambda's to read.
    Field,
}

#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) role: Role,
}

/// How a method is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Manner {
    Static,
    /// The first parameter bounds the depth.
    Recursive,
    /// Of an `A`.
    Virtual,
    /// Of an `I`.
    Interface,
}

#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) name: String,
    pub(crate) manner: Manner,
    pub(crate) parameters: Vec<Type>,
    pub(crate) returns: Type,
    pub(crate) cost: u64,
}

pub(crate) struct Writer {
    pub(crate) random: Rng,
    /// Of the method that is being written.
    pub(crate) lines: Vec<String>,
    pub(crate) scope: Vec<Variable>,
    pub(crate) labels: Vec<String>,
    pub(crate) returns: Type,
    pub(crate) cost: u64,
    pub(crate) trips: u64,
    /// Loops' counters that stay within an array, with the array's name.
    pub(crate) bounded_by: Vec<(String, String)>,
    /// Of nested lambdas.
    pub(crate) lambdas: u32,
    /// Whether statements stand in a loop or switch of this method.
    pub(crate) loops: u32,
    indent: usize,
    names: u32,
    /// What was written so far; a method calls those before it.
    pub(crate) units: Vec<Unit>,
    /// Methods of the program itself, then of each class.
    pub(crate) members: Vec<Vec<String>>,
}

impl Writer {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            random: Rng::with_seed(seed),
            lines: Vec::new(),
            scope: Vec::new(),
            labels: Vec::new(),
            returns: plain(Kind::Int),
            cost: 0,
            trips: 1,
            bounded_by: Vec::new(),
            lambdas: 0,
            loops: 0,
            indent: 2,
            names: 0,
            units: Vec::new(),
            members: vec![Vec::new(); CLASSES.len() + 1],
        }
    }

    /// One of `of` cases is true.
    pub(crate) fn one_in(&mut self, of: u32) -> bool {
        self.random.u32(..of) == 0
    }

    pub(crate) fn below(&mut self, end: u32) -> u32 {
        self.random.u32(..end)
    }

    pub(crate) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.random.usize(..from.len())]
    }

    pub(crate) fn any_type(&mut self) -> Type {
        TYPES[self.random.usize(..TYPES.len())]
    }

    pub(crate) fn fresh(&mut self, start: &str) -> String {
        self.names += 1;
        format!("{start}{}", self.names)
    }

    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        self.cost += self.trips;
        let text = format!("{}{}", "    ".repeat(self.indent), text.as_ref());
        self.lines.push(text);
    }

    /// A line that ends with a brace, what `body` writes in a scope of its own, and no end.
    pub(crate) fn begin(&mut self, head: impl AsRef<str>, body: impl FnOnce(&mut Self)) {
        self.line(head);
        self.indent += 1;
        let variables = self.scope.len();
        body(self);
        self.scope.truncate(variables);
        self.indent -= 1;
    }

    /// As `begin`, with its end.
    pub(crate) fn block(&mut self, head: impl AsRef<str>, body: impl FnOnce(&mut Self)) {
        self.begin(head, body);
        self.line("}");
    }

    pub(crate) fn declare(&mut self, name: &str, ty: Type, role: Role) {
        let name = name.to_owned();
        self.scope.push(Variable { name, ty, role });
    }

    /// A variable of this type for which `is_it` holds; the nearest ones are likelier.
    pub(crate) fn variable(&mut self, ty: Type, is_it: impl Fn(Role) -> bool) -> Option<String> {
        let lambdas = self.lambdas;
        let found = self.scope.iter().filter(|it| {
            let is_readable = lambdas == 0 || matches!(it.role, Role::Fixed | Role::Field);
            it.ty == ty && is_it(it.role) && is_readable
        });
        let names: Vec<String> = found.map(|it| it.name.clone()).collect();
        if names.is_empty() {
            return None;
        }
        let (one, other) = (
            self.random.usize(..names.len()),
            self.random.usize(..names.len()),
        );
        Some(names[one.max(other)].clone())
    }

    /// A field of an object or of the program that has this type.
    pub(crate) fn field(&mut self, ty: Type) -> Option<String> {
        let fields: Vec<&str> = FIELDS
            .iter()
            .filter(|it| it.1 == ty)
            .map(|it| it.0)
            .collect();
        if fields.is_empty() {
            return None;
        }
        let field = self.pick(&fields);
        if self.one_in(3) {
            return Some(format!("s_{field}"));
        }
        let object = self.node();
        Some(format!("{object}.{field}"))
    }

    /// An `A` that is there, mostly.
    pub(crate) fn node(&mut self) -> String {
        let variable = self.variable(plain(Kind::Node), |_| true);
        match self.below(12) {
            0 => "s_next".to_owned(),
            1 => format!("make({})", self.below(9)),
            2 => variable.map_or("s_next".to_owned(), |it| format!("{it}.next")),
            _ => variable.unwrap_or_else(|| "s_next".to_owned()),
        }
    }

    /// Whether something that takes `cost` may stand here.
    pub(crate) fn has_room(&self, cost: u64) -> bool {
        self.cost + cost * self.trips <= COST_MAX
    }

    /// What `body` writes runs `turns` times.
    pub(crate) fn repeated(&mut self, turns: u64, body: impl FnOnce(&mut Self)) {
        self.trips *= turns;
        self.loops += 1;
        body(self);
        self.loops -= 1;
        self.trips /= turns;
    }
}
