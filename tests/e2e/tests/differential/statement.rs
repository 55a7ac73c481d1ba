// SPDX-License-Identifier: Apache-2.0
//! Statements, a line each: line numbers in traces say which one threw.

use super::types::{FIELDS, Kind, Type, array, plain};
use super::writer::{Role, TRIPS_MAX, Writer};

use Kind::{Boolean, Byte, Char, Double, Int, Long, Node, Object, Text};

/// What handlers catch.
const CAUGHT: [&str; 12] = [
    "ArithmeticException",
    "ArrayIndexOutOfBoundsException",
    "IndexOutOfBoundsException",
    "NullPointerException",
    "ClassCastException",
    "NegativeArraySizeException",
    "ArrayStoreException",
    "Own",
    "Own | ArithmeticException",
    "IllegalStateException",
    "RuntimeException",
    "Throwable",
];

/// What is of integers and may be changed by an operator.
const OPERATORS: [&str; 11] = ["+", "-", "*", "&", "|", "^", "<<", ">>", ">>>", "+", "%"];

fn is_changeable(role: Role) -> bool {
    matches!(role, Role::Free | Role::Field)
}

impl Writer {
    /// Some statements; `depth` bounds how far they nest.
    pub(crate) fn statements(&mut self, count: u32, depth: u32) {
        for _ in 0..count {
            if !self.has_room(8) {
                return;
            }
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: u32) {
        let kinds = if depth == 0 { 13 } else { 33 };
        match self.below(kinds) {
            0..=4 => self.assign(),
            5 | 6 => self.store(),
            7 => self.set_field(),
            8 => self.declaration(),
            9 => self.evaluate(),
            10 => self.throw(),
            11 | 12 => self.leave(),
            13..=15 => self.branch(depth),
            16..=19 => self.counted(depth),
            20 => self.fuelled(depth),
            21 => self.each(depth),
            22 => self.cases(depth),
            23..=25 => self.attempt(depth),
            26 => self.locked(depth),
            27 => self.lambda(depth),
            28 => self.is_of_class(depth),
            29..=31 => self.unseen(depth),
            _ => self.aliased(),
        }
    }

    fn some(&mut self, depth: u32) {
        let count = 1 + self.below(3);
        self.statements(count, depth - 1);
    }

    fn assign(&mut self) {
        let ty = self.any_type();
        let Some(variable) = self.variable(ty, is_changeable) else {
            return self.evaluate();
        };
        self.change(&variable, ty);
    }

    /// Assigns, or applies an operator.
    fn change(&mut self, place: &str, ty: Type) {
        if ty.is_number() && self.one_in(2) {
            let operators = if ty.is_integral() {
                &OPERATORS[..]
            } else {
                &["+", "-", "*", "/", "%"]
            };
            let operator = self.pick(operators);
            let by = [ty, ty, plain(Int), plain(Double)][self.random.usize(..4)];
            let is_of_bits = !matches!(operator, "+" | "-" | "*" | "/" | "%");
            let by = if is_of_bits { plain(Int) } else { by };
            let value = self.expression(by, 2);
            let value = if operator == "%" && by.is_integral() && !self.one_in(5) {
                format!("({value} | 1)")
            } else {
                value
            };
            return self.line(format!("{place} {operator}= {value};"));
        }
        let value = self.bounded(ty, 3);
        self.line(format!("{place} = {value};"));
    }

    fn store(&mut self) {
        let kinds = [Int, Int, Long, Byte, Char, Double, Object, Text, Node];
        let ty = plain(kinds[self.random.usize(..kinds.len())]);
        let Some(array) = self.array(ty.array_of()) else {
            return self.evaluate();
        };
        let index = self.index(&array, 2);
        self.change(&format!("{array}[{index}]"), ty);
    }

    fn set_field(&mut self) {
        let (_, ty) = FIELDS[self.random.usize(..FIELDS.len())];
        if let Some(field) = self.field(ty) {
            self.change(&field, ty);
        }
    }

    pub(crate) fn declaration(&mut self) {
        let ty = self.any_type();
        let value = self.bounded(ty, 2);
        let name = self.fresh("x");
        self.line(format!("{} {name} = {value};", ty.name()));
        self.declare(&name, ty, Role::Free);
    }

    /// A value of which only the hash stays.
    fn evaluate(&mut self) {
        let ty = self.any_type();
        let value = self.call(ty, 3).unwrap_or_else(|| self.expression(ty, 3));
        self.line(format!("s_hash = s_hash * 31 + Differ.hash({value});"));
    }

    fn throw(&mut self) {
        let [one, other] = [2, 1].map(|depth| self.condition(depth));
        let code = self.expression(plain(Int), 1);
        let thrown = match self.below(4) {
            0 => "IllegalStateException(\"state\")".to_owned(),
            1 => format!("Other({code})"),
            _ => format!("Own({code})"),
        };
        self.line(format!("if ({one} && {other}) throw new {thrown};"));
    }

    /// Out of a loop, or of the method.
    fn leave(&mut self) {
        let condition = self.condition(2);
        let label = match self.labels.len() {
            0 => None,
            count => Some(self.labels[self.random.usize(..count)].clone()),
        };
        let way = match (self.below(5), label) {
            (0, _) => return self.give_back(&condition),
            (1, Some(label)) => format!("break {label}"),
            (2, Some(label)) => format!("continue {label}"),
            (3, _) if self.loops > 0 => "break".to_owned(),
            (4, _) if self.loops > 0 => "continue".to_owned(),
            _ => return self.assign(),
        };
        self.line(format!("if ({condition}) {way};"));
    }

    fn give_back(&mut self, condition: &str) {
        let value = self.expression(self.returns, 2);
        let other = self.condition(1);
        self.line(format!("if ({condition} && {other}) return {value};"));
    }

    fn branch(&mut self, depth: u32) {
        let condition = self.condition(3);
        self.begin(format!("if ({condition}) {{"), |it| it.some(depth));
        if self.one_in(2) {
            self.block("} else {", |it| it.some(depth));
        } else {
            self.line("}");
        }
    }

    /// Runs `body` as a loop's, with a label now and then.
    fn looped(&mut self, turns: u64, head: &str, body: impl FnOnce(&mut Self)) {
        let label = self.one_in(4).then(|| self.fresh("loop"));
        let head = label
            .as_ref()
            .map_or(head.to_owned(), |it| format!("{it}: {head}"));
        self.labels.extend(label.clone());
        self.block(head, |it| it.repeated(turns, body));
        if label.is_some() {
            self.labels.pop();
        }
    }

    fn can_loop(&self, turns: u64) -> bool {
        self.trips * turns <= TRIPS_MAX && self.has_room(turns * 8)
    }

    /// Loops as a compiler looks for them: over an array up, down, in strides, beyond its end.
    fn counted(&mut self, depth: u32) {
        if !self.can_loop(16) {
            return self.assign();
        }
        let ty = [
            array(Int),
            array(Int),
            array(Long),
            array(Byte),
            array(Object),
            array(Double),
        ][self.random.usize(..6)];
        let name = self.array(ty).unwrap_or_else(|| "s_ai".to_owned());
        let counter = self.fresh("i");
        let some = self.leaf(plain(Int));
        let limit = match self.below(20) {
            0 => format!("{name}.length + 1"),
            1 => format!("{name}.length - 1"),
            2 | 3 => format!("({some} & 15)"),
            4 => format!("Math.min({name}.length, s_ai.length)"),
            5 => "s_al.length".to_owned(),
            _ => format!("{name}.length"),
        };
        let i = &counter;
        let head = match self.below(24) {
            0..=8 => format!("int {i} = 0; {i} < {limit}; {i}++"),
            9 => format!("int {i} = -1; {i} < {limit}; {i} += 2"),
            10 => format!("int {i} = 1; {i} <= {limit}; {i} += 3"),
            11..=15 => format!("int {i} = {limit} - 1; {i} >= 0; {i}--"),
            16 => format!("int {i} = {limit}; {i} > 0; {i} -= 2"),
            17 => format!("int {i} = {limit} - 1; {i} > 0; {i} -= 3"),
            18 => format!("int {i} = 0; {i} != ({some} & 7) && {i} < 9; {i}++"),
            19 => format!(
                "int {i} = Integer.MAX_VALUE - ({some} & 7); {i} > 0; {i} += {}",
                1 + self.below(3)
            ),
            20 => format!("int {i} = 0, n{i} = {limit}; {i} < n{i}; {i}++"),
            21 => format!("int {i} = 0; {i} + 1 < {limit}; {i} += 2"),
            _ => format!("int {i} = {some} & 3; {i} < {limit} && s_z; {i}++"),
        };
        let is_within = limit == format!("{name}.length");
        self.looped(17, &format!("for ({head}) {{"), |it| {
            it.declare(&counter, plain(Int), Role::Counter);
            if is_within {
                it.bounded_by.push((counter.clone(), name.clone()));
            }
            it.over_array(&name, ty);
            it.some(depth);
            if is_within {
                it.bounded_by.pop();
            }
        });
    }

    /// What loops mostly do: read and write an element, add it up.
    fn over_array(&mut self, name: &str, ty: Type) {
        let index = self.index(name, 1);
        let element = ty.element();
        match self.below(4) {
            0 => self.change(&format!("{name}[{index}]"), element),
            1 => {
                let sum = self.variable(element, is_changeable);
                let sum = sum.unwrap_or_else(|| "s_hash".to_owned());
                if element.is_number() {
                    self.line(format!("{sum} += {name}[{index}];"));
                } else {
                    self.line(format!("s_hash += Differ.hash({name}[{index}]);"));
                }
            }
            2 => {
                let other = self.index(name, 1);
                self.line(format!("{name}[{index}] = {name}[{other}];"));
            }
            _ => {}
        }
    }

    /// A condition of any kind, and a count that ends it.
    fn fuelled(&mut self, depth: u32) {
        if !self.can_loop(8) {
            return self.assign();
        }
        let fuel = self.fresh("fuel");
        let turns = 1 + self.below(8);
        self.line(format!("int {fuel} = {turns};"));
        self.declare(&fuel, plain(Int), Role::Counter);
        let condition = self.condition(2);
        if self.one_in(2) {
            self.looped(
                8,
                &format!("while ({fuel}-- > 0 && {condition}) {{"),
                |it| it.some(depth),
            );
            return;
        }
        self.begin("do {", |it| it.repeated(8, |it| it.some(depth)));
        self.line(format!("}} while (--{fuel} > 0 && {condition});"));
    }

    fn each(&mut self, depth: u32) {
        if !self.can_loop(16) {
            return self.assign();
        }
        let ty = [array(Int), array(Long), array(Object), array(Char)][self.random.usize(..4)];
        let Some(array) = self.array(ty) else {
            return self.assign();
        };
        let name = self.fresh("y");
        let head = format!("for ({} {name} : {array}) {{", ty.element().name());
        self.looped(17, &head, |it| {
            it.declare(&name, ty.element(), Role::Fixed);
            it.some(depth);
        });
    }

    fn cases(&mut self, depth: u32) {
        let is_text = self.one_in(4);
        let key = if is_text {
            self.expression(plain(Text), 2)
        } else {
            format!("({}) % 6", self.expression(plain(Int), 2))
        };
        let labels = match (is_text, self.below(3)) {
            (true, _) => ["\"a\"", "\"one\"", "\"0\"", "\"\""],
            (_, 0) => ["0", "1", "2", "-3"],
            (_, 1) => ["-5", "1000", "3", "0x7fffffff"],
            _ => ["5", "4", "3", "1"],
        };
        // A `continue` within belongs to the loop around, so only labels leave.
        let loops = std::mem::take(&mut self.loops);
        self.block(format!("switch ({key}) {{"), |it| {
            for label in labels {
                it.begin(format!("case {label}: {{"), |it| it.some(depth));
                let end = it.pick(&["} break;", "}", "}"]);
                it.line(end);
            }
            if it.one_in(2) {
                it.block("default: {", |it| it.some(depth));
            }
        });
        self.loops = loops;
    }

    /// Locals that live across an exception are read behind it.
    fn attempt(&mut self, depth: u32) {
        let loops = self.loops;
        self.begin("try {", |it| it.some(depth));
        let handlers = self.below(3);
        let mut caught: Vec<&str> = Vec::new();
        let mut first = 0;
        for _ in 0..handlers {
            if first == CAUGHT.len() {
                break;
            }
            // Later ones of the list are wider.
            let at = self.random.usize(first..CAUGHT.len());
            let covered = |it: &&str| caught.contains(it);
            if [CAUGHT[at]].iter().any(covered) || (at == 8 && !caught.is_empty()) {
                continue;
            }
            let is_wide = matches!(
                CAUGHT[at],
                "IndexOutOfBoundsException" | "RuntimeException" | "Throwable"
            );
            first = if is_wide || at == 8 {
                at.max(8) + 1
            } else {
                first
            };
            caught.push(CAUGHT[at]);
            self.handler(CAUGHT[at], depth);
        }
        if caught.is_empty() || self.one_in(3) {
            self.begin("} finally {", |it| it.some(depth));
        }
        self.line("}");
        self.loops = loops;
    }

    fn handler(&mut self, class: &str, depth: u32) {
        let name = self.fresh("t");
        self.begin(format!("}} catch ({class} {name}) {{"), |it| {
            // A trace costs more than what is around it.
            it.cost += 20 * it.trips;
            it.line(format!("s_hash = s_hash * 31 + Differ.note({name});"));
            it.assign();
            if it.one_in(8) {
                it.line(format!("if (s_z) throw new Own(5, {name});"));
            }
            if it.one_in(2) {
                it.some(depth);
            }
        });
    }

    fn locked(&mut self, depth: u32) {
        let lock = match self.below(4) {
            0 => self.node(),
            _ => "LOCK".to_owned(),
        };
        self.block(format!("synchronized ({lock}) {{"), |it| it.some(depth));
    }

    /// One of the functional interfaces, called at once through a method that all share.
    fn lambda(&mut self, depth: u32) {
        if !self.has_room(150) {
            return self.assign();
        }
        let ty = [plain(Int), plain(Long), plain(Object)][self.random.usize(..3)];
        let (kept, kept_type) = (self.fresh("k"), self.any_type());
        let value = self.bounded(kept_type, 2);
        self.line(format!("final {} {kept} = {value};", kept_type.name()));
        self.declare(&kept, kept_type, Role::Fixed);
        let (function, name, argument) =
            (self.fresh("fn"), self.fresh("y"), self.expression(ty, 2));
        let class = match ty.kind {
            Int => "java.util.function.IntUnaryOperator",
            Long => "java.util.function.LongUnaryOperator",
            _ => "java.util.function.UnaryOperator<Object>",
        };
        let outside = (
            std::mem::take(&mut self.labels),
            std::mem::take(&mut self.loops),
            self.returns,
        );
        self.returns = ty;
        self.lambdas += 1;
        self.begin(format!("{class} {function} = {name} -> {{"), |it| {
            it.declare(&name, ty, Role::Fixed);
            // It is called twice.
            it.repeated(2, |it| {
                it.loops = 0;
                it.some(depth.min(2));
                let value = it.expression(ty, 3);
                it.line(format!("return {value};"));
                it.loops = 1;
            });
        });
        self.lambdas -= 1;
        (self.labels, self.loops, self.returns) = outside;
        self.line("};");
        let place = self
            .variable(ty, is_changeable)
            .unwrap_or_else(|| match ty.kind {
                Int => "s_e".to_owned(),
                Long => "s_g".to_owned(),
                _ => "s_o".to_owned(),
            });
        self.line(format!(
            "{place} = apply{}({function}, {argument});",
            ty.kind.boxed()
        ));
    }

    /// Objects of a method's own, of which one may be seen by others now and then.
    fn unseen(&mut self, depth: u32) {
        let [one, other] = [(); 2].map(|()| self.fresh("v"));
        for name in [&one, &other] {
            let value = self.expression(plain(Int), 2);
            self.line(format!("V {name} = new V({value});"));
        }
        for _ in 0..2 + self.below(5) {
            let (name, second) = if self.one_in(2) {
                (&one, &other)
            } else {
                (&other, &one)
            };
            match self.below(8) {
                0 => {
                    let condition = self.condition(2);
                    self.block(format!("if ({condition}) {{"), |it| {
                        it.change_unseen(name, second);
                        it.some(depth);
                    });
                }
                1 if self.can_loop(3) => {
                    let turn = self.fresh("turn");
                    let head = format!("for (int {turn} = 0; {turn} < 3; {turn}++) {{");
                    self.looped(3, &head, |it| {
                        it.change_unseen(name, second);
                        it.some(depth);
                        it.change_unseen(second, name);
                    });
                }
                2 => {
                    let loops = self.loops;
                    self.begin("try {", |it| {
                        it.change_unseen(name, second);
                        it.some(depth);
                        it.change_unseen(name, second);
                    });
                    self.begin("} catch (RuntimeException e) {", |it| {
                        it.cost += 20 * it.trips;
                        it.change_unseen(second, name);
                    });
                    self.line("}");
                    self.loops = loops;
                }
                3 => self.block(format!("synchronized ({name}) {{"), |it| {
                    it.change_unseen(name, second);
                }),
                _ => self.change_unseen(name, second),
            }
        }
        self.line(format!(
            "s_hash = s_hash * 31 + {one}.all() + {other}.take(1);"
        ));
    }

    fn change_unseen(&mut self, name: &str, other: &str) {
        let kinds = [
            Boolean,
            Byte,
            Char,
            Kind::Short,
            Int,
            Long,
            Kind::Float,
            Double,
            Object,
        ];
        let at = self.random.usize(..kinds.len());
        let (field, ty) = (
            ["z", "b", "c", "h", "i", "j", "f", "d", "o"][at],
            plain(kinds[at]),
        );
        let line = match self.below(18) {
            0 => format!("{name}.n = {other};"),
            1 => format!("{name}.n = new V({name}.i);"),
            2 => format!("if ({name}.n != null) {name}.n.i += {other}.take(2);"),
            3 => format!("{name} = {name}.plus({other});"),
            4 => format!("{name} = new V({other}.i ^ 5).plus({name});"),
            5 => format!("s_hash += {name} == {other} ? 1 : {name}.n == {other} ? 2 : 3;"),
            6 => format!("s_hash = s_hash * 31 + {name}.take({other}.b);"),
            7 => format!("{name}.o = {other}; s_hash += {name}.o instanceof V ? 1 : 0;"),
            8 if self.one_in(2) => format!("{name} = {other};"),
            9 if self.one_in(2) => format!("s_o = {name};"),
            10 if self.one_in(2) => format!("s_hash += Differ.hash({name});"),
            11 => format!("s_hash += (Object) {name} instanceof V ? 1 : 2;"),
            12 => format!("s_hash += {name}.getClass() == V.class ? 3 : 4;"),
            _ => return self.change(&format!("{name}.{field}"), ty),
        };
        self.line(line);
    }

    fn is_of_class(&mut self, depth: u32) {
        let object = self.expression(plain(Object), 2);
        let (class, ty) = [
            ("B", plain(Node)),
            ("A", plain(Node)),
            ("String", plain(Text)),
            ("int[]", array(Int)),
            ("D", plain(Node)),
        ][self.random.usize(..5)];
        let name = self.fresh("p");
        self.block(
            format!("if ({object} instanceof {class} {name}) {{"),
            |it| {
                it.declare(&name, ty, Role::Fixed);
                it.some(depth);
            },
        );
    }

    /// Two names of one object: what one writes the other reads.
    fn aliased(&mut self) {
        let (one, other) = (self.node(), self.fresh("q"));
        self.line(format!("A {other} = {one};"));
        let (field, ty) = FIELDS[self.random.usize(..FIELDS.len())];
        self.change(&format!("{other}.{field}"), ty);
        self.declare(&other, plain(Node), Role::Fixed);
        let hash = format!("Differ.hash({one}.{field}) + Differ.hash({other}.{field})");
        self.line(format!("s_hash += {hash};"));
        let truth = self.condition(1);
        if ty == plain(Boolean) {
            self.line(format!("{one}.{field} ^= {truth};"));
        }
    }
}
