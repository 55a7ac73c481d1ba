# SPDX-License-Identifier: Apache-2.0
# One method without an end: the class cannot be used, the file can.
.class public LOffTheEnd;
.super Ljava/lang/Object;

.method public static run()Ljava/lang/String;
    .registers 1
    const-string v0, "must not run"
    return-object v0
.end method

.method public static broken()V
    .registers 1
    nop
.end method
