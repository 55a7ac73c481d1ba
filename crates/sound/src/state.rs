// SPDX-License-Identifier: Apache-2.0
//! [`State`]: where a stream is, and what a [`Request`] makes of it, as AAudio has it.
//!
//! Pure: `stream` carries out what [`State::after`] says, and [`State::settled`] is where a state
//! on its way ends.

use crate::device::Direction;

/// AAudio's states, with its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum State {
    /// Open; nothing has moved.
    Open = 2,
    /// Asked to move; the device does not yet.
    Starting = 3,
    /// The device moves.
    Started = 4,
    /// Asked to pause.
    Pausing = 5,
    /// The device stands; what was written stays.
    Paused = 6,
    /// Asked to drop what was written.
    Flushing = 7,
    /// Nothing is written that was not played.
    Flushed = 8,
    /// Asked to stop; what was written is still played.
    Stopping = 9,
    /// All is played, and the device stands.
    Stopped = 10,
    /// The device is given back.
    Closing = 11,
    /// Nothing is left.
    Closed = 12,
    /// The device is gone.
    Disconnected = 13,
}

/// What an application may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Move.
    Start,
    /// Stand, and keep what was written.
    Pause,
    /// Drop what was written.
    Flush,
    /// Play what was written, and stand.
    Stop,
    /// Give the device back.
    Release,
}

/// Why a request is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not in this state.
    #[error("a stream does not take this request in its state")]
    WrongState,
    /// Not in this direction.
    #[error("a stream for input does not take this request")]
    NotForInput,
    /// The device is gone.
    #[error("the device is gone")]
    Disconnected,
}

impl State {
    /// Every state, in AAudio's order.
    pub const ALL: [Self; 12] = [
        Self::Open,
        Self::Starting,
        Self::Started,
        Self::Pausing,
        Self::Paused,
        Self::Flushing,
        Self::Flushed,
        Self::Stopping,
        Self::Stopped,
        Self::Closing,
        Self::Closed,
        Self::Disconnected,
    ];

    /// The state with this number.
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|it| *it as u32 == number)
    }

    /// The state that a request leads to; the same one if there is nothing to do.
    ///
    /// # Errors
    ///
    /// The state or the direction does not take it.
    pub fn after(self, request: Request, direction: Direction) -> Result<Self, Refusal> {
        use State::{
            Closed, Closing, Disconnected, Flushed, Flushing, Open, Paused, Pausing, Started,
            Starting, Stopped, Stopping,
        };
        let is_output = direction == Direction::Output;
        match (request, self) {
            (Request::Pause | Request::Flush, _) if !is_output => Err(Refusal::NotForInput),
            (Request::Release, Closed) => Ok(Closed),
            (Request::Release, _) => Ok(Closing),
            (_, Closing | Closed) => Err(Refusal::WrongState),
            (Request::Start | Request::Flush, Disconnected) => Err(Refusal::Disconnected),

            (Request::Start, Starting | Started | Flushing) => Err(Refusal::WrongState),
            (Request::Start, _) => Ok(Starting),

            (Request::Pause, Starting | Started) => Ok(Pausing),
            (Request::Pause, Open | Stopped | Flushed) => Ok(Paused),
            (Request::Pause, Pausing | Paused) => Ok(self),
            (Request::Pause, _) => Err(Refusal::WrongState),

            (Request::Flush, Open | Paused | Stopped | Flushed) => Ok(Flushing),
            (Request::Flush, _) => Err(Refusal::WrongState),

            (Request::Stop, Starting | Started) => Ok(Stopping),
            // Nothing moves, so nothing has to be waited for.
            (Request::Stop, Open | Paused | Flushed) => Ok(Stopped),
            (Request::Stop, Stopping | Stopped) => Ok(self),
            (Request::Stop, Disconnected) => Ok(Disconnected),
            (Request::Stop, _) => Err(Refusal::WrongState),
        }
    }

    /// Where a state on its way ends; itself if it is not on its way.
    pub const fn settled(self) -> Self {
        match self {
            Self::Starting => Self::Started,
            Self::Pausing => Self::Paused,
            Self::Flushing => Self::Flushed,
            Self::Stopping => Self::Stopped,
            Self::Closing => Self::Closed,
            it => it,
        }
    }

    /// Whether the device moves or is about to.
    pub const fn is_active(self) -> bool {
        matches!(self, Self::Starting | Self::Started)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row for each state: what Start, Pause, Flush, Stop and Release make of it. A number is the
    /// state; `!` is refused, `x` disconnected.
    const TABLE: &str = "
        Open          3  6  7 10 11
        Starting      !  5  !  9 11
        Started       !  5  !  9 11
        Pausing       3  5  !  ! 11
        Paused        3  6  7 10 11
        Flushing      !  !  !  ! 11
        Flushed       3  6  7 10 11
        Stopping      3  !  !  9 11
        Stopped       3  6  7 10 11
        Closing       !  !  !  ! 11
        Closed        !  !  !  ! 12
        Disconnected  x  !  x 13 11";

    const REQUESTS: [Request; 5] = [
        Request::Start,
        Request::Pause,
        Request::Flush,
        Request::Stop,
        Request::Release,
    ];

    #[test]
    fn every_request_in_every_state() {
        let rows = TABLE.lines().filter(|line| !line.trim().is_empty());
        let mut count = 0;
        for (row, state) in rows.zip(State::ALL) {
            let mut words = row.split_whitespace();
            assert_eq!(words.next(), Some(&*format!("{state:?}")));
            for (word, request) in words.zip(REQUESTS) {
                let expected = match word {
                    "!" => Err(Refusal::WrongState),
                    "x" => Err(Refusal::Disconnected),
                    number => Ok(State::from_number(number.parse().unwrap()).unwrap()),
                };
                let is_output_only = matches!(request, Request::Pause | Request::Flush);
                let found = state.after(request, Direction::Output);
                assert_eq!(found, expected, "{request:?} in {state:?}");
                let found = state.after(request, Direction::Input);
                let expected = match is_output_only {
                    true => Err(Refusal::NotForInput),
                    false => expected,
                };
                assert_eq!(found, expected, "{request:?} of an input in {state:?}");
                count += 1;
            }
        }
        assert_eq!(count, 60);
    }

    #[test]
    fn a_settled_state_stays() {
        for state in State::ALL {
            assert_eq!(state.settled().settled(), state.settled());
            assert_eq!(State::from_number(state as u32), Some(state));
        }
    }
}
