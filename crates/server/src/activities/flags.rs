// SPDX-License-Identifier: Apache-2.0
//! Flags of intents that start activities. The numbers are Android's.

/// It is finished as soon as another one is in front.
pub const NO_HISTORY: u32 = 0x4000_0000;
/// One that is on top already gets the intent.
pub const SINGLE_TOP: u32 = 0x2000_0000;
/// Into a task of its own, or the one that it has.
pub const NEW_TASK: u32 = 0x1000_0000;
/// With [`NEW_TASK`] or [`NEW_DOCUMENT`]: always another task.
pub const MULTIPLE_TASK: u32 = 0x0800_0000;
/// What lies above it is finished.
pub const CLEAR_TOP: u32 = 0x0400_0000;
/// Its result goes to whom the starter's would go.
pub const FORWARD_RESULT: u32 = 0x0200_0000;
/// A launcher starts it.
pub const RESET_TASK_IF_NEEDED: u32 = 0x0020_0000;
/// One task for each document.
pub const NEW_DOCUMENT: u32 = 0x0008_0000;
/// One that is there comes to the front of its task.
pub const REORDER_TO_FRONT: u32 = 0x0002_0000;
/// With [`NEW_TASK`]: what is in the task is finished.
pub const CLEAR_TASK: u32 = 0x0000_8000;
/// With [`NEW_TASK`]: home lies under it.
pub const TASK_ON_HOME: u32 = 0x0000_4000;
