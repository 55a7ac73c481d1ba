// SPDX-License-Identifier: Apache-2.0 A program that forks with a machine in it. Parent and child
// go on compiling, at the same time, and must not see each other's code.

#include <dirent.h>
#include <jni.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 100

static JNIEnv *env;
static jclass program;

static jint call(const char *name, jint count) {
    jmethodID method = (*env)->GetStaticMethodID(env, program, name, "(I)I");
    return method ? (*env)->CallStaticIntMethod(env, program, method, count) : -1;
}

// How many threads but the calling one, which has the process's number, run or wait for a page.
static int busy(void) {
    char path[300], line[512], own[20];
    int busy = 0;
    snprintf(own, sizeof own, "%d", getpid());
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; tasks && (task = readdir(tasks));) {
        if (task->d_name[0] == '.' || !strcmp(task->d_name, own)) {
            continue;
        }
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
        FILE *file = fopen(path, "r");
        if (file && fgets(line, sizeof line, file)) {
            char *end = strrchr(line, ')');
            busy += !end || end[2] != 'S';
        }
        if (file) {
            fclose(file);
        }
    }
    if (tasks) {
        closedir(tasks);
    }
    return busy;
}

// A lock that another thread holds at the fork stays locked in the child: all must sleep. A machine
// that forks on purpose has one thread.
static void wait_for_quiet(void) {
    struct timespec pause = {0, 5000000};
    for (int quiet = 0; quiet < 20; quiet = busy() ? 0 : quiet + 1) {
        nanosleep(&pause, NULL);
    }
}

int main(int count, char **words) {
    JavaVMOption options[8];
    for (int i = 1; i < count && i <= 8; i++) {
        options[i - 1].optionString = words[i];
    }
    JavaVMInitArgs arguments = {JNI_VERSION_10, count - 1, options, JNI_FALSE};
    JavaVM *machine;
    int go[2], answer[2];
    if (JNI_CreateJavaVM(&machine, (void **)&env, &arguments) != JNI_OK || pipe(go) || pipe(answer)) {
        return 2;
    }
    program = (*env)->FindClass(env, "Forked");
    jmethodID before = program ? (*env)->GetStaticMethodID(env, program, "before", "()I") : NULL;
    if (!before || (*env)->CallStaticIntMethod(env, program, before) != 1) {
        return 3;
    }
    wait_for_quiet();
    pid_t child = fork();
    if (child == 0) {
        alarm(30);
        // The parent compiles first: its pages must not be where this process compiles next.
        jint result = -1;
        char byte;
        if (read(go[0], &byte, 1) == 1) {
            result = call("inChild", ROUNDS);
        }
        _exit(write(answer[1], &result, sizeof result) != sizeof result);
    }
    jint own = call("inParent", ROUNDS), other = -1;
    int status = -1;
    if (write(go[1], "", 1) != 1 || read(answer[0], &other, sizeof other) != sizeof other) {
        return 4;
    }
    waitpid(child, &status, 0);
    // What the child compiled has not changed what is here.
    jint again = call("inParent", ROUNDS);
    printf("%d %d\n", own, other);
    fflush(stdout);
    return status != 0 || own != again;
}
