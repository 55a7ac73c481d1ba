# SPDX-License-Identifier: Apache-2.0
# `invoke-super` names the class itself and runs the superclass's method.
.class public LLower;
.super LUpper;

.method public constructor <init>()V
    .registers 1
    invoke-direct {p0}, LUpper;-><init>()V
    return-void
.end method

.method public name()Ljava/lang/String;
    .registers 3
    invoke-super {p0}, LLower;->name()Ljava/lang/String;
    move-result-object v0
    const-string v1, " lower"
    invoke-virtual {v0, v1}, Ljava/lang/String;->concat(Ljava/lang/String;)Ljava/lang/String;
    move-result-object v0
    return-object v0
.end method

.method public alone()V
    .registers 1
    invoke-super {p0}, LLower;->alone()V
    return-void
.end method

.method public static run()Ljava/lang/String;
    .registers 3
    new-instance v0, LLower;
    invoke-direct {v0}, LLower;-><init>()V
    invoke-virtual {v0}, LLower;->name()Ljava/lang/String;
    move-result-object v1
    :start
    invoke-virtual {v0}, LLower;->alone()V
    :end
    .catch Ljava/lang/NoSuchMethodError; {:start .. :end} :none
    const-string v1, "called itself"
    return-object v1
    :none
    const-string v0, ", none above"
    invoke-virtual {v1, v0}, Ljava/lang/String;->concat(Ljava/lang/String;)Ljava/lang/String;
    move-result-object v1
    return-object v1
.end method
