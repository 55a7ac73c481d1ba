// SPDX-License-Identifier: Apache-2.0
//! [`RtSection`]: the witness that hot functions take.

use std::marker::PhantomData;

use crate::guard::Mark;

/// Proof that the caller runs in a real-time section: no allocation, no blocking call, no unbounded
/// loop. A function that belongs there asks for it, and cannot be called from elsewhere:
///
/// ```
/// use rt::section::RtSection;
///
/// fn mix(out: &mut [f32], voice: &[f32], _: &RtSection) {
///     out.iter_mut().zip(voice).for_each(|(out, voice)| *out += voice);
/// }
///
/// let mut out = [0.0; 64];
/// RtSection::enter(|rt| mix(&mut out, &[0.5; 64], rt));
/// ```
///
/// It stays on its thread and within the call:
///
/// ```compile_fail
/// rt::section::RtSection::enter(|rt| std::thread::scope(|scope| scope.spawn(|| rt)));
/// ```
///
/// The first two rules are watched by [`crate::guard`].
#[derive(Debug)]
pub struct RtSection<'a> {
    stays: PhantomData<*const &'a ()>,
}

impl RtSection<'_> {
    /// Runs `body` in a section. Sections nest; the outermost one counts. O(1) beside `body`.
    #[track_caller]
    pub fn enter<R>(body: impl FnOnce(&RtSection<'_>) -> R) -> R {
        let _mark = Mark::set();
        body(&RtSection { stays: PhantomData })
    }
}
