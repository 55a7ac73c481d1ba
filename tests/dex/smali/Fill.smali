# SPDX-License-Identifier: Apache-2.0
# A fill with elements that no register holds throws when it runs.
.class public LFill;
.super Ljava/lang/Object;

.method public static run()Ljava/lang/String;
    .registers 2
    const/4 v0, 0x0
    filled-new-array {v0, v0}, [J
    move-result-object v0
    array-length v1, v0
    const-string v0, "filled"
    return-object v0
.end method
