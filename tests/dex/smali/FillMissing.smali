# SPDX-License-Identifier: Apache-2.0
# Nothing is asked of a class that is not there until the instruction runs.
.class public LFillMissing;
.super Ljava/lang/Object;

.method public static run()Ljava/lang/String;
    .registers 1
    :start
    filled-new-array {}, [Lno/Such;
    move-result-object v0
    :end
    .catch Ljava/lang/NoClassDefFoundError; {:start .. :end} :missing
    const-string v0, "filled"
    return-object v0
    :missing
    const-string v0, "missing when it ran"
    return-object v0
.end method
