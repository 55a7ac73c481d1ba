// SPDX-License-Identifier: Apache-2.0 A thread whose stack lies 4 GiB times something above an
// array: the lower half of every address of its stack is an address inside that array. Chance puts
// a stack there in one process of thousands, and there into a large array. The first word names the
// program.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#include "started.h"

/// Far from where Linux puts programs, libraries and stacks; of a size that the machine accepts.
#define PLACE 0x700000000000
#define STACK_BYTES (4 << 20)

static void *ask(void *unused) {
    (void)unused;
    JNIEnv *env;
    if ((*machine)->AttachCurrentThread(machine, (void **)&env, NULL) != JNI_OK) {
        return "not attached";
    }
    jmethodID is_kept = (*env)->GetStaticMethodID(env, program, "isKept", "()Z");
    jboolean answer = (*env)->CallStaticBooleanMethod(env, program, is_kept);
    if ((*env)->ExceptionCheck(env)) {
        (*env)->ExceptionDescribe(env);
        return "thrown";
    }
    (*machine)->DetachCurrentThread(machine);
    return answer ? "kept" : "gone";
}

/// Where the middle of the program's array lies. Nothing moves.
static uintptr_t middle_of_array(JNIEnv *env) {
    jmethodID get = (*env)->GetStaticMethodID(env, program, "array", "()[B");
    jarray array = (*env)->CallStaticObjectMethod(env, program, get);
    void *elements = (*env)->GetPrimitiveArrayCritical(env, array, NULL);
    (*env)->ReleasePrimitiveArrayCritical(env, array, elements, JNI_ABORT);
    uintptr_t middle = (uintptr_t)elements + (*env)->GetArrayLength(env, array) / 2;
    (*env)->DeleteLocalRef(env, array);
    return middle & ~(uintptr_t)4095;
}

int main(int count, char **words) {
    JNIEnv *env = count < 2 ? NULL : started(count - 1, words + 1, words[1]);
    if (!env) {
        return 2;
    }
    uintptr_t low = PLACE + middle_of_array(env) - STACK_BYTES;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    void *stack = mmap((void *)low, STACK_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
    pthread_attr_t attributes;
    pthread_t thread;
    void *answer = "no thread";
    if (stack != (void *)low || pthread_attr_init(&attributes) ||
        pthread_attr_setstack(&attributes, stack, STACK_BYTES) || pthread_create(&thread, &attributes, ask, NULL) ||
        pthread_join(thread, &answer)) {
        return 4;
    }
    puts(answer);
    return 0;
}
