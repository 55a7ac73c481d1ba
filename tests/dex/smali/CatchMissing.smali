# SPDX-License-Identifier: Apache-2.0
# A handler for a class that is not there is passed over.
.class public LCatchMissing;
.super Ljava/lang/Object;

.method private static only()V
    .registers 2
    :start
    new-instance v0, Ljava/lang/IllegalStateException;
    const-string v1, "passed over"
    invoke-direct {v0, v1}, Ljava/lang/IllegalStateException;-><init>(Ljava/lang/String;)V
    throw v0
    :end
    .catch Lno/Such; {:start .. :end} :wrong
    .catch Lno/Other; {:start .. :end} :wrong
    :wrong
    move-exception v0
    invoke-virtual {v0}, Lno/Such;->report()V
    return-void
.end method

.method public static run()Ljava/lang/String;
    .registers 2
    :start
    invoke-static {}, LCatchMissing;->only()V
    :end
    .catch Lno/Such; {:start .. :end} :wrong
    .catch Ljava/lang/IllegalStateException; {:start .. :end} :right
    .catchall {:start .. :end} :wrong
    :wrong
    const-string v0, "wrong handler"
    return-object v0
    :right
    move-exception v0
    invoke-virtual {v0}, Ljava/lang/IllegalStateException;->getMessage()Ljava/lang/String;
    move-result-object v0
    return-object v0
.end method
