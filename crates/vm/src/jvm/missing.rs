// SPDX-License-Identifier: Apache-2.0
//! What is not there yet, by name. Each function throws an InternalError that
//! names it, so that nothing goes on with a made-up answer.

use crate::console;

fn missing(name: &str) -> u64 {
    match crate::threads::thread::current() {
        Some(thread) => {
            let message = format!("{name} is not implemented by Takt");
            let _ = crate::threads::thread::Managed::enter(thread)
                .throw("java/lang/InternalError", &message);
            0
        }
        None => console::fatal(&format!("{name} is not implemented by Takt")),
    }
}

macro_rules! missing {
    ($($name:ident,)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name() -> u64 {
                missing(stringify!($name))
            }
        )*
    };
}

missing! {
    JVM_ConstantPoolGetClassAtIfLoaded,
    JVM_ConstantPoolGetClassRefIndexAt,
    JVM_ConstantPoolGetFieldAt,
    JVM_ConstantPoolGetFieldAtIfLoaded,
    JVM_ConstantPoolGetMemberRefInfoAt,
    JVM_ConstantPoolGetMethodAt,
    JVM_ConstantPoolGetMethodAtIfLoaded,
    JVM_ConstantPoolGetNameAndTypeRefIndexAt,
    JVM_ConstantPoolGetNameAndTypeRefInfoAt,
    JVM_ConstantPoolGetTagAt,
    JVM_DumpClassListToFile,
    JVM_DumpDynamicArchive,
    JVM_GetCPClassNameUTF,
    JVM_GetCPFieldClassNameUTF,
    JVM_GetCPFieldModifiers,
    JVM_GetCPFieldSignatureUTF,
    JVM_GetCPMethodClassNameUTF,
    JVM_GetCPMethodModifiers,
    JVM_GetCPMethodNameUTF,
    JVM_GetCPMethodSignatureUTF,
    JVM_GetClassCPEntriesCount,
    JVM_GetClassCPTypes,
    JVM_GetClassFieldsCount,
    JVM_GetClassMethodsCount,
    JVM_GetClassNameUTF,
    JVM_GetFieldIxModifiers,
    JVM_GetMethodIxArgsSize,
    JVM_GetMethodIxByteCode,
    JVM_GetMethodIxByteCodeLength,
    JVM_GetMethodIxExceptionIndexes,
    JVM_GetMethodIxExceptionTableEntry,
    JVM_GetMethodIxExceptionTableLength,
    JVM_GetMethodIxExceptionsCount,
    JVM_GetMethodIxLocalsCount,
    JVM_GetMethodIxMaxStack,
    JVM_GetMethodIxModifiers,
    JVM_GetMethodIxNameUTF,
    JVM_GetMethodIxSignatureUTF,
    JVM_IsConstructorIx,
    JVM_IsSameClassPackage,
    JVM_IsVMGeneratedMethodIx,
    JVM_ReleaseUTF,
    JVM_ResumeThread,
    JVM_StopThread,
    JVM_SuspendThread,
}
