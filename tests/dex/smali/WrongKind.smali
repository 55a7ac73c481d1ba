# SPDX-License-Identifier: Apache-2.0
# A call by an instruction for another kind of method throws when it runs.
.class public LWrongKind;
.super Ljava/lang/Object;

.method public constructor <init>()V
    .registers 1
    invoke-direct {p0}, Ljava/lang/Object;-><init>()V
    return-void
.end method

.method private secret()V
    .registers 1
    return-void
.end method

.method public open()V
    .registers 1
    return-void
.end method

.method private static asVirtual(LWrongKind;)V
    .registers 1
    invoke-virtual {p0}, LWrongKind;->secret()V
    return-void
.end method

.method private static asDirect(LWrongKind;)V
    .registers 1
    invoke-direct {p0}, LWrongKind;->open()V
    return-void
.end method

.method public static run()Ljava/lang/String;
    .registers 3
    new-instance v0, LWrongKind;
    invoke-direct {v0}, LWrongKind;-><init>()V
    :start
    invoke-static {v0}, LWrongKind;->asVirtual(LWrongKind;)V
    :end
    .catch Ljava/lang/IncompatibleClassChangeError; {:start .. :end} :direct
    const-string v0, "a private method was called as virtual"
    return-object v0
    :direct
    invoke-static {v0}, LWrongKind;->asDirect(LWrongKind;)V
    const-string v0, "a virtual method was called as direct"
    return-object v0
.end method
