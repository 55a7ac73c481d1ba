# SPDX-License-Identifier: Apache-2.0
.class public LUpper;
.super Ljava/lang/Object;

.method public constructor <init>()V
    .registers 1
    invoke-direct {p0}, Ljava/lang/Object;-><init>()V
    return-void
.end method

.method public name()Ljava/lang/String;
    .registers 2
    const-string v0, "upper"
    return-object v0
.end method
