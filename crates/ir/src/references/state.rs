// SPDX-License-Identifier: Apache-2.0
//! What a register may refer to, and how it joins where paths meet.

use std::collections::HashMap;
use std::rc::Rc;

use classfile::FieldType;
/// A class or array by its number in [`Interner`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct TypeId(pub(super) u32);

/// The content of a register that holds a reference.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Content {
    /// Not the same kind of thing on every path: must not be read.
    #[default]
    Unusable,
    /// Null on every path.
    Null,
    /// Made by the `New` with this number, constructor not called yet.
    New(u64),
    /// The receiver of a constructor that has not called another constructor yet.
    NewThis,
    /// Null or an object of one of these classes; sorted.
    OneOf(Rc<[TypeId]>),
}

/// More classes than this become `Object`: bounds the work on hostile code.
const CLASSES_MAX: usize = 64;

impl Content {
    pub(super) fn of(class: TypeId) -> Self {
        Content::OneOf(Rc::new([class]))
    }

    pub(super) fn is_initialized(&self) -> bool {
        matches!(self, Content::Null | Content::OneOf(_))
    }

    /// What it is where another path brings `other`; nothing if that changes nothing.
    pub(super) fn joined(&self, other: &Content) -> Option<Content> {
        let joined = match (self, other) {
            (own, other) if own == other => return None,
            (Content::Null, Content::OneOf(_)) => other.clone(),
            (Content::OneOf(_), Content::Null) => return None,
            (Content::OneOf(own), Content::OneOf(more)) => {
                let mut all = own.to_vec();
                all.extend(more.iter().filter(|class| !own.contains(class)));
                if all.len() == own.len() {
                    return None;
                }
                if all.len() > CLASSES_MAX {
                    all = vec![Interner::OBJECT];
                }
                all.sort_unstable();
                Content::OneOf(all.into())
            }
            _ => Content::Unusable,
        };
        (*self != joined).then_some(joined)
    }

    /// Takes in what another path brings; says whether anything changed.
    pub(super) fn join(&mut self, other: &Content) -> bool {
        let joined = self.joined(other);
        let has_changed = joined.is_some();
        if let Some(joined) = joined {
            *self = joined;
        }
        has_changed
    }
}

/// Between the classes of an object that is of several. No name has it: modified UTF-8 writes no
/// zero, and the other bytes that class files forbid stand in names of arrays and hidden classes.
const AND: u8 = 0;
/// What tests say of an object beyond that is forgotten.
const PARTS_MAX: usize = 4;

/// Names of classes, each once.
///
/// After a test with `instanceof` an object is of its own class and of another one. Which of the
/// two says more is a question about classes that may not be there, so both are kept, as one name
/// of several parts.
pub(super) struct Interner {
    names: Vec<Vec<u8>>,
    ids: HashMap<Vec<u8>, TypeId>,
}

impl Interner {
    pub(super) const OBJECT: TypeId = TypeId(0);
    pub(super) const THROWABLE: TypeId = TypeId(1);

    pub(super) fn new() -> Self {
        let mut interner = Self {
            names: Vec::new(),
            ids: HashMap::new(),
        };
        interner.id(b"java/lang/Object");
        interner.id(b"java/lang/Throwable");
        interner
    }

    pub(super) fn id(&mut self, name: &[u8]) -> TypeId {
        if let Some(&id) = self.ids.get(name) {
            return id;
        }
        let id = TypeId(self.names.len() as u32);
        self.names.push(name.to_vec());
        self.ids.insert(name.to_vec(), id);
        id
    }

    pub(super) fn name(&self, id: TypeId) -> &[u8] {
        &self.names[id.0 as usize]
    }

    /// The names of all classes that an object is of, what tests said first.
    pub(super) fn parts(&self, id: TypeId) -> Vec<Vec<u8>> {
        let name = self.name(id);
        let mut parts: Vec<_> = name
            .split(|&byte| byte == AND)
            .map(<[u8]>::to_vec)
            .collect();
        parts.rotate_left(1);
        parts
    }

    pub(super) fn is_of_several(&self, id: TypeId) -> bool {
        self.name(id).contains(&AND)
    }

    /// An object of class `own` that a test has found to be a `more`.
    fn both(&mut self, own: TypeId, more: TypeId) -> TypeId {
        if own == Self::OBJECT {
            return more;
        }
        if more == Self::OBJECT {
            return own;
        }
        let (own_name, more_name) = (self.name(own), self.name(more));
        let mut parts = own_name.split(|&byte| byte == AND);
        let first = parts.next().unwrap_or_default();
        let mut tested: Vec<&[u8]> = parts.collect();
        if first == more_name || tested.contains(&more_name) {
            return own;
        }
        tested.truncate(PARTS_MAX - 2);
        tested.push(more_name);
        // The order of tests says nothing.
        tested.sort_unstable();
        tested.insert(0, first);
        let name = tested.join(&AND);
        self.id(&name)
    }

    /// What a register holds where a test has found a `class` in it.
    pub(super) fn tested(&mut self, content: &Content, class: TypeId) -> Content {
        let Content::OneOf(classes) = content else {
            return Content::of(class);
        };
        let mut all: Vec<TypeId> = classes.iter().map(|&own| self.both(own, class)).collect();
        all.sort_unstable();
        all.dedup();
        Content::OneOf(all.into())
    }
}

/// The internal name of a class or array; `None` for what is no reference.
pub(super) fn name_of<'a>(ty: &FieldType<'a>) -> Option<&'a [u8]> {
    match *ty {
        FieldType::Class(name) | FieldType::Array(name) => Some(name),
        FieldType::Primitive(_) | FieldType::Void => None,
    }
}

/// The descriptor of an array of the class or array named `element`.
pub(super) fn array_of(element: &[u8]) -> Vec<u8> {
    let mut name = vec![b'['];
    if element.starts_with(b"[") {
        name.extend_from_slice(element);
    } else {
        name.push(b'L');
        name.extend_from_slice(element);
        name.push(b';');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_join_to_all_their_classes() {
        let (a, b) = (Content::of(TypeId(3)), Content::of(TypeId(2)));
        let mut joined = a.clone();
        assert!(joined.join(&b));
        assert_eq!(joined, Content::OneOf(Rc::new([TypeId(2), TypeId(3)])));
        assert!(!joined.join(&Content::Null), "null is of every class");
        assert!(!joined.join(&a));
    }

    #[test]
    fn a_test_adds_to_what_is_known() {
        let mut types = Interner::new();
        let [foo, bar, array] = [&b"Foo"[..], b"Bar", b"[I"].map(|name| types.id(name));
        let both = types.tested(&Content::of(foo), bar);
        assert_eq!(types.tested(&both, bar), both, "it says so already");
        let Content::OneOf(classes) = &both else {
            panic!("still a reference")
        };
        assert_eq!(types.parts(classes[0]), [b"Bar".to_vec(), b"Foo".to_vec()]);
        let object = Content::of(Interner::OBJECT);
        assert_eq!(types.tested(&object, bar), Content::of(bar));
        assert_eq!(types.tested(&object, array), Content::of(array));
        let never = types.both(foo, array);
        assert_eq!(types.parts(never), [b"[I".to_vec(), b"Foo".to_vec()]);
        let mut many = both;
        for number in 0..20 {
            let next = types.id(format!("I{number}").as_bytes());
            many = types.tested(&many, next);
        }
        let Content::OneOf(classes) = many else {
            panic!("still a reference")
        };
        assert_eq!(types.parts(classes[0]).len(), PARTS_MAX);
    }

    #[test]
    fn new_objects_join_only_with_themselves() {
        let mut content = Content::New(1);
        assert!(!content.join(&Content::New(1)));
        assert!(content.join(&Content::New(2)));
        assert_eq!(content, Content::Unusable);
        let mut this = Content::NewThis;
        assert!(this.join(&Content::of(TypeId(5))));
        assert_eq!(this, Content::Unusable);
    }

    #[test]
    fn many_classes_become_object() {
        let mut content = Content::Null;
        for class in 2..200 {
            content.join(&Content::of(TypeId(class)));
        }
        let Content::OneOf(classes) = content else {
            panic!("still a reference")
        };
        assert!(classes.len() <= CLASSES_MAX && classes.contains(&Interner::OBJECT));
    }
}
