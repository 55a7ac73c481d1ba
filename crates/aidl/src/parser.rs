// SPDX-License-Identifier: Apache-2.0
//! [`Document::parse`]: tokens to a model. Nothing here calls itself: what AIDL nests is refused.

use crate::error::{Error, Fault, Problem, Span, unsupported, wrong};
use crate::lexer::{Lexer, Token};
use crate::model::*;

/// The largest interfaces of AOSP have a tenth of it.
const BYTES_MAX: usize = 1 << 20;
/// Android's FIRST_CALL_TRANSACTION and LAST_CALL_TRANSACTION.
const CODE_FIRST: u32 = 1;
const CODE_LAST: u32 = 0x00ff_ffff;

impl Document {
    /// Parses a file; errors call it `file`.
    pub fn parse(file: &str, text: &str) -> Result<Self, Error> {
        let parsed = if text.len() > BYTES_MAX {
            Err((Span::default(), Problem::TooLarge(BYTES_MAX)))
        } else {
            Parser::new(text).and_then(|mut it| it.document(file))
        };
        parsed.map_err(|(span, problem)| Error {
            file: file.into(),
            span,
            problem,
        })
    }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    span: Span,
    token: Token<'a>,
    package: String,
}

/// What stands before a declaration or a type.
#[derive(Default)]
struct Annotations {
    nullable: Option<Span>,
    backing: Option<(Span, Primitive)>,
}

impl Annotations {
    /// Neither is there.
    fn refuse(&self, what: &str) -> Result<(), Fault> {
        let backing = self.backing.map(|it| it.0);
        match self.nullable.or(backing) {
            Some(span) => wrong(span, format!("{what} has no such annotation")),
            None => Ok(()),
        }
    }
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self, Fault> {
        let mut lexer = Lexer::new(text);
        let (span, token) = lexer.next()?;
        Ok(Self {
            lexer,
            span,
            token,
            package: String::new(),
        })
    }

    fn document(&mut self, file: &str) -> Result<Document, Fault> {
        let mut imports = Vec::new();
        let mut declarations = Vec::new();
        if self.take_word("package")? {
            self.package = self.qualified("the package's name")?.1;
            self.symbol(';')?;
        }
        while self.take_word("import")? {
            imports.push(self.qualified("the name of what is imported")?);
            self.symbol(';')?;
        }
        while self.token != Token::End {
            declarations.push(self.declaration()?);
        }
        Ok(Document {
            file: file.into(),
            package: std::mem::take(&mut self.package),
            imports,
            declarations,
        })
    }

    fn declaration(&mut self) -> Result<Declaration, Fault> {
        let annotations = self.annotations()?;
        let is_oneway = self.take_word("oneway")?;
        let start = self.span;
        let keyword = self.word("a declaration")?.1;
        if is_oneway && keyword != "interface" {
            return wrong(start, "only an interface is oneway");
        }
        if keyword != "enum" {
            annotations.refuse(keyword)?;
        }
        match keyword {
            "interface" => self.interface(is_oneway),
            "parcelable" => self.parcelable(),
            "enum" => self.enumeration(annotations),
            "union" => unsupported(start, "union"),
            "import" | "package" => wrong(start, format!("`{keyword}` stands at the beginning")),
            _ => self.unexpected_at(start, "a declaration", Token::Word(keyword)),
        }
    }

    fn declared(&self, span: Span, name: &str, kind: Kind) -> Declaration {
        Declaration {
            span,
            name: join(&self.package, name),
            kind,
        }
    }

    fn interface(&mut self, is_oneway: bool) -> Result<Declaration, Fault> {
        let (span, name) = self.word("the interface's name")?;
        if self.token == Token::Symbol(';') {
            return unsupported(span, "interfaces that are declared without a body");
        }
        self.symbol('{')?;
        let (mut methods, mut constants) = (Vec::new(), Vec::new());
        let mut codes = Codes::default();
        while !self.take_symbol('}')? {
            let annotations = self.annotations()?;
            if self.take_word("const")? {
                annotations.refuse("a constant")?;
                constants.push(self.constant()?);
            } else {
                methods.push(self.method(annotations, is_oneway, &mut codes)?);
            }
        }
        let interface = Interface { methods, constants };
        Ok(self.declared(span, name, Kind::Interface(interface)))
    }

    fn method(
        &mut self,
        annotations: Annotations,
        is_oneway: bool,
        codes: &mut Codes,
    ) -> Result<Method, Fault> {
        self.refuse_nested()?;
        let is_oneway = self.take_word("oneway")? || is_oneway;
        let start = self.span;
        let result = if self.take_word("void")? {
            annotations.refuse("void")?;
            None
        } else {
            Some(self.type_behind(annotations)?)
        };
        let (span, name) = self.word("the method's name")?;
        self.symbol('(')?;
        let mut parameters = Vec::new();
        while !self.take_symbol(')')? {
            if !parameters.is_empty() {
                self.symbol(',')?;
            }
            parameters.push(self.parameter()?);
        }
        let given = if self.take_symbol('=')? {
            Some(self.number()?)
        } else {
            None
        };
        self.symbol(';')?;
        let code = codes.next(span, given)?;
        if is_oneway {
            let back = parameters.iter().find(|it| it.direction != Direction::In);
            let place = back.map(|it| it.span).or(result.is_some().then_some(start));
            if let Some(place) = place {
                return wrong(place, "nothing comes back from a oneway call");
            }
        }
        Ok(Method {
            span,
            name: name.into(),
            code,
            is_oneway,
            result,
            parameters,
        })
    }

    fn parameter(&mut self) -> Result<Parameter, Fault> {
        let start = self.span;
        let mut annotations = self.annotations()?;
        let said = match self.token {
            Token::Word("in") => Some(Direction::In),
            Token::Word("out") => Some(Direction::Out),
            Token::Word("inout") => Some(Direction::InOut),
            _ => None,
        };
        if said.is_some() {
            self.next()?;
            let more = self.annotations()?;
            annotations.nullable = annotations.nullable.or(more.nullable);
            annotations.backing = annotations.backing.or(more.backing);
        }
        let of = self.type_behind(annotations)?;
        let (span, name) = self.word("the parameter's name")?;
        let needs_one = of.form != Form::Single;
        if said.is_none() && needs_one {
            return wrong(start, format!("`{name}` needs in, out or inout"));
        }
        Ok(Parameter {
            span,
            name: name.into(),
            direction: said.unwrap_or(Direction::In),
            of,
        })
    }

    fn parcelable(&mut self) -> Result<Declaration, Fault> {
        let (span, name) = self.qualified("the parcelable's name")?;
        if self.take_symbol(';')? {
            return Ok(self.declared(span, &name, Kind::Foreign));
        }
        match self.token {
            Token::Symbol('<') => return unsupported(self.span, "parcelables with parameters"),
            Token::Word(it) => {
                return unsupported(self.span, format!("`{it}` of a parcelable"));
            }
            _ => self.symbol('{')?,
        }
        if name.contains('.') {
            return wrong(span, "a parcelable with fields has no dots in its name");
        }
        let (mut fields, mut constants) = (Vec::new(), Vec::new());
        while !self.take_symbol('}')? {
            let annotations = self.annotations()?;
            if self.take_word("const")? {
                annotations.refuse("a constant")?;
                constants.push(self.constant()?);
                continue;
            }
            self.refuse_nested()?;
            let of = self.type_behind(annotations)?;
            let (span, name) = self.word("the field's name")?;
            let default = if self.take_symbol('=')? {
                Some(self.literal()?)
            } else {
                None
            };
            self.symbol(';')?;
            fields.push(Field {
                span,
                name: name.into(),
                of,
                default,
            });
        }
        let parcelable = Parcelable { fields, constants };
        Ok(self.declared(span, &name, Kind::Parcelable(parcelable)))
    }

    fn enumeration(&mut self, annotations: Annotations) -> Result<Declaration, Fault> {
        if let Some(span) = annotations.nullable {
            return wrong(span, "enum has no such annotation");
        }
        // AIDL's own choice where nobody says.
        let backing = annotations.backing.map_or(Primitive::Byte, |it| it.1);
        let (span, name) = self.word("the enum's name")?;
        self.symbol('{')?;
        let mut enumerators: Vec<Enumerator> = Vec::new();
        while !self.take_symbol('}')? {
            let (span, name) = self.word("an enumerator")?;
            let last = enumerators
                .last()
                .map_or(Some(0), |it| it.value.checked_add(1));
            let value = if self.take_symbol('=')? {
                Some(self.number()?)
            } else {
                last
            };
            let value = value.filter(|it| holds(backing, *it));
            let Some(value) = value else {
                return wrong(span, format!("`{name}` is more than the enum's type holds"));
            };
            enumerators.push(Enumerator {
                span,
                name: name.into(),
                value,
            });
            if self.token != Token::Symbol('}') {
                self.symbol(',')?;
            }
        }
        if enumerators.is_empty() {
            return wrong(span, "an enum without enumerators");
        }
        let kind = Kind::Enum(EnumDeclaration {
            backing,
            enumerators,
        });
        Ok(self.declared(span, name, kind))
    }

    fn constant(&mut self) -> Result<Constant, Fault> {
        let annotations = self.annotations()?;
        let of = self.type_behind(annotations)?;
        let (span, name) = self.word("the constant's name")?;
        self.symbol('=')?;
        let value = self.literal()?;
        self.symbol(';')?;
        Ok(Constant {
            span,
            name: name.into(),
            of,
            value,
        })
    }

    /// A type behind its annotations.
    fn type_behind(&mut self, annotations: Annotations) -> Result<Type, Fault> {
        if let Some((span, _)) = annotations.backing {
            return wrong(span, "only an enum has @Backing");
        }
        let (span, name) = self.qualified("a type")?;
        let mut form = Form::Single;
        let mut base = base(span, &name);
        if self.take_symbol('<')? {
            if name != "List" {
                return unsupported(span, format!("{name}<…>"));
            }
            let (span, item) = self.qualified("the list's type")?;
            base = self::base(span, &item);
            if matches!(self.token, Token::Symbol('<' | '[' | ',')) {
                return unsupported(self.span, "lists of anything but single types");
            }
            self.symbol('>')?;
            form = Form::List;
        } else if name == "List" {
            return unsupported(span, "List without a type");
        }
        if self.take_symbol('[')? {
            if self.token != Token::Symbol(']') {
                return unsupported(self.span, "arrays of a fixed size");
            }
            self.symbol(']')?;
            if form == Form::List || self.token == Token::Symbol('[') {
                return unsupported(span, "arrays of arrays and of lists");
            }
            form = Form::Array;
        }
        Ok(Type {
            span,
            base: base?,
            form,
            is_nullable: annotations.nullable.is_some(),
        })
    }

    fn annotations(&mut self) -> Result<Annotations, Fault> {
        let mut found = Annotations::default();
        while self.token == Token::Symbol('@') {
            let span = self.span;
            self.next()?;
            match self.word("an annotation")?.1 {
                "nullable" => {
                    if self.token == Token::Symbol('(') {
                        return unsupported(self.span, "@nullable with parameters");
                    }
                    found.nullable = Some(span);
                }
                "Backing" => found.backing = Some((span, self.backing()?)),
                name => return unsupported(span, format!("@{name}")),
            }
        }
        Ok(found)
    }

    /// `(type="int")`
    fn backing(&mut self) -> Result<Primitive, Fault> {
        self.symbol('(')?;
        let span = self.span;
        if !self.take_word("type")? {
            return self.unexpected_at(span, "`type`", self.token);
        }
        self.symbol('=')?;
        let span = self.span;
        let Token::Text(name) = self.token else {
            return self.unexpected_at(span, "the name of a type", self.token);
        };
        self.next()?;
        self.symbol(')')?;
        match Primitive::of_name(name) {
            Some(it @ (Primitive::Byte | Primitive::Int | Primitive::Long)) => Ok(it),
            _ => unsupported(span, format!("enums of {name}")),
        }
    }

    fn literal(&mut self) -> Result<Literal, Fault> {
        let span = self.span;
        let value = match self.token {
            Token::Symbol('-') | Token::Number(_) => self.numeral()?,
            Token::Text(it) => {
                self.next()?;
                Value::Text(it.into())
            }
            Token::Character(it) => {
                self.next()?;
                Value::Character(it)
            }
            Token::Word("true" | "false") => Value::Boolean(self.word("a value")?.1 == "true"),
            Token::Word(_) => {
                let (span, name) = self.qualified("a value")?;
                match name.rsplit_once('.') {
                    Some((of, name)) => Value::Enumerator(of.into(), name.into()),
                    None => return unsupported(span, "constants by the name of another"),
                }
            }
            Token::Symbol('{') => return unsupported(span, "values of arrays"),
            Token::Symbol('(' | '+' | '~' | '!') => {
                return unsupported(span, "expressions in constants");
            }
            _ => return self.unexpected_at(span, "a value", self.token),
        };
        if !matches!(self.token, Token::Symbol(';' | ',' | ')' | '}')) {
            return match self.token {
                Token::Symbol(_) => unsupported(self.span, "expressions in constants"),
                _ => self.unexpected_at(self.span, "the value's end", self.token),
            };
        }
        Ok(Literal { span, value })
    }

    /// A whole number.
    fn number(&mut self) -> Result<i64, Fault> {
        let literal = self.literal()?;
        match literal.value {
            Value::Integer { value, .. } => Ok(value),
            _ => wrong(literal.span, "no whole number"),
        }
    }

    fn numeral(&mut self) -> Result<Value, Fault> {
        let is_negative = self.take_symbol('-')?;
        let span = self.span;
        let Token::Number(text) = self.token else {
            return self.unexpected_at(span, "a number", self.token);
        };
        self.next()?;
        let sign = if is_negative { "-" } else { "" };
        let fault = (span, Problem::Malformed("no number that 64 bits hold"));
        if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            let bits = u64::from_str_radix(digits, 16);
            let value = bits.map_err(|_| fault)?.cast_signed();
            if is_negative {
                return unsupported(span, "hexadecimal numbers with a sign");
            }
            return Ok(Value::Integer {
                value,
                is_hex: true,
            });
        }
        if text.contains('.') || text.ends_with('f') {
            let digits = text.strip_suffix('f').unwrap_or(text);
            let is_plain = digits.bytes().all(|it| it.is_ascii_digit() || it == b'.');
            return match digits.parse::<f64>() {
                Ok(it) if is_plain && it.is_finite() => Ok(Value::Real(format!("{sign}{digits}"))),
                _ => Err((span, Problem::Malformed("no number"))),
            };
        }
        let digits = text.strip_suffix(['L', 'l']).unwrap_or(text);
        let value = format!("{sign}{digits}").parse().map_err(|_| fault)?;
        Ok(Value::Integer {
            value,
            is_hex: false,
        })
    }

    fn refuse_nested(&self) -> Result<(), Fault> {
        match self.token {
            Token::Word(it @ ("parcelable" | "interface" | "enum" | "union")) => {
                unsupported(self.span, format!("{it} inside another declaration"))
            }
            _ => Ok(()),
        }
    }

    /// Names and the dots between them.
    fn qualified(&mut self, expected: &'static str) -> Result<(Span, String), Fault> {
        let (span, first) = self.word(expected)?;
        let mut name = first.to_owned();
        while self.take_symbol('.')? {
            name.push('.');
            name.push_str(self.word(expected)?.1);
        }
        Ok((span, name))
    }

    fn word(&mut self, expected: &'static str) -> Result<(Span, &'a str), Fault> {
        match self.token {
            Token::Word(word) => {
                let span = self.span;
                self.next()?;
                Ok((span, word))
            }
            _ => self.unexpected_at(self.span, expected, self.token),
        }
    }

    fn take_word(&mut self, word: &str) -> Result<bool, Fault> {
        self.take(Token::Word(word))
    }

    fn take_symbol(&mut self, symbol: char) -> Result<bool, Fault> {
        self.take(Token::Symbol(symbol))
    }

    fn take(&mut self, token: Token<'_>) -> Result<bool, Fault> {
        let is_there = self.token == token;
        if is_there {
            self.next()?;
        }
        Ok(is_there)
    }

    fn symbol(&mut self, symbol: char) -> Result<(), Fault> {
        let expected = match symbol {
            '(' => "`(`",
            ')' => "`)`",
            '{' => "`{`",
            '=' => "`=`",
            ',' => "`,`",
            ']' => "`]`",
            '>' => "`>`",
            _ => "`;`",
        };
        match self.take_symbol(symbol)? {
            true => Ok(()),
            false => self.unexpected_at(self.span, expected, self.token),
        }
    }

    fn unexpected_at<T>(&self, at: Span, what: &'static str, token: Token) -> Result<T, Fault> {
        Err((
            at,
            Problem::Unexpected {
                expected: what,
                found: token.name(),
            },
        ))
    }

    fn next(&mut self) -> Result<(), Fault> {
        (self.span, self.token) = self.lexer.next()?;
        Ok(())
    }
}

/// Codes of an interface's methods: all are given, or none is.
#[derive(Default)]
struct Codes {
    count: u32,
    are_given: bool,
}

impl Codes {
    fn next(&mut self, span: Span, given: Option<i64>) -> Result<u32, Fault> {
        if self.count == 0 {
            self.are_given = given.is_some();
        }
        if self.are_given != given.is_some() {
            return wrong(span, "either all methods have a code or none");
        }
        let offset = given.unwrap_or(i64::from(self.count));
        self.count += 1;
        let code = u32::try_from(offset)
            .ok()
            .and_then(|it| it.checked_add(CODE_FIRST));
        match code.filter(|it| *it <= CODE_LAST) {
            Some(code) => Ok(code),
            None => wrong(span, "a code lies between 0 and 0xfffffe"),
        }
    }
}

/// Whether the type holds the number.
pub(crate) fn holds(of: Primitive, value: i64) -> bool {
    match of {
        Primitive::Byte => i8::try_from(value).is_ok(),
        Primitive::Int => i32::try_from(value).is_ok(),
        Primitive::Long => true,
        _ => false,
    }
}

fn base(span: Span, name: &str) -> Result<Base, Fault> {
    if let Some(primitive) = Primitive::of_name(name) {
        return Ok(Base::Primitive(primitive));
    }
    Ok(match name {
        "String" | "java.lang.String" => Base::Text,
        "IBinder" | "android.os.IBinder" => Base::Binder,
        "ParcelFileDescriptor" | "android.os.ParcelFileDescriptor" => Base::Fd,
        "Map" | "FileDescriptor" | "CharSequence" | "ParcelableHolder" | "List" | "void" => {
            return unsupported(span, name);
        }
        _ => Base::Named(name.into()),
    })
}

fn join(package: &str, name: &str) -> String {
    if package.is_empty() || name.contains('.') {
        name.into()
    } else {
        format!("{package}.{name}")
    }
}
