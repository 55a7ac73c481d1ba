// SPDX-License-Identifier: Apache-2.0
//! [`Film`]: a stage's pictures one after the other, each with what changed in it.

use std::sync::Arc;

use super::frame::Frame;
use super::stage::Stage;

/// What was seen last.
#[derive(Debug, Default)]
pub struct Film {
    /// The stage's number of it.
    seen: Option<u64>,
    last: Option<Arc<Frame>>,
}

impl Film {
    /// The next frame that differs; none if there is none until a time.
    pub fn next_until(&mut self, stage: &dyn Stage, due_ns: u64) -> Option<Arc<Frame>> {
        let (number, picture) = stage.picture(self.seen, due_ns)?;
        self.seen = Some(number);
        let frame = match &self.last {
            Some(last) => last.next(picture)?,
            None => Frame::first(picture),
        };
        let frame = Arc::new(frame);
        self.last = Some(Arc::clone(&frame));
        Some(frame)
    }
}
