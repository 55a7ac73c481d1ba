# SPDX-License-Identifier: Apache-2.0
.class public LNewClass;
.super Ljava/lang/Object;

.method public static run()Ljava/lang/String;
    .registers 1
    new-instance v0, Ljava/lang/Class;
    const-string v0, "made a class object"
    return-object v0
.end method
