#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# In a guest: rsbinder's own tests, beside its service manager and the service that they look for.
# usage: suite.sh RSB_HUB PEER TEST_PROGRAM...
hub=$1 peer=$2
shift 2
# It looks for devices in a binderfs, which Debian's module does not have.
mkdir -p /dev/binderfs
"$hub" --insecure-allow-all --device ../binder &
name=android.aidl.tests.ITestService
# Until the service manager is there, a service ends at once.
sleep 3600 | while ! "$peer" serve "$name" types 2> /dev/null; do sleep 0.2; done &
tries=0
until "$peer" ask "$name" < /dev/null > /dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || exit 98
    sleep 0.2
done
code=0
for program in "$@"; do
    "$program" --include-ignored --test-threads 1 || code=1
done
exit "$code"
