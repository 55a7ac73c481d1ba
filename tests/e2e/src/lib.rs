// SPDX-License-Identifier: Apache-2.0
//! Starts the commands that were built for release and looks at what a person would see.
#![forbid(unsafe_code)]
