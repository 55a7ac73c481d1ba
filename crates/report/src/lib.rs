// SPDX-License-Identifier: Apache-2.0
//! Histograms and samples as tables, CSV, .hgrm, JSON, SVG and PNG. Bytes and values only: no I/O.
#![forbid(unsafe_code)]
