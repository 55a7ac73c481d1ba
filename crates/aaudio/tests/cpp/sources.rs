// SPDX-License-Identifier: Apache-2.0
//! Nothing: the package is there for its dependency.
