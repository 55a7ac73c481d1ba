# SPDX-License-Identifier: Apache-2.0
.class public abstract interface LNativeDefault;
.super Ljava/lang/Object;

.method public native work()V
.end method
