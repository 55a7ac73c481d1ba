// SPDX-License-Identifier: Apache-2.0
//! android.content.res: packages' files and plain values.
//!
//! A package is read and verified once in a process and stays ([`package::Package`]).
//! [`asset_manager`] answers for a list of them, the last one first. Plain values (text, numbers,
//! colours, dimensions, booleans) are there; styles, arrays and plurals, names of resources and
//! compiled XML are not yet: a style sets nothing, the others say so by name.

mod apk_assets;
mod asset;
mod asset_manager;
mod package;
