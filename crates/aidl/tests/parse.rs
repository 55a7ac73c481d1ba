// SPDX-License-Identifier: Apache-2.0
//! What is parsed, and what is refused: by which name, at which line and column.

use aidl::{Base, Direction, Document, Form, Kind, Library, Primitive, Value};

fn parsed(text: &str) -> Document {
    Document::parse("f", text).unwrap_or_else(|it| panic!("{it}"))
}

/// The one declaration of a text.
fn only(text: &str) -> Kind {
    let mut document = parsed(text);
    assert_eq!(document.declarations.len(), 1);
    document.declarations.remove(0).kind
}

/// What a text is refused with: by the parser, by names and rules, or by the generator.
fn refused(text: &str) -> String {
    let made = Document::parse("f", text)
        .and_then(|it| Library::new(vec![it]))
        .and_then(|it| it.rust(&[]));
    made.expect_err(text).to_string()
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(refused(text), format!("f:{expected}"), "{text}");
}

#[test]
fn an_interface_has_its_methods_in_order() {
    let text = "package a.b; /* x */ import c.D;\n// y\ninterface I {\n  const int N = 0x10;\n  \
                List<String> f(in int[] a, inout D d, out @nullable byte[] b);\n  oneway void g();\n}";
    let document = parsed(text);
    assert_eq!(
        (document.package.as_str(), document.imports[0].1.as_str()),
        ("a.b", "c.D")
    );
    let Kind::Interface(interface) = &document.declarations[0].kind else {
        panic!("no interface");
    };
    assert_eq!(document.declarations[0].name, "a.b.I");
    let [f, g] = &interface.methods[..] else {
        panic!("two methods");
    };
    assert_eq!(
        (f.code, g.code, f.is_oneway, g.is_oneway),
        (1, 2, false, true)
    );
    assert_eq!((f.span.line, f.span.column), (5, 16));
    let result = f.result.as_ref().unwrap();
    assert_eq!((&result.base, result.form), (&Base::Text, Form::List));
    let directions: Vec<_> = f.parameters.iter().map(|it| it.direction).collect();
    assert_eq!(
        directions,
        [Direction::In, Direction::InOut, Direction::Out]
    );
    assert!(f.parameters[2].of.is_nullable);
    let value = Value::Integer {
        value: 16,
        is_hex: true,
    };
    assert_eq!(interface.constants[0].value.value, value);
}

#[test]
fn codes_are_given_for_all_or_none() {
    let Kind::Interface(it) = only("oneway interface I { void a() = 7; void b() = 2; }") else {
        panic!("no interface");
    };
    let codes: Vec<_> = it
        .methods
        .iter()
        .map(|it| (it.code, it.is_oneway))
        .collect();
    assert_eq!(codes, [(8, true), (3, true)]);
    check(
        "interface I { void a() = 7; void b(); }",
        "1:34: either all methods have a code or none",
    );
    check(
        "interface I { void a() = 7; void b() = 7; }",
        "1:34: another method has this code",
    );
    let last = "interface I { void a() = 16777215; }";
    check(last, "1:20: a code lies between 0 and 0xfffffe");
}

#[test]
fn enums_count_on() {
    let Kind::Enum(it) = only("@Backing(type=\"long\") enum E { A, B = -5, C, D = 0x10, }") else {
        panic!("no enum");
    };
    assert_eq!(it.backing, Primitive::Long);
    let values: Vec<_> = it.enumerators.iter().map(|it| it.value).collect();
    assert_eq!(values, [0, -5, -4, 16]);
    check(
        "enum E { A = 127, B }",
        "1:19: `B` is more than the enum's type holds",
    );
    check(
        "@Backing(type=\"char\") enum E { A }",
        "1:15: not supported: enums of char",
    );
    check("enum E { A, A }", "1:13: A is declared already");
    check("enum E { }", "1:6: an enum without enumerators");
}

/// AIDL has it, the stubs do not.
const UNSUPPORTED: &[(&str, &str)] = &[
    ("union U { int a; }", "1:1: not supported: union"),
    (
        "interface I;",
        "1:11: not supported: interfaces that are declared without a body",
    ),
    (
        "parcelable P<T> { }",
        "1:13: not supported: parcelables with parameters",
    ),
    (
        "parcelable P cpp_header \"a\";",
        "1:14: not supported: `cpp_header` of a parcelable",
    ),
    (
        "@VintfStability interface I { }",
        "1:1: not supported: @VintfStability",
    ),
    ("interface I { Map f(); }", "1:15: not supported: Map"),
    (
        "interface I { Map<String, String> f(); }",
        "1:15: not supported: Map<…>",
    ),
    (
        "interface I { List f(); }",
        "1:15: not supported: List without a type",
    ),
    (
        "interface I { CharSequence f(); }",
        "1:15: not supported: CharSequence",
    ),
    (
        "interface I { FileDescriptor f(); }",
        "1:15: not supported: FileDescriptor",
    ),
    (
        "interface I { int[3] f(); }",
        "1:19: not supported: arrays of a fixed size",
    ),
    (
        "interface I { int[][] f(); }",
        "1:15: not supported: arrays of arrays and of lists",
    ),
    (
        "interface I { List<List<String>> f(); }",
        "1:24: not supported: lists of anything but single types",
    ),
    (
        "interface I { List<int> f(); }",
        "1:15: not supported: lists of numbers",
    ),
    (
        "interface I { I[] f(); }",
        "1:15: not supported: arrays and lists of interfaces",
    ),
    (
        "interface I { enum E { A } }",
        "1:15: not supported: enum inside another declaration",
    ),
    (
        "interface I { const int A = 1 + 2; }",
        "1:31: not supported: expressions in constants",
    ),
    (
        "interface I { const int A = B; }",
        "1:29: not supported: constants by the name of another",
    ),
    (
        "parcelable P { int[] a = {1}; }",
        "1:26: not supported: values of arrays",
    ),
    (
        "parcelable P { IBinder b; }",
        "1:24: not supported: fields without @nullable that have no value at first",
    ),
    (
        "parcelable P { @nullable P next; }",
        "1:12: not supported: P inside itself",
    ),
    (
        "parcelable P { Q q; } parcelable Q { R[] r; } parcelable R { List<P> p; }",
        "1:12: not supported: P inside itself",
    ),
    (
        "interface I { void f(out ParcelFileDescriptor a); }",
        "1:47: not supported: out ParcelFileDescriptor",
    ),
    (
        "interface I { void f(out IBinder[] a); }",
        "1:36: not supported: out arrays of what has no value to begin with",
    ),
    (
        "interface I { void f(inout @nullable int[] a); }",
        "1:44: not supported: @nullable on out and inout",
    ),
    (
        "enum E { A } interface I { void f(in E[] e); }",
        "1:38: not supported: arrays of enums of byte",
    ),
    (
        "parcelable F; interface I { F f(); }",
        "1:29: not supported: F, a parcelable of another language",
    ),
    (
        "interface I { }",
        "1:11: not supported: interfaces without methods",
    ),
    (
        "parcelable Vec { int a; }",
        "1:12: not supported: a declaration called Vec",
    ),
];

#[test]
fn what_is_not_spoken_is_refused_by_name() {
    for (text, expected) in UNSUPPORTED {
        check(text, expected);
    }
}

/// AIDL does not have it either.
const WRONG: &[(&str, &str)] = &[
    (
        "interface I {\n  void f(int a) }",
        "2:17: expected `;`, found `}`",
    ),
    (
        "interface I {\n  int f(",
        "2:9: expected a type, found the end of the file",
    ),
    (
        "interface I { void f(int[] a); }",
        "1:22: `a` needs in, out or inout",
    ),
    (
        "interface I { void f(out int a); }",
        "1:30: only arrays, lists and parcelables are out or inout",
    ),
    (
        "interface I { oneway int f(); }",
        "1:22: nothing comes back from a oneway call",
    ),
    (
        "interface I { oneway void f(out int[] a); }",
        "1:39: nothing comes back from a oneway call",
    ),
    ("interface I { J f(); }", "1:15: nothing is called J"),
    (
        "import a.B; interface I { void f(); }",
        "1:8: nothing is called a.B",
    ),
    (
        "interface I { void f(); void f(); }",
        "1:30: f is declared already",
    ),
    (
        "interface I { void aB(); void a_b(); }",
        "1:31: a_b is declared already",
    ),
    (
        "interface I { void f(); } parcelable I { }",
        "1:38: I is declared already",
    ),
    (
        "interface I { void f(); } parcelable IProxy { }",
        "1:38: IProxy is declared already",
    ),
    (
        "interface I { @nullable int f(); }",
        "1:25: a number is never null",
    ),
    (
        "parcelable P { int a = \"b\"; }",
        "1:24: no value of this type",
    ),
    (
        "parcelable P { byte a = 128; }",
        "1:25: no value of this type",
    ),
    (
        "parcelable P { float a = 1e9; }",
        "1:26: no number that 64 bits hold",
    ),
    (
        "parcelable P { long a = 9223372036854775808; }",
        "1:25: no number that 64 bits hold",
    ),
    (
        "parcelable P { String a = \"b",
        "1:27: a text without its end",
    ),
    (
        "parcelable P { String a = \"\\n\"; }",
        "1:28: only printable ASCII without backslashes stands between quotes",
    ),
    (
        "parcelable P { /* int a; }",
        "1:16: a comment without its end",
    ),
    (
        "parcelable P { int ä; }",
        "1:20: a character that has no place here",
    ),
    (
        "oneway parcelable P { }",
        "1:8: only an interface is oneway",
    ),
    (
        "@nullable interface I { }",
        "1:1: interface has no such annotation",
    ),
];

#[test]
fn what_is_wrong_is_said_where_it_is() {
    for (text, expected) in WRONG {
        check(text, expected);
    }
    let large = " ".repeat((1 << 20) + 1);
    check(&large, "0:0: more than 1048576 bytes");
}

/// Changes at random never panic, and never make a place that is not there.
#[test]
fn changed_files_are_parsed_or_refused() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let original = include_str!("../../binder/tests/golden/ITypes.aidl");
    let pieces: Vec<&str> = original
        .split_inclusive([' ', '(', ')', '\n', ';', '<'])
        .collect();
    for _ in 0..300 {
        let mut changed = pieces.clone();
        for _ in 0..random.usize(1..4) {
            let (from, to) = (random.usize(..pieces.len()), random.usize(..changed.len()));
            match random.u8(..3) {
                0 => changed.insert(to, pieces[from]),
                1 => changed[to] = pieces[from],
                _ => drop(changed.remove(to)),
            }
        }
        let text = changed.concat();
        let lines = text.lines().count() as u32 + 1;
        let made = Document::parse("f", &text)
            .and_then(|it| Library::new(vec![it]))
            .and_then(|it| it.rust(&[]));
        if let Err(error) = made {
            assert!(
                1 <= error.span.line && error.span.line <= lines,
                "{error}: {text}"
            );
        }
    }
}
