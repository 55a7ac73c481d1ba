// SPDX-License-Identifier: Apache-2.0 A program with a machine in it: the thread that made the
// machine ends it and then itself; the program goes on.

#include <jni.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static JavaVMOption options[2];

static void *run_machine(void *unused) {
    (void)unused;
    JavaVMInitArgs arguments = {JNI_VERSION_10, 2, options, JNI_FALSE};
    JavaVM *machine;
    JNIEnv *env;
    if (JNI_CreateJavaVM(&machine, (void **)&env, &arguments) != JNI_OK) {
        return "no machine";
    }
    jclass program = (*env)->FindClass(env, "Leaving");
    jmethodID start = program ? (*env)->GetStaticMethodID(env, program, "main", "([Ljava/lang/String;)V") : NULL;
    if (!start) {
        return "no program";
    }
    (*env)->CallStaticVoidMethod(env, program, start, NULL);
    return (*machine)->DestroyJavaVM(machine) == JNI_OK ? NULL : "the machine did not end";
}

int main(int count, char **words) {
    if (count < 3) {
        return 2;
    }
    options[0].optionString = words[1];
    options[1].optionString = words[2];
    pthread_t thread;
    void *failure = NULL;
    if (pthread_create(&thread, NULL, run_machine, NULL) || pthread_join(thread, &failure)) {
        return 2;
    }
    // Daemons collect without end: the collector must not wait for the thread that is gone.
    struct timespec pause = {0, 300000000};
    nanosleep(&pause, NULL);
    puts(failure ? (char *)failure : "gone");
    return failure != NULL;
}
