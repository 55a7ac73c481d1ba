// SPDX-License-Identifier: Apache-2.0 Native code that takes local references without end, recurses
// through Java, asks for any version, and ends with locks.

#include <pthread.h>
#include <stdio.h>

#include "started.h"

/// So deep that local references end before it does.
#define STACK_BYTES ((size_t)1 << 30)
#define REFERENCES_MAX 10000000

static jmethodID up, locked_up;

static jint JNICALL down(JNIEnv *env, jclass class, jobject a, jobject b, jobject c, jobject d, jobject e, jobject f) {
    (void)b, (void)c, (void)d, (void)e, (void)f;
    return 1 + (*env)->CallStaticIntMethod(env, class, up, a);
}

static jint JNICALL locked_down(JNIEnv *env, jclass class, jobject a, jobject b, jobject c, jobject d, jobject e,
                                jobject f) {
    (void)b, (void)c, (void)d, (void)e, (void)f;
    return 1 + (*env)->CallStaticIntMethod(env, class, locked_up, a);
}

static jint JNICALL detach(JNIEnv *env, jclass class) {
    (void)env, (void)class;
    return (*machine)->DetachCurrentThread(machine);
}

/// The name of the class of what was thrown.
static const char *thrown(JNIEnv *env) {
    static char name[100];
    jthrowable exception = (*env)->ExceptionOccurred(env);
    (*env)->ExceptionClear(env);
    if (!exception) {
        return "nothing";
    }
    jclass class = (*env)->FindClass(env, "java/lang/Class");
    jmethodID get_name = (*env)->GetMethodID(env, class, "getName", "()Ljava/lang/String;");
    jstring text = (*env)->CallObjectMethod(env, (*env)->GetObjectClass(env, exception), get_name);
    (*env)->GetStringUTFRegion(env, text, 0, (*env)->GetStringLength(env, text), name);
    return name;
}

static void say(JNIEnv *env, const char *what, const char *method) {
    jmethodID id = (*env)->GetStaticMethodID(env, program, method, "()Ljava/lang/String;");
    jstring text = (*env)->CallStaticObjectMethod(env, program, id);
    char said[200] = "";
    (*env)->GetStringUTFRegion(env, text, 0, (*env)->GetStringLength(env, text), said);
    printf("%s: %s\n", what, said);
}

static void take_references(JNIEnv *env) {
    // In a frame of its own: what is below is needed for what was thrown.
    (*env)->PushLocalFrame(env, 16);
    int count = 0;
    while (count < REFERENCES_MAX && (*env)->NewLocalRef(env, program)) {
        count++;
    }
    jthrowable exception = (*env)->ExceptionOccurred(env);
    // No room for another one, so none was got.
    (*env)->ExceptionClear(env);
    jobject kept = (*env)->PopLocalFrame(env, exception);
    (void)kept;
    (*env)->PushLocalFrame(env, 16);
    while ((*env)->NewLocalRef(env, program)) {
    }
    (*env)->PopLocalFrame(env, NULL);
    printf("more than 300000 references: %s, then: %s\n", count > 300000 ? "yes" : "no", thrown(env));
}

static void ask_for_room(JNIEnv *env) {
    jint none = (*env)->EnsureLocalCapacity(env, -1);
    jint some = (*env)->EnsureLocalCapacity(env, 1000), many = (*env)->EnsureLocalCapacity(env, 1 << 30);
    printf("capacity: %d %d %d, thrown: %s\n", some, none, many, thrown(env));
    none = (*env)->PushLocalFrame(env, -1);
    some = (*env)->PushLocalFrame(env, 1000), many = (*env)->PushLocalFrame(env, 1 << 30);
    printf("frame: %d %d %d, thrown: %s\n", some, none, many, thrown(env));
    (*env)->PopLocalFrame(env, NULL);
}

static void *go_deep(void *unused) {
    JNIEnv *env;
    if ((*machine)->AttachCurrentThread(machine, (void **)&env, NULL) != JNI_OK) {
        return "not attached";
    }
    say(env, "deep", "deep");
    say(env, "synchronized", "lockedDeep");
    (*machine)->DetachCurrentThread(machine);
    return unused;
}

static void *leave_locked(void *unused) {
    JNIEnv *env;
    if ((*machine)->AttachCurrentThread(machine, (void **)&env, NULL) != JNI_OK) {
        return "not attached";
    }
    jfieldID field = (*env)->GetStaticFieldID(env, program, "LOCK", "Ljava/lang/Object;");
    jobject lock = (*env)->GetStaticObjectField(env, program, field);
    (*env)->MonitorEnter(env, lock);
    (*env)->MonitorEnter(env, lock);
    (*env)->MonitorEnter(env, program);
    (*env)->MonitorExit(env, program);
    int first = (*machine)->DetachCurrentThread(machine), second = (*machine)->DetachCurrentThread(machine);
    printf("detached with monitors: %d, again: %d\n", first, second);
    return unused;
}

static int run(void *(*body)(void *)) {
    pthread_attr_t attributes;
    pthread_t thread;
    void *failure = "no thread";
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    if (pthread_create(&thread, &attributes, body, NULL) || pthread_join(thread, &failure)) {
        return 1;
    }
    return failure != NULL;
}

int main(int count, char **words) {
    JNIEnv *env = started(count, words, "Natives");
    if (!env) {
        return 2;
    }
    const char *many = "(Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;Ljava/lang/Object;"
                       "Ljava/lang/Object;)I";
    JNINativeMethod methods[] = {
        {"down", (char *)many, down}, {"lockedDown", (char *)many, locked_down}, {"detach", "()I", detach}};
    if ((*env)->RegisterNatives(env, program, methods, 3)) {
        return 3;
    }
    up = (*env)->GetStaticMethodID(env, program, "up", "(Ljava/lang/Object;)I");
    locked_up = (*env)->GetStaticMethodID(env, program, "lockedUp", "(Ljava/lang/Object;)I");
    take_references(env);
    ask_for_room(env);
    if (run(go_deep)) {
        return 4;
    }
    const jint versions[] = {JNI_VERSION_1_1, JNI_VERSION_10, 0x00020000, 0x7fffffff};
    jint answers[4];
    for (int i = 0; i < 4; i++) {
        void *found;
        answers[i] = (*machine)->GetEnv(machine, &found, versions[i]);
    }
    printf("versions: %d %d %d %d\n", answers[0], answers[1], answers[2], answers[3]);
    say(env, "detached with Java frames", "detachWithFrames");
    if (run(leave_locked)) {
        return 5;
    }
    say(env, "monitors", "lock");
    return 0;
}
