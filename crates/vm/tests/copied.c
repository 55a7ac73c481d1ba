// SPDX-License-Identifier: Apache-2.0
// A template, copied twice: each copy runs a class's main with a word of the environment's. The
// numbers of the copies, whose parent is this program's, come first.

#include "started.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define COPIES 2

extern unsigned char Takt_isTemplate(void);
extern int Takt_settle(void);
extern int Takt_copy(void);
extern int Takt_begin(void);

static int run(JNIEnv *env) {
    jmethodID start = (*env)->GetStaticMethodID(env, program, "main", "([Ljava/lang/String;)V");
    jclass text = (*env)->FindClass(env, "java/lang/String");
    const char *word = getenv("TAKT_TEST_WORD");
    jobject first = word ? (*env)->NewStringUTF(env, word) : NULL;
    jobjectArray words = text ? (*env)->NewObjectArray(env, word ? 1 : 0, text, first) : NULL;
    if (!start || !words || Takt_begin() != 0 || Takt_isTemplate()) {
        return 3;
    }
    (*env)->CallStaticVoidMethod(env, program, start, words);
    int failed = (*env)->ExceptionCheck(env);
    if (failed) {
        (*env)->ExceptionDescribe(env);
    }
    return (*machine)->DestroyJavaVM(machine) == JNI_OK && !failed ? 0 : 4;
}

int main(int count, char **words) {
    const char *name = getenv("TAKT_TEST_CLASS");
    JNIEnv *env = name ? started(count, words, name) : NULL;
    if (!env || !Takt_isTemplate()) {
        return 2;
    }
    // Only a class that is made for it has something to do before.
    jmethodID before = (*env)->GetStaticMethodID(env, program, "before", "()I");
    (*env)->ExceptionClear(env);
    if (before && (*env)->CallStaticIntMethod(env, program, before) != 1) {
        return 5;
    }
    if (Takt_settle() != 0) {
        return 6;
    }
    for (int copy = 0; copy < COPIES; copy++) {
        int number = Takt_copy();
        if (number == 0) {
            return run(env);
        }
        printf("%d\n", number);
        fflush(stdout);
    }
    _exit(0);
}
