# SPDX-License-Identifier: Apache-2.0
# A branch to itself, which no compiler writes: wrong wherever it stands.
.class public LStays;
.super Ljava/lang/Object;

.method public static run()Ljava/lang/String;
    .registers 1
    const-string v0, "must not run"
    return-object v0
    :here
    if-eqz v0, :here
    goto :here
.end method
