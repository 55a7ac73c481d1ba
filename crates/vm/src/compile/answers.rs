// SPDX-License-Identifier: Apache-2.0
//! [`Cx`]: answers to what the compiler asks about a method.

use std::fmt;
use std::rc::Rc;

use classfile::access;
use compiler::{
    Address, Body, ClassLink, CompiledCode, ConstantLink, FieldLink, HandleLayout, Heat, Linker,
    MethodLink, NewLink, Profile, Received, SubtypeTest, class_record,
};
use ir::{InvokeKind, LoadedConstant, MemoryKind};

use crate::classes::class::{Class, ClassKind, Field, Method};
use crate::classes::known::{self, offset};
use crate::classes::library::Library;
use crate::classes::object::ObjectRef;
use crate::classes::site::{Site, SiteKind};
use crate::classes::write::Write;
use crate::code::cache::Named;
use crate::code::file::Piece;
use crate::code::question::{self, Answer, Exchange, Form, Question, Validity};
use crate::compile::bodies::Wanted;
use crate::compile::intrinsics;
use crate::compile::profile;
use crate::console;
use crate::link::define;
use crate::link::resolve::{self, OnlyLoaded};
use crate::memory::hash::Map;
use crate::memory::symbol::Symbol;
use crate::options;
use crate::threads::thread::Thread;

/// Answers for one method being compiled. Loads nothing and runs no Java code. The thread is in
/// native state: what makes an object comes back for that.
pub(crate) struct Cx<'a> {
    /// None: nothing is loaded or made for an answer.
    thread: Option<&'a Thread>,
    /// Whose constants questions are about now, and which code of it asks.
    pub(super) class: &'static Class,
    pub(super) method: &'static Method,
    pub(super) scope: u16,
    /// The method, then inlined callees.
    pub(super) scopes: Vec<&'static Method>,
    /// Scopes to come back to.
    pub(super) callers: Vec<u16>,
    asked: Vec<Exchange>,
    known: Map<(u16, Question), Answer>,
    /// What callees do, for those that were looked into.
    pub(super) translated: Map<u64, Option<Rc<ir::Function>>>,
    /// Bytes of the whole bodies that were entered.
    pub(super) whole_bytes: usize,
    /// What the numbers in answers stand for, and those of them that are classes'.
    addresses: Vec<u64>,
    classes: Map<u32, &'static Class>,
    pub(super) mode: Mode,
    /// What is known of receivers is used; the classes that were, by number.
    pub(super) is_profiled: bool,
    pub(super) profiled: Vec<Symbol>,
    /// Receivers are counted; which number the cells have.
    pub(super) counts: bool,
    /// They are not, for the code is a real-time thread's; whether any would have been.
    pub(super) is_quiet: bool,
    pub(super) is_hushed: bool,
    pub(super) cells: Option<Address>,
    pub(super) cell_count: usize,
}

/// How much answers rest on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// On what is there.
    AsIs,
    /// On nothing: they hold at any time.
    Sites,
    /// On all loaded classes being initialised.
    Ready,
}

impl<'a> Cx<'a> {
    pub(crate) fn new(thread: &'a Thread, method: &'static Method) -> Self {
        Self::by(Some(thread), method)
    }

    /// For a method that has code, by a thread that is none of Java's.
    /// Receivers may be counted once more.
    pub(crate) fn again(method: &'static Method, counts: bool) -> Self {
        Self {
            is_profiled: true,
            counts,
            ..Self::by(None, method)
        }
    }

    fn by(thread: Option<&'a Thread>, method: &'static Method) -> Self {
        Self {
            thread,
            class: method.class(),
            method,
            scope: 0,
            scopes: vec![method],
            callers: Vec::new(),
            asked: Vec::new(),
            known: Map::default(),
            translated: Map::default(),
            whole_bytes: 0,
            addresses: Vec::new(),
            classes: Map::default(),
            mode: Mode::AsIs,
            is_profiled: false,
            profiled: Vec::new(),
            counts: true,
            is_quiet: false,
            is_hushed: false,
            cells: None,
            cell_count: 0,
        }
    }

    /// For code that does not run in this process.
    pub(crate) fn in_mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// For code that a real-time thread runs.
    pub(crate) fn quiet(self, is_quiet: bool) -> Self {
        Self { is_quiet, ..self }
    }

    /// As if nothing had been asked.
    pub(crate) fn forget(&mut self) {
        self.asked.clear();
        self.known.clear();
        self.addresses.clear();
        self.classes.clear();
        self.profiled.clear();
        (self.cells, self.cell_count) = (None, 0);
        self.is_hushed = false;
        self.scopes.truncate(1);
        self.whole_bytes = 0;
        self.go_to(0);
    }

    /// Code with what it rests on: the answers that were given.
    pub(crate) fn piece(&self, code: CompiledCode) -> Piece {
        Piece::new(&self.asked, code).with_classes(&self.profiled)
    }

    /// Every question with its answer, in the order of asking.
    pub(crate) fn asked(&self) -> &[Exchange] {
        &self.asked
    }

    /// Whether `question` about the method's own constants has a better answer than a site by now.
    pub(crate) fn is_answered(&mut self, question: Question) -> bool {
        let answer = self.answer(question);
        answer.validity(question) == Validity::WhenEqual
    }

    /// What the numbers in a piece stand for, which is going to run.
    pub(crate) fn named(&mut self, piece: &Piece) -> Named<'_> {
        let cells = profile::remember(self.scopes[0], piece);
        if let Some(Address(number)) = self.cells {
            self.addresses[number as usize] = cells;
        }
        Named {
            addresses: &self.addresses,
            bodies: &self.scopes[1..],
        }
    }

    /// Asks what was asked for `piece`; says whether it fits the answers.
    pub(crate) fn answers_as(&mut self, piece: &Piece) -> bool {
        self.forget();
        self.profiled.clone_from(&piece.classes);
        for asked in &piece.asked {
            if usize::from(asked.scope) >= self.scopes.len() {
                return false;
            }
            self.go_to(asked.scope);
            if let Validity::Site(kind) = asked.validity {
                self.site(kind, asked.question.index());
                continue;
            }
            if asked.validity == Validity::Own {
                self.cells();
                continue;
            }
            let answer = if asked.question.is_of_body() {
                match self.body_again(asked.question) {
                    Some(answer) => answer,
                    None => return false,
                }
            } else {
                self.answer(asked.question)
            };
            if answer.validity(asked.question) != Validity::WhenEqual {
                return false;
            }
            self.note(asked.question, answer);
        }
        question::sum(&self.asked) == piece.sum
    }

    pub(super) fn ask(&mut self, question: Question) -> Answer {
        if let Some(&known) = self.known.get(&(self.scope, question)) {
            return known;
        }
        let answer = self.answer(question);
        self.note(question, answer);
        // Every computed call has a site of its own.
        if !matches!(question, Question::CallSite(_)) {
            self.known.insert((self.scope, question), answer);
        }
        answer
    }

    pub(super) fn note(&mut self, question: Question, answer: Answer) {
        self.asked.push(Exchange {
            scope: self.scope,
            question,
            answer,
        });
    }

    /// Questions are about the constants of `scope` from here on.
    pub(super) fn go_to(&mut self, scope: u16) {
        self.scope = scope;
        self.method = self.scopes[usize::from(scope)];
        self.class = self.method.class();
    }

    fn answer(&mut self, question: Question) -> Answer {
        if self.mode == Mode::Sites
            && let Some(answer) = self.site_answer(question)
        {
            return answer;
        }
        match question {
            Question::Field(index) => Answer::Field(self.field_link(index, false)),
            Question::StaticField(index) => Answer::Field(self.field_link(index, true)),
            Question::Written(write, index) => Answer::Field(self.written_link(write, index)),
            Question::Class(index) => Answer::Class(self.class_link(index)),
            Question::New(index) => Answer::New(self.new_link(index)),
            Question::ArrayOf(index) => Answer::Class(self.array_link(index)),
            Question::PrimitiveArray(kind) => Answer::Address(self.primitive_array_link(kind)),
            Question::Constant(constant, index) => {
                Answer::Constant(self.constant_link(constant, index))
            }
            Question::OwnClass => Answer::Address(self.number(self.class.mirror().0)),
            Question::Method(kind, index) => Answer::Method(self.method_link(kind, index)),
            Question::CallSite(index) => Answer::Address(self.site(SiteKind::CallSite, index)),
            Question::FieldClass(index) => self.likely_class(index, false),
            Question::StaticFieldClass(index) => self.likely_class(index, true),
            Question::Profiled(number) => self.profiled_class(number),
            Question::Received(call, index, class, Form::Direct) => {
                self.received_directly(call, index, class)
            }
            _ => unreachable!("`bodies` asks for bodies and answers"),
        }
    }

    /// The answer that names a site. Calls of polymorphic methods have their own, which hold at any
    /// time too.
    fn site_answer(&mut self, question: Question) -> Option<Answer> {
        let index = question.index();
        if let Question::Method(kind, _) = question {
            self.load_polymorphic(index);
            let method = resolve::method_at(OnlyLoaded, self.class, index as u16, kind).ok();
            if method.is_some_and(|method| method.flags.is_signature_polymorphic) {
                return None;
            }
        }
        // A site's access is plain: nobody would tell the collector of the referent, nor ask it.
        if matches!(question, Question::Field(_) | Question::Written(..)) {
            let found = resolve::field_at(OnlyLoaded, self.class, index as u16, false);
            if found.is_ok_and(|(holder, field)| holder.has_referent(field)) {
                return None;
            }
        }
        let kind = question.site_kind()?;
        let site = self.site(kind, index);
        Some(match question {
            Question::Field(_) | Question::StaticField(_) | Question::Written(..) => {
                Answer::Field(FieldLink::Site(site))
            }
            Question::Class(_) | Question::ArrayOf(_) => Answer::Class(ClassLink::Site(site)),
            Question::New(_) => Answer::New(NewLink::Site(site)),
            Question::Constant(..) => Answer::Constant(ConstantLink::Site(site)),
            Question::Method(..) => Answer::Method(MethodLink::Site(site)),
            _ => Answer::Address(site),
        })
    }

    /// A number for an address.
    pub(super) fn number(&mut self, address: impl Into<u64>) -> Address {
        self.addresses.push(address.into());
        self.last_number()
    }

    /// A number for a class.
    pub(super) fn class_number(&mut self, class: &'static Class) -> Address {
        let number = self.number(class.address());
        self.classes.insert(number.0, class);
        number
    }

    /// The class that has a number, if it is a class's.
    pub(super) fn numbered_class(&self, number: u32) -> Option<&'static Class> {
        self.classes.get(&number).copied()
    }

    /// The last number that was given.
    pub(super) fn last_number(&self) -> Address {
        Address(self.addresses.len() as u32 - 1)
    }

    fn site(&mut self, kind: SiteKind, index: u32) -> Address {
        self.number(Site::of(self.class, kind, index).address())
    }

    /// Whether statics and instances of `class` may be used without asking.
    pub(super) fn is_ready(&self, class: &'static Class) -> bool {
        self.mode == Mode::Ready
            || class.is_initialized()
            || (core::ptr::eq(class, self.class) && class.is_being_initialized_here())
    }
}

/// Whether every receiver runs `method` itself. Of a call by an interface nobody has proven that
/// the receiver implements it.
pub(super) fn is_only_callee(method: &'static Method, kind: InvokeKind) -> bool {
    let is_final = || method.access & access::FINAL != 0 || method.class().is_final();
    matches!(kind, InvokeKind::Static | InvokeKind::Special)
        || (method.is_private() && kind != InvokeKind::Interface)
        || (method.vtable_offset().is_some() && is_final())
}

/// Classes whose methods take any arguments: calls of them are linked apart.
const POLYMORPHIC: [&str; 2] = [
    "java/lang/invoke/MethodHandle",
    "java/lang/invoke/VarHandle",
];

impl Cx<'_> {
    /// Makes sure that a call of a polymorphic method is seen as one. Boot classes load without
    /// Java code.
    fn load_polymorphic(&self, index: u32) {
        let member = self.class.info.file.constants.member(index as u16);
        let holder = member.map(|member| member.class).unwrap_or_default();
        let name = POLYMORPHIC.iter().find(|name| name.as_bytes() == holder);
        if let (Some(thread), Some(name)) = (self.thread, name) {
            thread.inside(|| {
                // Without it the call waits for a class like any other.
                if thread.boot_class(name).is_err() {
                    thread.take_exception();
                }
            });
        }
    }
}

impl Cx<'_> {
    fn field_link(&mut self, index: u32, is_static: bool) -> FieldLink {
        let kind = if is_static {
            SiteKind::Static
        } else {
            SiteKind::Field
        };
        let found = resolve::field_at(OnlyLoaded, self.class, index as u16, is_static).ok();
        self.link_of(found, kind, index)
    }

    /// The link of a field that is there and ready, or else of its site.
    fn link_of(
        &mut self,
        found: Option<(&'static Class, &'static Field)>,
        kind: SiteKind,
        index: u32,
    ) -> FieldLink {
        match found {
            Some((holder, field)) if holder.has_referent(field) => {
                FieldLink::Referent(field.offset)
            }
            Some((holder, field)) if !field.is_static() => FieldLink::Instance {
                offset: field.offset,
                is_volatile: field.is_volatile(),
                is_chunked: holder.layout.is_chunked(0),
            },
            Some((holder, field)) if self.is_ready(holder) => FieldLink::Static {
                object: self.number(holder.statics().0),
                offset: field.offset,
                is_volatile: field.is_volatile(),
                is_chunked: is_chunked_statics(holder),
            },
            _ => FieldLink::Site(self.site(kind, index)),
        }
    }

    fn written_link(&mut self, write: Write, index: u32) -> FieldLink {
        let found = resolve::field_at(OnlyLoaded, self.class, index as u16, write.is_static).ok();
        let found = found.filter(|(holder, field)| write.is_allowed(self.class, holder, field));
        self.link_of(found, SiteKind::Written(write), index)
    }

    fn class_link(&mut self, index: u32) -> ClassLink {
        match resolve::class_at(OnlyLoaded, self.class, index as u16) {
            Ok(class) => ClassLink::Resolved(self.number(class.address()), self.test_for(class)),
            Err(_) => ClassLink::Site(self.site(SiteKind::Class, index)),
        }
    }

    /// How to test for `class`.
    fn test_for(&mut self, class: &'static Class) -> SubtypeTest {
        if class.is_interface() {
            SubtypeTest::Interface(self.number(class.interface_id))
        } else if class.info.kind != ClassKind::Instance {
            SubtypeTest::Ask
        } else if class.is_final() {
            SubtypeTest::Exact
        } else if class.depth < class_record::DISPLAY_COUNT {
            SubtypeTest::Display(class.depth)
        } else {
            SubtypeTest::Ask
        }
    }

    fn new_link(&mut self, index: u32) -> NewLink {
        let found = resolve::class_at(OnlyLoaded, self.class, index as u16).ok();
        let ready = found.filter(|class| {
            self.is_ready(class)
                && class.info.kind == ClassKind::Instance
                && !class.is_abstract()
                && !class.is(Library::Class)
        });
        match ready {
            Some(class) if class.has_finalizer() => NewLink::Runtime(self.class_number(class)),
            Some(class) => NewLink::Resolved {
                class: self.class_number(class),
                bytes: class.layout.bytes,
                is_chunked: class.layout.is_chunked(0),
            },
            None => NewLink::Site(self.site(SiteKind::New, index)),
        }
    }

    fn array_link(&mut self, index: u32) -> ClassLink {
        let element = resolve::class_at(OnlyLoaded, self.class, index as u16).ok();
        match element.and_then(define::array_of_loaded) {
            Some(array) => ClassLink::Resolved(self.number(array.address()), SubtypeTest::Ask),
            None => ClassLink::Site(self.site(SiteKind::ArrayOf, index)),
        }
    }

    fn primitive_array_link(&mut self, kind: MemoryKind) -> Address {
        let element = known::primitive_of(Some(kind));
        let loaded = define::array_of_loaded(element);
        let made = loaded.or_else(|| {
            let thread = self.thread?;
            thread.inside(|| define::array_of(thread, element)).ok()
        });
        match made {
            Some(array) => self.number(array.address()),
            None => console::fatal("no memory for the classes of primitive arrays"),
        }
    }

    fn constant_link(&mut self, constant: LoadedConstant, index: u32) -> ConstantLink {
        let kind = match constant {
            LoadedConstant::String => SiteKind::String,
            LoadedConstant::Class => SiteKind::Mirror,
            LoadedConstant::Computed => {
                return ConstantLink::Site(self.site(SiteKind::Computed, index));
            }
        };
        let visible = match constant {
            LoadedConstant::Class => resolve::class_at(OnlyLoaded, self.class, index as u16)
                .ok()
                .map(Class::mirror),
            _ => None,
        };
        match visible.and_then(ObjectRef::some) {
            Some(object) => ConstantLink::Reference(self.number(object.0)),
            None => ConstantLink::Site(self.site(kind, index)),
        }
    }

    fn method_link(&mut self, kind: InvokeKind, index: u32) -> MethodLink {
        self.load_polymorphic(index);
        let Ok(method) = resolve::method_at(OnlyLoaded, self.class, index as u16, kind) else {
            return MethodLink::Site(self.site(SiteKind::Method(kind), index));
        };
        if method.flags.is_signature_polymorphic {
            return polymorphic(method)
                .unwrap_or_else(|| MethodLink::Appending(self.site(SiteKind::Handle, index)));
        }
        if kind == InvokeKind::Static && !self.is_ready(method.class()) {
            return MethodLink::Site(self.site(SiteKind::Method(kind), index));
        }
        if let Some(intrinsic) = intrinsics::of(method) {
            return MethodLink::Intrinsic(intrinsic, self.number(method.address()));
        }
        if is_only_callee(method, kind) {
            return MethodLink::Direct(self.number(method.address()));
        }
        match method.vtable_offset() {
            Some(offset) => MethodLink::Virtual(offset),
            None if method.class().is_interface() => MethodLink::Interface {
                id: self.number(method.class().interface_id),
                place: method.interface_place,
                method: self.number(method.address()),
            },
            _ => MethodLink::Direct(self.number(method.address())),
        }
    }
}

/// The compiler's side: each question has one kind of answer.
macro_rules! expect_answer {
    ($answer:expr, $kind:ident) => {
        match $answer {
            Answer::$kind(link) => link,
            other => unreachable!("{other:?} answers another question"),
        }
    };
}

impl Linker for Cx<'_> {
    fn field(&mut self, index: u32, is_static: bool) -> FieldLink {
        let question = if is_static {
            Question::StaticField(index)
        } else {
            Question::Field(index)
        };
        expect_answer!(self.ask(question), Field)
    }

    fn written_field(&mut self, index: u32, is_static: bool) -> FieldLink {
        let write = Write::by(self.method, is_static);
        expect_answer!(self.ask(Question::Written(write, index)), Field)
    }

    fn class(&mut self, index: u32) -> ClassLink {
        expect_answer!(self.ask(Question::Class(index)), Class)
    }

    fn new_object(&mut self, index: u32) -> NewLink {
        expect_answer!(self.ask(Question::New(index)), New)
    }

    fn array_of(&mut self, index: u32) -> ClassLink {
        expect_answer!(self.ask(Question::ArrayOf(index)), Class)
    }

    fn primitive_array(&mut self, kind: MemoryKind) -> Address {
        expect_answer!(self.ask(Question::PrimitiveArray(kind)), Address)
    }

    fn constant(&mut self, constant: LoadedConstant, index: u32) -> ConstantLink {
        expect_answer!(self.ask(Question::Constant(constant, index)), Constant)
    }

    fn own_class(&mut self) -> Address {
        expect_answer!(self.ask(Question::OwnClass), Address)
    }

    fn method(&mut self, kind: InvokeKind, index: u32) -> MethodLink {
        expect_answer!(self.ask(Question::Method(kind, index)), Method)
    }

    fn enter(&mut self, kind: InvokeKind, index: u32, heat: Heat) -> Option<Body> {
        self.enter_body(Wanted { kind, index, heat })
    }

    fn guess(&mut self, index: u32, heat: Heat) -> Option<(Address, Body)> {
        self.enter_likely(index, heat)
    }

    fn field_class(&mut self, scope: u16, index: u32, is_static: bool) -> Option<Address> {
        self.class_of_field(scope, index, is_static)
    }

    fn received(
        &mut self,
        (kind, index): (InvokeKind, u32),
        class: Address,
        heat: Heat,
    ) -> Option<Received> {
        self.enter_received(Wanted { kind, index, heat }, class)
    }

    fn profile(&mut self, call: (InvokeKind, u32), places: &[u32]) -> Profile {
        self.profile_at(call, places)
    }

    fn leave(&mut self) {
        self.leave_body();
    }

    fn call_site(&mut self, index: u32) -> Address {
        expect_answer!(self.ask(Question::CallSite(index)), Address)
    }

    fn runs_once(&self) -> bool {
        self.scopes[0].name.is("<clinit>")
    }

    fn show(&mut self, stage: &str, text: &dyn fmt::Display) {
        let (asked, method) = (&options::get().dumped, self.scopes[0]);
        let name = || format!("{}.{}", method.class().info.name.dotted(), method.name);
        if !asked.is_empty() && asked.contains(&name()) {
            console::note(&format!("[dump] {}: {stage}\n{text}", method.full_name()));
        }
    }
}

fn is_chunked_statics(holder: &'static Class) -> bool {
    let layout = holder.info.statics_layout;
    layout.is_some_and(|layout| {
        crate::objects::heap_binding::layout_at(layout)
            .get()
            .is_chunked(0)
    })
}

/// `invokeBasic` and `linkTo…` are code; the others are linked by Java code.
fn polymorphic(method: &'static Method) -> Option<MethodLink> {
    let layout = handle_layout;
    Some(match method.name.bytes() {
        b"invokeBasic" => MethodLink::InvokeBasic(layout()),
        b"linkToStatic" => MethodLink::LinkTo(InvokeKind::Static, layout()),
        b"linkToSpecial" => MethodLink::LinkTo(InvokeKind::Special, layout()),
        b"linkToVirtual" => MethodLink::LinkTo(InvokeKind::Virtual, layout()),
        b"linkToInterface" => MethodLink::LinkTo(InvokeKind::Interface, layout()),
        _ => return None,
    })
}

fn handle_layout() -> HandleLayout {
    let class = |name: &str| {
        crate::classes::loader::loaded(name)
            .unwrap_or_else(|| console::fatal(&format!("{name} is not loaded")))
    };
    let member = class("java/lang/invoke/MemberName");
    HandleLayout {
        form: offset(class("java/lang/invoke/MethodHandle"), "form"),
        vmentry: offset(class("java/lang/invoke/LambdaForm"), "vmentry"),
        method: offset(member, "method"),
        vmtarget: offset(class("java/lang/invoke/ResolvedMethodName"), "$target"),
        vmindex: offset(member, "$index"),
    }
}
