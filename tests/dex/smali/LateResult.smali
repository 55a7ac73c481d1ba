# SPDX-License-Identifier: Apache-2.0
# A result is taken by the next instruction or by none.
.class public LLateResult;
.super Ljava/lang/Object;

.method public static run()Ljava/lang/String;
    .registers 1
    invoke-static {}, Ljava/lang/System;->lineSeparator()Ljava/lang/String;
    nop
    move-result-object v0
    return-object v0
.end method
