// SPDX-License-Identifier: Apache-2.0
//! A whole program: its classes, its methods from the smallest to those that call all others, and
//! who calls them in phases. Each phase has classes that were not there before.

use super::types::{ARRAYS, CLASSES, FIELDS, Kind, Type, VOLATILE, array, plain};
use super::writer::{Manner, Role, Unit, Writer};

use Kind::{Byte, Char, Double, Float, Int, Long, Node, Object, Shape, Short, Text};

/// In the last ones all classes are there, and methods may be linked again.
const PHASES: u32 = 8;
/// Calls of each method in a phase.
const TURNS: u32 = 4;
const METHODS: u32 = 12;

/// What generated programs have in common. `NAME` is the program.
const HEAD: &str = "\
    static final Object LOCK = new Object();
    static int nodes = 1;
    static long s_hash;

    static class Own extends RuntimeException {
        final int code;
        Own(int code) { super(\"own \" + code); this.code = code; }
        Own(int code, Throwable cause) { super(\"own \" + code, cause); this.code = code; }
    }

    static final class Other extends Own {
        Other(int code) { super(code + 1); }
    }

    /** Its objects are hardly ever seen by others. */
    static final class V implements Differ.Hashed {
        boolean z; byte b; char c; short h; int i; long j; float f; double d; Object o; V n;
        V(int i) { this.i = i; }
        V plus(V other) {
            V sum = new V(i + other.i);
            sum.j = j ^ other.j;
            sum.n = other;
            sum.o = o;
            return sum;
        }
        int take(int by) { i += by; b--; return i * 31 + b + c + h + (z ? 1 : 0); }
        long all() { return take(3) + j + (long) f + Double.doubleToLongBits(d) + (o == this ? 1 : 0); }
        public long hashed(int depth) { return all(); }
    }

    static A make(int k) {
        switch (Math.floorMod(k, nodes)) {
            case 1: return new B(k);
            case 2: return new C(k);
            case 3: return new D(k);
            case 4: return new E(k);
            default: return new A(k);
        }
    }

    static I shape(int k) {
        switch (Math.floorMod(k, nodes)) {
            case 1: return new G(k);
            case 2: return new B(k);
            case 3: return new H(k);
            case 4: return new D(k);
            default: return new F(k);
        }
    }

    static int applyInteger(java.util.function.IntUnaryOperator f, int x) { return f.applyAsInt(f.applyAsInt(x)); }
    static long applyLong(java.util.function.LongUnaryOperator f, long x) { return f.applyAsLong(f.applyAsLong(x)); }
    static Object applyObject(java.util.function.UnaryOperator<Object> f, Object x) { return f.apply(f.apply(x)); }
";

pub(crate) fn name(seed: u64) -> String {
    format!("P{seed}")
}

/// The source of the program of this seed.
pub(crate) fn source(seed: u64) -> String {
    let mut writer = Writer::new(seed);
    writer.constructors();
    for _ in 0..METHODS {
        writer.unit();
    }
    writer.whole(seed)
}

impl Writer {
    fn whole(mut self, seed: u64) -> String {
        let mut lines = vec![
            format!("// Seed {seed}"),
            format!("public class {} {{", name(seed)),
        ];
        lines.push(HEAD.trim_end().to_owned());
        for (name, ty) in FIELDS {
            let value = first_value(ty);
            let volatile = if VOLATILE.contains(&name) {
                "volatile "
            } else {
                ""
            };
            if !ARRAYS
                .iter()
                .any(|it| it.0.strip_prefix("s_") == Some(name))
            {
                lines.push(format!(
                    "    static {volatile}{} s_{name} = {value};",
                    ty.name()
                ));
            }
        }
        for (name, ty, value) in ARRAYS {
            lines.push(format!("    static {} {name} = {value};", ty.name()));
        }
        let names = ARRAYS.iter().map(|it| it.0.to_owned());
        let names = names.chain(FIELDS.iter().map(|it| format!("s_{}", it.0)));
        let sum: Vec<String> = names.map(|it| format!("Differ.hash({it})")).collect();
        lines.push("    static long state() {\n        long sum = s_hash;".to_owned());
        lines.extend(
            sum.iter()
                .map(|it| format!("        sum = sum * 31 + {it};")),
        );
        lines.push("        return sum;\n    }\n".to_owned());
        let units = std::mem::take(&mut self.units);
        for unit in &units {
            self.caller(unit);
        }
        self.phases(&units);
        lines.append(&mut self.members[CLASSES.len()]);
        self.classes(&units, &mut lines);
        lines.push("}\n".to_owned());
        lines.join("\n")
    }

    /// Hands the method that was written to a class: `CLASSES.len()` is the program itself.
    fn finish_method(&mut self, class: usize) {
        let lines = std::mem::take(&mut self.lines);
        self.members[class].extend(lines);
        self.members[class].push(String::new());
        self.scope.clear();
        self.labels.clear();
    }

    fn constructors(&mut self) {
        for (class, (name, parent, _)) in CLASSES.into_iter().enumerate() {
            let is_node = name == "A" || self.is_node(class);
            self.block(format!("{name}(int k) {{"), |it| {
                if parent.is_some() {
                    let value = it.pick(&["k", "k + 1", "k >> 1", "7"]);
                    it.line(format!("super({value});"));
                }
                it.declare("k", plain(Int), Role::Free);
                let count = it.below(4);
                for _ in 0..count {
                    let (field, ty) = FIELDS[it.random.usize(..9)];
                    if is_node {
                        let value = it.pick(&["k", "k * 3", "(k ^ 85) + 1", "k == 0 ? 1 : 12 / k"]);
                        let value = match ty.kind {
                            Kind::Boolean => "(k & 1) == 0".to_owned(),
                            _ => format!("({}) ({value})", ty.name()),
                        };
                        it.line(format!("this.{field} = {value};"));
                    }
                }
            });
            self.finish_method(class);
        }
    }

    fn is_node(&self, class: usize) -> bool {
        let (name, parent, _) = CLASSES[class];
        name == "A" || matches!(parent, Some("A" | "B"))
    }

    fn unit(&mut self) {
        let manner = match self.below(8) {
            0 => Manner::Recursive,
            1 | 2 => Manner::Virtual,
            3 | 4 => Manner::Interface,
            _ => Manner::Static,
        };
        let start = match manner {
            Manner::Static => "u",
            Manner::Recursive => "r",
            Manner::Virtual => "v",
            Manner::Interface => "m",
        };
        let name = self.fresh(start);
        let count = self.below(4);
        let mut parameters: Vec<Type> = (0..count).map(|_| self.any_type()).collect();
        if manner == Manner::Recursive {
            parameters.insert(0, plain(Int));
        }
        let returns = self.any_type();
        let mut unit = Unit {
            name,
            manner,
            parameters,
            returns,
            cost: 0,
        };
        unit.cost = match manner {
            Manner::Static => self.body(CLASSES.len(), &unit, "static "),
            // What one level costs, eight of them.
            Manner::Recursive => 8 * self.body(CLASSES.len(), &unit, "static "),
            Manner::Virtual => self.bodies(&unit, |it, class| {
                class == 0 || (it.is_node(class) && it.one_in(2))
            }),
            Manner::Interface => self.bodies(&unit, |it, class| {
                let is_first = matches!(CLASSES[class].0, "B" | "C" | "F" | "G");
                is_first || (CLASSES[class].2 && it.one_in(2))
            }),
        };
        self.units.push(unit);
    }

    /// The method in each class that has one; the dearest counts.
    fn bodies(&mut self, unit: &Unit, mut has_it: impl FnMut(&mut Self, usize) -> bool) -> u64 {
        let mut cost = 1;
        for class in 0..CLASSES.len() {
            if has_it(self, class) {
                cost = cost.max(self.body(class, unit, "public "));
            }
        }
        cost
    }

    fn body(&mut self, class: usize, unit: &Unit, start: &str) -> u64 {
        (self.cost, self.trips, self.loops) = (1, 1, 0);
        self.returns = unit.returns;
        let names: Vec<String> = (0..unit.parameters.len())
            .map(|at| format!("a{at}"))
            .collect();
        let pairs = unit.parameters.iter().zip(&names);
        let parameters: Vec<String> = pairs
            .map(|(ty, it)| format!("{} {it}", ty.name()))
            .collect();
        let synchronized = if self.one_in(12) { "synchronized " } else { "" };
        let returns = unit.returns.name();
        let head = format!(
            "{start}{synchronized}{returns} {}({}) {{",
            unit.name,
            parameters.join(", ")
        );
        let is_small = self.one_in(3);
        self.block(head, |it| {
            for (&ty, name) in unit.parameters.iter().zip(&names) {
                it.declare(name, ty, if is_small { Role::Fixed } else { Role::Free });
            }
            if class < CLASSES.len() && it.is_node(class) {
                it.declare("this", plain(Node), Role::Fixed);
                it.declare("this.f", plain(Int), Role::Field);
                it.declare("this.g", plain(Long), Role::Field);
            } else if class < CLASSES.len() {
                it.declare("this.y", plain(Int), Role::Field);
            }
            if unit.manner == Manner::Recursive {
                it.recursion(unit);
            }
            if is_small {
                it.small();
            } else {
                it.large();
            }
        });
        let cost = self.cost;
        self.finish_method(class);
        cost
    }

    /// Down to depth 0, whose value is another one.
    fn recursion(&mut self, unit: &Unit) {
        let value = self.expression(unit.returns, 1);
        self.line(format!("if (a0 <= 0) return {value};"));
        let others: Vec<String> = unit.parameters[1..]
            .iter()
            .map(|&ty| self.leaf(ty))
            .collect();
        let arguments = [vec!["a0 - 1".to_owned()], others].concat().join(", ");
        let name = self.fresh("x");
        self.line(format!(
            "{} {name} = {}({arguments});",
            unit.returns.name(),
            unit.name
        ));
        self.declare(&name, unit.returns, Role::Free);
    }

    /// What a compiler takes in place of its call.
    fn small(&mut self) {
        if self.one_in(3) {
            let condition = self.condition(1);
            let value = self.expression(self.returns, 1);
            self.line(format!("if ({condition}) return {value};"));
        }
        let depth = 1 + self.below(2);
        let value = self.expression(self.returns, depth);
        self.line(format!("return {value};"));
    }

    fn large(&mut self) {
        let locals = 1 + self.below(4);
        for _ in 0..locals {
            self.declaration();
        }
        let count = 2 + self.below(7);
        self.statements(count, 3);
        let value = self.expression(self.returns, 2);
        self.line(format!("return {value};"));
    }

    /// Calls a method with arguments that turn and phase choose.
    fn caller(&mut self, unit: &Unit) {
        let name = &unit.name;
        self.block(format!("static void call_{name}(int p) {{"), |it| {
            it.block(format!("for (int t = 0; t < {TURNS}; t++) {{"), |it| {
                it.begin("try {", |it| {
                    let parameters = unit.parameters.iter();
                    let mut arguments: Vec<String> =
                        parameters.map(|&ty| it.argument(ty)).collect();
                    if unit.manner == Manner::Recursive {
                        arguments[0] = "(t + p) & 7".to_owned();
                    }
                    let arguments = arguments.join(", ");
                    let receiver = match unit.manner {
                        Manner::Virtual => "make(t + p).",
                        Manner::Interface => "shape(t + p).",
                        _ => "",
                    };
                    it.line(format!(
                        "Differ.gave(\"{name}\", t, Differ.hash({receiver}{name}({arguments})));"
                    ));
                });
                it.begin("} catch (Throwable thrown) {", |it| {
                    it.line(format!("Differ.threw(\"{name}\", t, thrown);"));
                });
                it.line("}");
            });
        });
        self.finish_method(CLASSES.len());
    }

    fn argument(&mut self, ty: Type) -> String {
        let at = format!(
            "t * {} + p * {} + {}",
            1 + self.below(9),
            1 + self.below(9),
            self.below(9)
        );
        if ty.dims > 0 {
            let own = ARRAYS.iter().find(|it| it.1 == ty).map(|it| it.0);
            let own = own.expect("each kind of array has a field");
            return format!(
                "(({at}) % 3 == 0 ? {own} : java.util.Arrays.copyOf({own}, 1 + (({at}) & 7)))"
            );
        }
        match ty.kind {
            Kind::Boolean => format!("(({at}) & 2) == 0"),
            Int => format!("INTS[({at}) % INTS.length]"),
            Long => format!("LONGS[({at}) % LONGS.length]"),
            Byte | Short | Char => format!("({}) INTS[({at}) % INTS.length]", ty.name()),
            Float => format!("FLOATS[({at}) % FLOATS.length]"),
            Double => format!("DOUBLES[({at}) % DOUBLES.length]"),
            Text => format!("TEXTS[({at}) % TEXTS.length]"),
            Object => format!("s_ao[({at}) % s_ao.length]"),
            Node => format!("make({at})"),
            Shape => format!("shape({at})"),
        }
    }

    fn phases(&mut self, units: &[Unit]) {
        use super::types::{DOUBLES, FLOATS, INTS, LONGS, TEXTS};
        for (ty, name, values) in [
            (array(Int), "INTS", &INTS[..]),
            (array(Long), "LONGS", &LONGS),
            (array(Float), "FLOATS", &FLOATS),
            (array(Double), "DOUBLES", &DOUBLES),
            (array(Text), "TEXTS", &TEXTS),
        ] {
            self.line(format!(
                "static final {} {name} = {{{}}};",
                ty.name(),
                values.join(", ")
            ));
        }
        self.block("public static void run() throws Exception {", |it| {
            it.block(format!("for (int p = 0; p < {PHASES}; p++) {{"), |it| {
                it.line("nodes = Math.min(1 + p, 5);");
                for unit in units {
                    it.line(format!("call_{}(p);", unit.name));
                }
                it.line("Differ.pause();");
                it.line("Differ.gave(\"state\", p, state());");
                it.line("if (Thread.holdsLock(LOCK)) Differ.line(\"locked\");");
            });
        });
        self.finish_method(CLASSES.len());
    }

    fn classes(&mut self, units: &[Unit], lines: &mut Vec<String>) {
        lines.push("    interface I {".to_owned());
        for unit in units.iter().filter(|it| it.manner == Manner::Interface) {
            let parameters = unit.parameters.iter().enumerate();
            let parameters: Vec<String> = parameters
                .map(|(at, ty)| format!("{} a{at}", ty.name()))
                .collect();
            lines.push(format!(
                "        {} {}({});",
                unit.returns.name(),
                unit.name,
                parameters.join(", ")
            ));
        }
        lines.push("    }\n".to_owned());
        for (class, (name, parent, is_shape)) in CLASSES.into_iter().enumerate() {
            let extends = parent.map_or(String::new(), |it| format!(" extends {it}"));
            let mut implements: Vec<&str> = Vec::new();
            implements.extend(is_shape.then_some("I"));
            implements.extend(parent.is_none().then_some("Differ.Hashed"));
            let implements = if implements.is_empty() {
                String::new()
            } else {
                format!(" implements {}", implements.join(", "))
            };
            lines.push(format!("    static class {name}{extends}{implements} {{"));
            if name == "A" {
                for (field, ty) in FIELDS {
                    let volatile = if VOLATILE.contains(&field) {
                        "volatile "
                    } else {
                        ""
                    };
                    lines.push(format!("        {volatile}{} {field};", ty.name()));
                }
                lines.push("        { ai = new int[] {5, 6, 7}; ao = new String[2]; next = this; t = \"t\"; }".to_owned());
                let sums = FIELDS
                    .map(|it| format!("sum = sum * 31 + Differ.hash((Object) {}, depth);", it.0));
                lines.push(format!(
                    "        public long hashed(int depth) {{ long sum = {}; {} return sum; }}",
                    class + 1,
                    sums.join(" ")
                ));
            } else if parent.is_none() {
                lines.push("        int y;".to_owned());
                lines.push(format!(
                    "        public long hashed(int depth) {{ return y * 31 + {class}; }}"
                ));
            }
            lines.append(&mut self.members[class]);
            lines.push("    }\n".to_owned());
        }
    }
}

/// What a static field holds at first.
fn first_value(ty: Type) -> String {
    if ty.dims > 0 {
        return format!("new {}[3]", ty.kind.name());
    }
    match ty.kind {
        Kind::Boolean => "true".to_owned(),
        Char => "'x'".to_owned(),
        Text => "\"text\"".to_owned(),
        Object => "\"object\"".to_owned(),
        Node => "new A(3)".to_owned(),
        Shape => "new F(3)".to_owned(),
        _ => "5".to_owned(),
    }
}
