# SPDX-License-Identifier: Apache-2.0
# A quotient of doubles cannot throw: its handler does not see that v0 holds nothing before the first
# one, and a double before the second.
.class public LQuotient;
.super Ljava/lang/Object;

.method public static run()Ljava/lang/String;
    .registers 4
    const/16 v2, 0x7
    int-to-double v2, v2
    :begin
    rem-double/2addr v2, v2
    double-to-long v0, v2
    invoke-static {}, Ljava/lang/System;->lineSeparator()Ljava/lang/String;
    long-to-double v2, v0
    move-wide v0, v2
    rem-double/2addr v2, v0
    double-to-long v0, v2
    :end
    .catchall {:begin .. :end} :caught
    goto :after
    :caught
    move-exception v2
    :after
    invoke-static {v0, v1}, Ljava/lang/String;->valueOf(J)Ljava/lang/String;
    move-result-object v0
    return-object v0
.end method
