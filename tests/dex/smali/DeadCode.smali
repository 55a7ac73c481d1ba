# SPDX-License-Identifier: Apache-2.0
# What cannot be reached takes a result of no call and runs off the end.
.class public LDeadCode;
.super Ljava/lang/Object;

.method public static run()Ljava/lang/String;
    .registers 2
    const-string v0, "the rest is dead"
    return-object v0
    move-result v1
    add-int v1, v1, v0
.end method
