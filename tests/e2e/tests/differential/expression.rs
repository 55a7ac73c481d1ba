// SPDX-License-Identifier: Apache-2.0
//! Expressions of each type. What may throw does so now and then, not mostly: a method whose first
//! line throws says little.

use super::types::{
    ARRAYS, CLASSES, DOUBLES, FLOATS, INTS, Kind, LONGS, TEXTS, Type, array, plain,
};
use super::writer::{Manner, Role, Unit, Writer};

use Kind::{Boolean, Byte, Char, Double, Float, Int, Long, Node, Object, Shape, Short, Text};

impl Writer {
    /// An expression of exactly this type, in parentheses if it needs them.
    pub(crate) fn expression(&mut self, ty: Type, depth: u32) -> String {
        if depth == 0 {
            return self.leaf(ty);
        }
        let found = match self.below(12) {
            0 | 1 => self.call(ty, depth),
            2 => self.field(ty),
            3 => self.element(ty, depth),
            4 => Some(self.choice(ty, depth)),
            5 => self.assignment(ty, depth),
            6 => Some(self.leaf(ty)),
            _ => None,
        };
        found.unwrap_or_else(|| self.computed(ty, depth))
    }

    /// What is kept: strings do not grow from turn to turn.
    pub(crate) fn bounded(&mut self, ty: Type, depth: u32) -> String {
        let value = self.expression(ty, depth);
        if ty == plain(Text) {
            format!("Differ.cut({value})")
        } else {
            value
        }
    }

    pub(crate) fn leaf(&mut self, ty: Type) -> String {
        let variable = if self.one_in(4) {
            None
        } else {
            self.variable(ty, |_| true)
        };
        variable.unwrap_or_else(|| match self.below(3) {
            0 => self.field(ty).unwrap_or_else(|| self.literal(ty)),
            _ => self.literal(ty),
        })
    }

    pub(crate) fn literal(&mut self, ty: Type) -> String {
        if ty.dims > 0 {
            return self.new_array(ty);
        }
        let class = CLASSES[self.random.usize(..CLASSES.len())];
        match ty.kind {
            Boolean => self.pick(&["true", "false"]).to_owned(),
            Int => self.pick(&INTS).to_owned(),
            Long => self.pick(&LONGS).to_owned(),
            Float => self.pick(&FLOATS).to_owned(),
            Double => self.pick(&DOUBLES).to_owned(),
            Byte | Short | Char => format!("({}) {}", ty.name(), self.below(70_000)),
            Text if self.one_in(16) => "(String) null".to_owned(),
            Text => self.pick(&TEXTS).to_owned(),
            Node if self.one_in(20) => "(A) null".to_owned(),
            Node => format!("make({})", self.below(9)),
            Shape => format!("shape({})", self.below(9)),
            Object => match self.below(6) {
                0 => "(Object) null".to_owned(),
                1 => format!("(Object) new {}({})", class.0, self.below(5)),
                2 => format!("(Object) {}", self.pick(&TEXTS)),
                3 => format!("(Object) ({})", self.pick(&LONGS)),
                4 => format!("(Object) ({})", self.pick(&DOUBLES)),
                _ => format!("(Object) ({})", self.pick(&INTS)),
            },
        }
    }

    /// At most 16 elements in each dimension; none at times, and below none rarely.
    pub(crate) fn new_array(&mut self, ty: Type) -> String {
        let size = match self.below(24) {
            0 => format!("({}) % 9", self.leaf(plain(Int))),
            1 => format!("({}) & 15", self.leaf(plain(Int))),
            2..=8 => format!("1 + (({}) & 15)", self.leaf(plain(Int))),
            _ => (1 + self.below(12)).to_string(),
        };
        if ty.dims == 2 {
            return format!("new {}[{size}][{}]", ty.kind.name(), 1 + self.below(6));
        }
        let name = match (ty.kind, self.below(6)) {
            (Object, 0) => "String",
            (Object, 1) => "A",
            (Object, 2) => "Integer",
            (Node, 0) => "B",
            _ => ty.kind.name(),
        };
        format!("new {name}[{size}]")
    }

    /// The name of an array: what it is indexed by may name it again.
    pub(crate) fn array(&mut self, ty: Type) -> Option<String> {
        let variable = self.variable(ty, |_| true).filter(|_| !self.one_in(5));
        let own = ARRAYS.iter().filter(|it| it.1 == ty).map(|it| it.0);
        variable.or_else(|| own.map(str::to_owned).next())
    }

    pub(crate) fn index(&mut self, array: &str, depth: u32) -> String {
        let bounded = self.bounded_by.iter().rev().find(|it| it.1 == array);
        let bounded = bounded.map(|it| it.0.clone());
        let counter = self.variable(plain(Int), |role| role == Role::Counter);
        match (self.below(28), bounded, counter) {
            (0..=14, Some(counter), _) if self.lambdas == 0 => counter,
            (15, _, Some(counter)) => format!("{counter} + {}", self.below(4)),
            (16, _, Some(counter)) => format!("{counter} - {}", self.below(4)),
            (17, _, Some(counter)) => format!("{array}.length - 1 - {counter}"),
            (0..=4 | 18, _, Some(counter)) => format!("{counter} & 3"),
            (19 | 20, _, _) => self.below(3).to_string(),
            (21, _, _) => format!("{array}.length - 1"),
            (22, _, _) if self.one_in(3) => self.expression(plain(Int), depth.min(2)),
            _ => {
                let index = self.expression(plain(Int), depth.min(2));
                format!("({index} & 0x7fffffff) % {array}.length")
            }
        }
    }

    fn element(&mut self, ty: Type, depth: u32) -> Option<String> {
        if ty.dims > 1 {
            return None;
        }
        let array = self.array(ty.array_of())?;
        let index = self.index(&array, depth - 1);
        Some(format!("{array}[{index}]"))
    }

    fn choice(&mut self, ty: Type, depth: u32) -> String {
        let [one, other] = [(); 2].map(|()| self.expression(ty, depth - 1));
        let name = ty.name();
        if self.one_in(4) {
            let key = self.expression(plain(Int), depth - 1);
            let third = self.leaf(ty);
            return format!(
                "(({name}) (switch ({key} & 3) {{ case 0 -> {one}; case 1, 3 -> {other}; default -> {third}; }}))"
            );
        }
        let condition = self.expression(plain(Boolean), depth - 1);
        format!("(({name}) ({condition} ? {one} : {other}))")
    }

    /// An assignment within an expression: what stands left of it was read before.
    fn assignment(&mut self, ty: Type, depth: u32) -> Option<String> {
        let variable = self.variable(ty, |role| role == Role::Free)?;
        if ty.is_number() && self.one_in(2) {
            let form = self.pick(&["++", "--"]);
            return Some(if self.one_in(2) {
                format!("({variable}{form})")
            } else {
                format!("({form}{variable})")
            });
        }
        let value = self.bounded(ty, depth - 1);
        Some(format!("({variable} = {value})"))
    }

    /// A call of what was written before, if there is room for its steps.
    pub(crate) fn call(&mut self, ty: Type, depth: u32) -> Option<String> {
        let units: Vec<usize> = (0..self.units.len())
            .filter(|&at| {
                let unit = &self.units[at];
                unit.returns == ty && self.has_room(unit.cost)
            })
            .collect();
        if units.is_empty() {
            return None;
        }
        let unit = self.units[units[self.random.usize(..units.len())]].clone();
        Some(self.call_of(&unit, depth))
    }

    pub(crate) fn call_of(&mut self, unit: &Unit, depth: u32) -> String {
        self.cost += unit.cost * self.trips;
        let mut arguments: Vec<String> = Vec::new();
        for (at, &ty) in unit.parameters.iter().enumerate() {
            let argument = self.expression(ty, depth.min(2) - 1);
            let is_depth = unit.manner == Manner::Recursive && at == 0;
            arguments.push(if is_depth {
                format!("({argument}) & 7")
            } else {
                argument
            });
        }
        let (name, arguments) = (&unit.name, arguments.join(", "));
        match unit.manner {
            Manner::Static | Manner::Recursive => format!("{name}({arguments})"),
            Manner::Virtual => format!("{}.{name}({arguments})", self.node()),
            Manner::Interface => {
                format!("({}).{name}({arguments})", self.leaf(plain(Shape)))
            }
        }
    }

    fn computed(&mut self, ty: Type, depth: u32) -> String {
        if ty.dims > 0 {
            let object = self.variable(plain(Object), |_| true);
            return match (object, self.below(40)) {
                (Some(object), 0) => format!("(({}) {object})", ty.name()),
                _ => self.leaf(ty),
            };
        }
        match ty.kind {
            Boolean => self.condition(depth),
            Byte | Short | Char => self.narrow(ty, depth),
            Int | Long => self.integer(ty, depth),
            Float | Double => self.fraction(ty, depth),
            Text => self.text(depth),
            Object => self.object(depth),
            Node | Shape => self.instance(ty, depth),
        }
    }

    fn number(&mut self) -> Type {
        plain([Int, Int, Long, Double, Float, Byte, Short, Char][self.random.usize(..8)])
    }

    pub(crate) fn condition(&mut self, depth: u32) -> String {
        let depth = depth.max(1) - 1;
        match self.below(10) {
            0 => {
                let object = self.expression(plain(Object), depth);
                let class = self.pick(&["A", "B", "C", "D", "I", "String", "Integer", "int[]"]);
                format!("(({object}) instanceof {class})")
            }
            1 => {
                let ty = [plain(Object), plain(Node), plain(Text)][self.random.usize(..3)];
                let value = self.expression(ty, depth);
                format!("(({value}) {} null)", self.pick(&["==", "!="]))
            }
            2 => {
                let [one, other] = [(); 2].map(|()| self.expression(plain(Boolean), depth));
                let operator = self.pick(&["&&", "||", "^", "&", "|", "==", "!="]);
                format!("({one} {operator} {other})")
            }
            3 => format!("!({})", self.expression(plain(Boolean), depth)),
            4 => {
                let [one, other] = [(); 2].map(|()| self.expression(plain(Node), depth));
                format!("((A) ({one}) == (A) ({other}))")
            }
            _ => {
                let ty = self.number();
                let [one, other] = [(); 2].map(|()| self.expression(ty, depth));
                let operator = self.pick(&["<", "<=", ">", ">=", "==", "!="]);
                format!("({one} {operator} {other})")
            }
        }
    }

    fn narrow(&mut self, ty: Type, depth: u32) -> String {
        if ty.kind == Char && self.one_in(4) {
            let text = self.text(depth - 1);
            let at = self.below(3) / 2;
            return format!("({text} + 1).charAt({at})");
        }
        let from = self.number();
        let value = self.expression(from, depth - 1);
        format!("(({}) ({value}))", ty.name())
    }

    /// `int` or `long`.
    fn integer(&mut self, ty: Type, depth: u32) -> String {
        let depth = depth - 1;
        let name = ty.name();
        let value = self.expression(ty, depth);
        match self.below(16) {
            0..=4 => {
                let operator = self.pick(&["+", "-", "*", "&", "|", "^"]);
                format!("({value} {operator} {})", self.expression(ty, depth))
            }
            5 | 6 => {
                let operator = self.pick(&["/", "%"]);
                let by = self.expression(ty, depth);
                let by = if self.one_in(20) {
                    by
                } else {
                    format!("({by} | 1)")
                };
                format!("({value} {operator} {by})")
            }
            7 => {
                let operator = self.pick(&["/", "%"]);
                format!(
                    "({value} {operator} {})",
                    self.pick(&["2", "-1", "3", "10", "16", "-7"])
                )
            }
            8 | 9 => {
                let operator = self.pick(&["<<", ">>", ">>>"]);
                let by = [plain(Int), plain(Long)][self.random.usize(..2)];
                format!("({value} {operator} {})", self.expression(by, depth))
            }
            10 => format!("({}{value})", self.pick(&["- ", "~"])),
            11 | 12 => {
                let from = self.number();
                format!("(({name}) ({}))", self.expression(from, depth))
            }
            13 => self.by_library(ty, &value, depth),
            14 => {
                let ty = array([Int, Long, Byte, Object][self.random.usize(..4)]);
                let array = self.array(ty).unwrap_or_else(|| "s_ai".to_owned());
                format!("(({name}) {array}.length)")
            }
            _ => {
                let object = self.leaf(plain(Object));
                let boxed = ty.kind.boxed();
                format!("(({object}) instanceof {boxed} ? ({name}) ({boxed}) ({object}) : {value})")
            }
        }
    }

    fn by_library(&mut self, ty: Type, value: &str, depth: u32) -> String {
        let boxed = ty.kind.boxed();
        let other = self.expression(ty, depth);
        let name = ty.name();
        match self.below(9) {
            0 => format!("Math.abs({value})"),
            1 => format!("Math.{}({value}, {other})", self.pick(&["max", "min"])),
            2 => format!("(({name}) {boxed}.bitCount({value}))"),
            3 => format!("{boxed}.rotateLeft({value}, (int) ({other}))"),
            4 => format!("(({name}) {boxed}.numberOfLeadingZeros({value}))"),
            5 => format!("(({name}) {boxed}.compare({value}, {other}))"),
            6 => format!("Math.floorMod({value}, ({other} | 1))"),
            7 => {
                let text = self.text(depth.max(1) - 1);
                let method =
                    self.pick(&["length()", "hashCode()", "indexOf('c')", "indexOf(\"1\")"]);
                format!("(({name}) ({text}).{method})")
            }
            _ => {
                let (number, bits) = if ty.kind == Int {
                    (Float, "Float.floatToIntBits")
                } else {
                    (Double, "Double.doubleToLongBits")
                };
                format!("{bits}({})", self.expression(plain(number), depth))
            }
        }
    }

    fn fraction(&mut self, ty: Type, depth: u32) -> String {
        let depth = depth - 1;
        let value = self.expression(ty, depth);
        match self.below(9) {
            0..=3 => {
                let operator = self.pick(&["+", "-", "*", "/", "%"]);
                format!("({value} {operator} {})", self.expression(ty, depth))
            }
            4 | 5 => {
                let from = self.number();
                format!("(({}) ({}))", ty.name(), self.expression(from, depth))
            }
            6 => format!("(- {value})"),
            7 => format!("Math.abs({value})"),
            _ => {
                let other = self.expression(ty, depth);
                format!("Math.{}({value}, {other})", self.pick(&["max", "min"]))
            }
        }
    }

    fn text(&mut self, depth: u32) -> String {
        let depth = depth.max(1) - 1;
        let value = self.leaf(plain(Text));
        match self.below(9) {
            0 | 1 => {
                let ty = self.number();
                format!("({value} + {})", self.expression(ty, depth))
            }
            2 => format!("Differ.cut({value} + {})", self.leaf(plain(Text))),
            3 => format!(
                "({value}).substring({} & 1)",
                self.expression(plain(Int), depth)
            ),
            4 => format!("({value}).substring({})", self.below(9) / 8),
            5 => format!("String.valueOf({})", self.expression(plain(Boolean), depth)),
            6 => format!(
                "({value}).{}",
                self.pick(&["trim()", "replace('c', 'd')", "concat(\"x\")"])
            ),
            7 => match self.variable(plain(Object), |_| true) {
                Some(object) if self.one_in(8) => format!("((String) {object})"),
                Some(object) => {
                    format!("({object} instanceof String ? (String) {object} : {value})")
                }
                None => value,
            },
            _ => value,
        }
    }

    fn object(&mut self, depth: u32) -> String {
        let depth = depth - 1;
        let ty = match self.below(8) {
            0 => plain(Text),
            1 => plain(Node),
            2 => array(Int),
            3 => array(Object),
            _ => self.number(),
        };
        format!("((Object) ({}))", self.expression(ty, depth))
    }

    fn instance(&mut self, ty: Type, depth: u32) -> String {
        let depth = depth - 1;
        let maker = if ty.kind == Node { "make" } else { "shape" };
        match self.below(6) {
            0 => format!("{maker}({})", self.expression(plain(Int), depth)),
            1 if self.one_in(8) => {
                let object = self.expression(plain(Object), depth);
                format!("(({}) ({object}))", ty.name())
            }
            2 if ty.kind == Node => {
                format!("new {}({})", self.pick(&["A", "B", "C"]), self.below(9))
            }
            3 if ty.kind == Node => self.node(),
            _ => self.leaf(ty),
        }
    }
}
