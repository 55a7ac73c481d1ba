# SPDX-License-Identifier: Apache-2.0
# Where the test does not hold nothing is known.
.class public LUnrefined;
.super Ljava/lang/Object;

.method public static run()Ljava/lang/String;
    .registers 2
    const-string v0, "none"
    invoke-static {v0}, LUnrefined;->length(Ljava/lang/Object;)I
    return-object v0
.end method

.method private static length(Ljava/lang/Object;)I
    .registers 2
    instance-of v0, p0, Ljava/lang/String;
    if-nez v0, :yes
    invoke-virtual {p0}, Ljava/lang/String;->length()I
    move-result v0
    :yes
    return v0
.end method
