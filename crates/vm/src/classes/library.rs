// SPDX-License-Identifier: Apache-2.0
//! [`Library`]: classes that the machine treats in a way of its own.
//!
//! A name says nothing by itself: any loader may define a class of any name outside `java/`. So a
//! name is looked up here once, when a class is made, together with its loader. From then on the
//! machine asks [`Class::is`] and compares no names. What it only looks for (`loader::loaded`,
//! `Thread::boot_class`) it takes from the boot loader itself.

use crate::classes::class::{Class, Field};
use crate::classes::loader::Loader;

/// Who defines a class of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Definer {
    /// The boot loader: java.base, and the machine's own classes beside it.
    Boot,
}

macro_rules! library {
    ($($class:ident $definer:ident $name:literal,)*) => {
        /// A class of the class library, or one of the machine's own.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum Library {
            $($class,)*
        }

        /// All of them: who they are, who defines them, and their internal names.
        const TABLE: &[(Library, Definer, &str)] =
            &[$((Library::$class, Definer::$definer, $name),)*];
    };
}

// In the order of their names, by which they are sought.
library! {
    DexCode Boot "dalvik/system/DexCode",
    Boolean Boot "java/lang/Boolean",
    Byte Boot "java/lang/Byte",
    Character Boot "java/lang/Character",
    Class Boot "java/lang/Class",
    ClassLoader Boot "java/lang/ClassLoader",
    Double Boot "java/lang/Double",
    Float Boot "java/lang/Float",
    Integer Boot "java/lang/Integer",
    Long Boot "java/lang/Long",
    Math Boot "java/lang/Math",
    NoClassDefFoundError Boot "java/lang/NoClassDefFoundError",
    Object Boot "java/lang/Object",
    Short Boot "java/lang/Short",
    StackWalker Boot "java/lang/StackWalker",
    StrictMath Boot "java/lang/StrictMath",
    String Boot "java/lang/String",
    System Boot "java/lang/System",
    Thread Boot "java/lang/Thread",
    Throwable Boot "java/lang/Throwable",
    LambdaForm Boot "java/lang/invoke/LambdaForm",
    MemberName Boot "java/lang/invoke/MemberName",
    MethodHandle Boot "java/lang/invoke/MethodHandle",
    MethodHandleNatives Boot "java/lang/invoke/MethodHandleNatives",
    ResolvedMethodName Boot "java/lang/invoke/ResolvedMethodName",
    VarHandle Boot "java/lang/invoke/VarHandle",
    FinalReference Boot "java/lang/ref/FinalReference",
    PhantomReference Boot "java/lang/ref/PhantomReference",
    Reference Boot "java/lang/ref/Reference",
    SoftReference Boot "java/lang/ref/SoftReference",
    WeakReference Boot "java/lang/ref/WeakReference",
    Field Boot "java/lang/reflect/Field",
    Method Boot "java/lang/reflect/Method",
    AccessController Boot "java/security/AccessController",
    List12 Boot "java/util/ImmutableCollections$List12",
    ListN Boot "java/util/ImmutableCollections$ListN",
    RealtimeMachine Boot "javax/realtime/Machine",
    NativeEntryPoint Boot "jdk/internal/invoke/NativeEntryPoint",
    AppClassLoader Boot "jdk/internal/loader/ClassLoaders$AppClassLoader",
    PlatformClassLoader Boot "jdk/internal/loader/ClassLoaders$PlatformClassLoader",
    ScopedMemoryAccess Boot "jdk/internal/misc/ScopedMemoryAccess",
    Unsafe Boot "jdk/internal/misc/Unsafe",
    Vm Boot "jdk/internal/misc/VM",
    Perf Boot "jdk/internal/perf/Perf",
    ConstructorAccessorImpl Boot "jdk/internal/reflect/ConstructorAccessorImpl",
    DelegatingClassLoader Boot "jdk/internal/reflect/DelegatingClassLoader",
    MagicAccessorImpl Boot "jdk/internal/reflect/MagicAccessorImpl",
    MethodAccessorImpl Boot "jdk/internal/reflect/MethodAccessorImpl",
    VectorSupport Boot "jdk/internal/vm/vector/VectorSupport",
    InstrumentationImpl Boot "sun/instrument/InstrumentationImpl",
}

impl Library {
    /// The class that a loader defines under a name of its own choice, if it is one of these.
    pub(crate) fn of(loader: &Loader, name: &[u8]) -> Option<Self> {
        let place = TABLE.binary_search_by_key(&name, |(.., own)| own.as_bytes());
        let (class, definer, _) = TABLE[place.ok()?];
        let is_defined_there = match definer {
            Definer::Boot => loader.is_boot(),
        };
        is_defined_there.then_some(class)
    }
}

impl Class {
    /// Whether this is the library's class, and no other of its name.
    pub(crate) fn is(&self, class: Library) -> bool {
        self.info.library == Some(class)
    }

    /// Whether its field is `Reference.referent`. The collector knows of it by calls, and may be
    /// about to clear it.
    pub(crate) fn has_referent(&self, field: &Field) -> bool {
        self.is(Library::Reference) && field.name.is("referent")
    }

    /// Whether this is the library's class or an heir of it.
    pub(crate) fn descends_from(&'static self, class: Library) -> bool {
        let mut line = core::iter::successors(Some(self), |class| class.super_class());
        line.any(|it| it.is(class))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order() {
        assert!(TABLE.is_sorted_by(|(.., one), (.., other)| one < other));
    }
}
