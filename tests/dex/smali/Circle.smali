# SPDX-License-Identifier: Apache-2.0
.class public abstract interface LCircle;
.super Ljava/lang/Object;
.implements LCircle;
