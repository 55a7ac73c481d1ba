#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# In a guest: runs a command, and fails as well if the kernel complained of anything meanwhile.
"$@"
code=$?
if dmesg | grep -E 'WARNING:|BUG:|Oops|rtmutex deadlock|Call Trace|scheduling while atomic|hung task|binder_takt: Unexpected'; then
    dmesg | tail -n 60
    exit 99
fi
exit $code
