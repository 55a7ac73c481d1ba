// SPDX-License-Identifier: Apache-2.0
// A machine for the main thread of a test's program, and the class that the program is about.

#include <jni.h>

static JavaVM *machine;
static jclass program;

/// Starts the machine with the program's words as options and finds a class: NULL if either fails.
static JNIEnv *started(int count, char **words, const char *name) {
    static JavaVMOption options[8];
    int given = count - 1 < 8 ? count - 1 : 8;
    for (int i = 0; i < given; i++) {
        options[i].optionString = words[i + 1];
    }
    JavaVMInitArgs arguments = {JNI_VERSION_10, given, options, JNI_FALSE};
    JNIEnv *env;
    if (JNI_CreateJavaVM(&machine, (void **)&env, &arguments) != JNI_OK) {
        return NULL;
    }
    program = (*env)->FindClass(env, name);
    program = program ? (*env)->NewGlobalRef(env, program) : NULL;
    return program ? env : NULL;
}
