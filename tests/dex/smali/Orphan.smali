# SPDX-License-Identifier: Apache-2.0
.class public LOrphan;
.super Lno/Such;
