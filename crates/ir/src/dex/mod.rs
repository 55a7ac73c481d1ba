// SPDX-License-Identifier: Apache-2.0
//! Classes and methods of DEX files.
//!
//! [`Outline`] writes a class down as a class file without code, which the
//! machine links and reflects over like any other; [`translate`] turns the code
//! into IR whose indices are those of that class file. Registers get types by
//! abstract interpretation, as in [`bytecode`](crate::bytecode); of which classes
//! references are, [`check_references`](crate::check_references) proves.
//! Neighbours: `dex` has verified everything that needs no types.

mod attributes;
mod outline;
mod pool;
mod state;
mod translate;

pub use outline::Outline;
pub use translate::translate;
