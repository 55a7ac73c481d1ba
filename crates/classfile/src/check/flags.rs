// SPDX-License-Identifier: Apache-2.0
//! Which access flags go together (JVM specification, 4.1, 4.5, 4.6).

use crate::access::{
    ABSTRACT, ANNOTATION, BRIDGE, ENUM, FINAL, INTERFACE, NATIVE, PRIVATE, PROTECTED, PUBLIC,
    STATIC, STRICT, SUPER, SYNCHRONIZED, TRANSIENT, VOLATILE,
};

/// Class file versions in which the rules changed.
const JAVA_5: u16 = 49;
const JAVA_6: u16 = 50;
const JAVA_8: u16 = 52;
const JAVA_17: u16 = 61;

pub(super) fn is_class(mut flags: u16, major: u16) -> bool {
    let has = |flags: u16, any: u16| flags & any != 0;
    if has(flags, INTERFACE) && major < JAVA_6 {
        // Old compilers left it out.
        flags |= ABSTRACT;
    }
    if has(flags, ABSTRACT) && has(flags, FINAL) {
        return false;
    }
    if has(flags, INTERFACE) {
        return has(flags, ABSTRACT) && (major < JAVA_5 || !has(flags, SUPER | ENUM));
    }
    major < JAVA_5 || !has(flags, ANNOTATION)
}

pub(super) fn is_field(flags: u16, is_in_interface: bool, major: u16) -> bool {
    if is_in_interface {
        let needed = PUBLIC | STATIC | FINAL;
        let forbidden = PRIVATE | PROTECTED | VOLATILE | TRANSIENT;
        let is_enum = major >= JAVA_5 && flags & ENUM != 0;
        return flags & needed == needed && flags & forbidden == 0 && !is_enum;
    }
    has_one_visibility(flags) && flags & (FINAL | VOLATILE) != FINAL | VOLATILE
}

/// Of all methods but class initialisers, whose flags say nothing.
pub(super) fn is_method(flags: u16, name: &[u8], is_in_interface: bool, major: u16) -> bool {
    if is_in_interface {
        return is_interface_method(flags, major);
    }
    let strict = if major < JAVA_17 { STRICT } else { 0 };
    let forbidden = if name == b"<init>" {
        let bridge = if major >= JAVA_5 { BRIDGE } else { 0 };
        STATIC | FINAL | SYNCHRONIZED | NATIVE | ABSTRACT | bridge
    } else if flags & ABSTRACT != 0 {
        let modern = if major >= JAVA_5 {
            SYNCHRONIZED | strict
        } else {
            0
        };
        FINAL | NATIVE | PRIVATE | STATIC | modern
    } else {
        0
    };
    has_one_visibility(flags) && flags & forbidden == 0
}

fn is_interface_method(flags: u16, major: u16) -> bool {
    if major < JAVA_8 {
        let forbidden = STATIC | FINAL | NATIVE;
        let modern = PRIVATE | PROTECTED | SYNCHRONIZED | STRICT;
        let forbidden = if major >= JAVA_5 {
            forbidden | modern
        } else {
            forbidden
        };
        return flags & (PUBLIC | ABSTRACT) == PUBLIC | ABSTRACT && flags & forbidden == 0;
    }
    let strict = if major < JAVA_17 { STRICT } else { 0 };
    let with_abstract = if flags & ABSTRACT != 0 {
        PRIVATE | STATIC | strict
    } else {
        0
    };
    let forbidden = PROTECTED | FINAL | SYNCHRONIZED | NATIVE | with_abstract;
    let is_visible_one_way = (flags & PUBLIC != 0) != (flags & PRIVATE != 0);
    is_visible_one_way && flags & forbidden == 0
}

fn has_one_visibility(flags: u16) -> bool {
    (flags & (PUBLIC | PRIVATE | PROTECTED)).count_ones() <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes() {
        assert!(is_class(PUBLIC | SUPER, 61) && is_class(INTERFACE | ABSTRACT, 61));
        assert!(
            !is_class(ABSTRACT | FINAL, 61) && !is_class(INTERFACE, 61) && is_class(INTERFACE, 49)
        );
        assert!(!is_class(INTERFACE | ABSTRACT | SUPER, 61) && !is_class(ANNOTATION, 61));
    }

    #[test]
    fn fields() {
        assert!(
            is_field(PRIVATE | VOLATILE, false, 61) && is_field(PUBLIC | STATIC | FINAL, true, 61)
        );
        assert!(!is_field(PRIVATE | PUBLIC, false, 61) && !is_field(FINAL | VOLATILE, false, 61));
        assert!(!is_field(PUBLIC | STATIC, true, 61));
    }

    #[test]
    fn methods() {
        assert!(is_method(
            PUBLIC | STATIC | SYNCHRONIZED | NATIVE,
            b"f",
            false,
            61
        ));
        assert!(!is_method(ABSTRACT | STATIC, b"f", false, 61));
        assert!(
            !is_method(STATIC, b"<init>", false, 61) && is_method(PRIVATE, b"<init>", false, 61)
        );
        assert!(
            is_method(ABSTRACT | STRICT, b"f", false, 61)
                && !is_method(ABSTRACT | STRICT, b"f", false, 60)
        );
        assert!(is_method(PUBLIC | ABSTRACT, b"f", true, 61) && is_method(PRIVATE, b"f", true, 61));
        assert!(
            !is_method(ABSTRACT, b"f", true, 61) && !is_method(PUBLIC | STATIC, b"f", true, 51)
        );
    }
}
