# SPDX-License-Identifier: Apache-2.0
# Members whose types are not there are in nobody's way who looks for others.
.class public LMembers;
.super Ljava/lang/Object;

.field public odd:Lno/Such;
.field public plain:I

.method public constructor <init>()V
    .registers 1
    invoke-direct {p0}, Ljava/lang/Object;-><init>()V
    return-void
.end method

.method public constructor <init>(Lno/Such;)V
    .registers 2
    invoke-direct {p0}, Ljava/lang/Object;-><init>()V
    return-void
.end method

.method public odd(Lno/Such;)V
    .registers 2
    return-void
.end method

.method public static run()Ljava/lang/String;
    .registers 1
    const-string v0, "found"
    return-object v0
.end method
