// SPDX-License-Identifier: Apache-2.0
//! What the proof of a class rested on, kept beside its code: bytes in, values out, and back.
//!
//! The methods of a class are the same whenever its file is; what may differ from one run to the
//! next are the classes that it names. So the questions about those are kept with their answers.
//! A class that gets the same answers again has the same proof.

use std::collections::BTreeMap;

/// Whether something holds that the proof of a class asks about others: see [`ir::Hierarchy`].
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Question {
    Assignable {
        from: Vec<u8>,
        to: Vec<u8>,
    },
    ProtectedElsewhere {
        class: Vec<u8>,
        name: Vec<u8>,
        descriptor: Vec<u8>,
        is_method: bool,
    },
    KnownAssignable {
        from: Vec<u8>,
        to: Vec<u8>,
    },
}

/// Questions, each once, with their answers.
#[derive(Default, PartialEq, Eq, Debug)]
pub(super) struct Proof(pub(super) BTreeMap<Question, bool>);

const ASSIGNABLE: u8 = 0;
const PROTECTED_FIELD: u8 = 1;
const PROTECTED_METHOD: u8 = 2;
const KNOWN_ASSIGNABLE: u8 = 3;

impl Proof {
    /// For each question its kind, its answer, and its words with their lengths, little-endian.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (question, answer) in &self.0 {
            let (kind, words) = match question {
                Question::Assignable { from, to } => (ASSIGNABLE, vec![from, to]),
                Question::KnownAssignable { from, to } => (KNOWN_ASSIGNABLE, vec![from, to]),
                Question::ProtectedElsewhere {
                    class,
                    name,
                    descriptor,
                    is_method,
                } => {
                    let kind = [PROTECTED_FIELD, PROTECTED_METHOD][usize::from(*is_method)];
                    (kind, vec![class, name, descriptor])
                }
            };
            bytes.extend([kind, u8::from(*answer)]);
            for word in words {
                // A name in a class file has at most 65,535 bytes; a longer one fails to parse.
                bytes.extend((word.len() as u16).to_le_bytes());
                bytes.extend(word);
            }
        }
        bytes
    }

    /// `None`: these are not such bytes.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut proof = Self::default();
        let mut rest = bytes;
        while let [kind, answer, words @ ..] = rest {
            rest = words;
            let mut word = || {
                let (length, after) = rest.split_first_chunk()?;
                let (word, after) =
                    after.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
                rest = after;
                Some(word.to_vec())
            };
            let question = match *kind {
                ASSIGNABLE => Question::Assignable {
                    from: word()?,
                    to: word()?,
                },
                KNOWN_ASSIGNABLE => Question::KnownAssignable {
                    from: word()?,
                    to: word()?,
                },
                PROTECTED_FIELD | PROTECTED_METHOD => Question::ProtectedElsewhere {
                    class: word()?,
                    name: word()?,
                    descriptor: word()?,
                    is_method: *kind == PROTECTED_METHOD,
                },
                _ => return None,
            };
            proof.0.insert(question, *answer != 0);
        }
        rest.is_empty().then_some(proof)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_parts_are_refused() {
        let protected = |is_method| Question::ProtectedElsewhere {
            class: b"a/B".to_vec(),
            name: b"c".to_vec(),
            descriptor: b"()V".to_vec(),
            is_method,
        };
        let assignable = Question::Assignable {
            from: b"a/B".to_vec(),
            to: Vec::new(),
        };
        let known = Question::KnownAssignable {
            from: b"a/B".to_vec(),
            to: b"C".to_vec(),
        };
        let questions = [
            (protected(true), false),
            (protected(false), true),
            (assignable, true),
            (known, false),
        ];
        let proof = Proof(questions.into());
        let bytes = proof.to_bytes();
        assert_eq!(Proof::parse(&bytes), Some(proof));
        assert_eq!(Proof::parse(&[]), Some(Proof::default()));
        let ends = (1..bytes.len()).filter(|&end| Proof::parse(&bytes[..end]).is_some());
        // Questions are whole after the first three of four.
        assert_eq!(ends.count(), 3);
        assert_eq!(Proof::parse(&[9, 0]), None);
    }
}
