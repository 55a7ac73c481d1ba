# SPDX-License-Identifier: Apache-2.0
# A test of the class adds to what is known of an object; nothing is taken away.
.class public LRefine;
.super Ljava/lang/Object;

# As D8 writes `if (!(text instanceof CharSequence)) return 0; return text.length();`.
.method private static ofInterface(Ljava/lang/StringBuilder;)I
    .registers 2
    instance-of v0, p0, Ljava/lang/CharSequence;
    if-nez v0, :yes
    const/4 v0, 0x0
    return v0
    :yes
    invoke-virtual {p0}, Ljava/lang/StringBuilder;->length()I
    move-result v0
    return v0
.end method

.method private static ofSuperclass(Ljava/lang/Integer;)I
    .registers 2
    instance-of v0, p0, Ljava/lang/Number;
    if-eqz v0, :no
    invoke-static {p0}, LRefine;->own(Ljava/lang/Integer;)I
    move-result v0
    :no
    return v0
.end method

.method private static own(Ljava/lang/Integer;)I
    .registers 1
    invoke-virtual {p0}, Ljava/lang/Integer;->intValue()I
    move-result p0
    return p0
.end method

# The copy is tested, the object is used, as both classes.
.method private static ofCopy(Ljava/lang/Number;)I
    .registers 3
    move-object v0, p0
    instance-of v1, v0, Ljava/lang/Integer;
    if-eqz v1, :no
    invoke-static {p0}, LRefine;->own(Ljava/lang/Integer;)I
    move-result v1
    invoke-virtual {p0}, Ljava/lang/Number;->intValue()I
    move-result v0
    add-int v1, v1, v0
    return v1
    :no
    const/4 v1, -0x1
    return v1
.end method

.method public static run()Ljava/lang/String;
    .registers 4
    new-instance v0, Ljava/lang/StringBuilder;
    const-string v1, "abc"
    invoke-direct {v0, v1}, Ljava/lang/StringBuilder;-><init>(Ljava/lang/String;)V
    invoke-static {v0}, LRefine;->ofInterface(Ljava/lang/StringBuilder;)I
    move-result v1
    const/16 v2, 0x28
    invoke-static {v2}, Ljava/lang/Integer;->valueOf(I)Ljava/lang/Integer;
    move-result-object v2
    invoke-static {v2}, LRefine;->ofSuperclass(Ljava/lang/Integer;)I
    move-result v3
    add-int/2addr v1, v3
    invoke-static {v2}, LRefine;->ofCopy(Ljava/lang/Number;)I
    move-result v3
    add-int/2addr v1, v3
    invoke-static {v1}, Ljava/lang/String;->valueOf(I)Ljava/lang/String;
    move-result-object v0
    return-object v0
.end method
