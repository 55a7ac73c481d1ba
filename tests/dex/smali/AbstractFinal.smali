# SPDX-License-Identifier: Apache-2.0
.class public abstract final LAbstractFinal;
.super Ljava/lang/Object;
