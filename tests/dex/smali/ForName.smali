# SPDX-License-Identifier: Apache-2.0
# A caller that names a class hears that it is not there.
.class public LForName;
.super Ljava/lang/Object;

.method public static run()Ljava/lang/String;
    .registers 2
    :start
    const-string v0, "Circle"
    invoke-static {v0}, Ljava/lang/Class;->forName(Ljava/lang/String;)Ljava/lang/Class;
    :end
    .catch Ljava/lang/ClassNotFoundException; {:start .. :end} :missing
    const-string v0, "it is there"
    return-object v0
    :missing
    move-exception v0
    invoke-virtual {v0}, Ljava/lang/ClassNotFoundException;->getCause()Ljava/lang/Throwable;
    move-result-object v1
    invoke-virtual {v1}, Ljava/lang/Throwable;->toString()Ljava/lang/String;
    move-result-object v1
    invoke-virtual {v0}, Ljava/lang/ClassNotFoundException;->toString()Ljava/lang/String;
    move-result-object v0
    invoke-virtual {v0, v1}, Ljava/lang/String;->concat(Ljava/lang/String;)Ljava/lang/String;
    move-result-object v0
    return-object v0
.end method
