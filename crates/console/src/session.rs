// SPDX-License-Identifier: Apache-2.0
//! [`Session`]: the one thread that shows frames and hears devices.

use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rt::bell::Bell;
use rt::clock::{Clock as _, Monotonic};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use screen::back_end::{Deed, Frame, LOOK_NS, Layout, Pump, Stage};

use crate::card::Card;
use crate::device::Person;
use crate::devices::Devices;
use crate::terminal::Terminal;
use crate::{Beats, Fault, Wish};

/// What the thread has.
pub(crate) struct Session {
    /// None while another terminal is active, or another program has it.
    card: Option<Card>,
    wish: Wish,
    stage: Arc<dyn Stage>,
    pump: Pump,
    bell: Arc<Bell>,
    beats: Arc<Beats>,
    devices: Devices,
    person: Person,
    terminal: Option<Terminal>,
    frame: Option<Arc<Frame>>,
    /// The number of the frame and the mouse's place that the card has.
    shown: Option<(u64, Option<(i32, i32)>)>,
    look_ns: u64,
}

impl Session {
    pub(crate) fn new(
        card: Card,
        wish: Wish,
        stage: Arc<dyn Stage>,
        (pump, bell): (Pump, Arc<Bell>),
        beats: Arc<Beats>,
    ) -> Self {
        let layout = Layout::of_names(&wish.layout, &wish.variant);
        let person = Person::new(Arc::clone(&stage), layout, card.size());
        pump.want();
        Self {
            card: Some(card),
            wish,
            stage,
            pump,
            bell,
            beats,
            devices: Devices::default(),
            person,
            terminal: Terminal::active(),
            frame: None,
            shown: None,
            look_ns: 0,
        }
    }

    pub(crate) fn run(&mut self) {
        loop {
            self.look();
            if let Err(fault) = self.show() {
                self.give_up();
                self.stage.say(&format!("the screen is lost: {fault}"));
            }
            self.wait();
        }
    }

    /// Once a second: whose is the screen, and which devices are there?
    fn look(&mut self) {
        let is_ours = self.terminal.as_ref().is_none_or(Terminal::is_active);
        if !is_ours && self.card.is_some() {
            self.give_up();
        }
        let now_ns = Monotonic.now_ns();
        if now_ns < self.look_ns || !is_ours {
            return;
        }
        self.look_ns = now_ns + LOOK_NS;
        if self.card.is_none() {
            // Its holder may have it for long.
            let Ok(card) = Card::take(&self.wish) else {
                return;
            };
            self.take(card);
        }
        self.devices.scan(&mut self.person, &*self.stage);
    }

    fn take(&mut self, card: Card) {
        let (width, height) = card.size();
        self.person.resize((width, height));
        self.stage.take(Deed::Resize(width, height));
        self.card = Some(card);
        self.shown = None;
        self.pump.want();
    }

    fn give_up(&mut self) {
        self.devices.let_go(&mut self.person);
        self.card = None;
    }

    /// The newest frame, and the mouse's arrow above it.
    fn show(&mut self) -> Result<(), Fault> {
        let (Some(card), Some(frame)) = (&mut self.card, &self.frame) else {
            return Ok(());
        };
        let wanted = Some((frame.number(), self.person.mouse()));
        if self.shown != wanted && !card.is_waiting() {
            card.show(frame, self.person.mouse())?;
            self.shown = wanted.filter(|_| card.is_waiting());
        }
        Ok(())
    }

    /// For a beat, a frame, a device, another terminal; not for longer than a second.
    fn wait(&mut self) {
        let has = |it: &PollFd<'_>| !it.revents().is_empty();
        let place = PollFd::from_borrowed_fd;
        let (has_beat, has_frame, has_input) = {
            let mut places = vec![place(self.bell.as_fd(), PollFlags::IN)];
            if let Some(card) = &self.card {
                places.push(place(card.as_fd(), PollFlags::IN));
            }
            let devices = places.len();
            places.extend(self.devices.fds().map(|it| place(it, PollFlags::IN)));
            let terminal = places.len();
            if let Some(active) = &self.terminal {
                places.push(place(active.as_fd(), PollFlags::PRI));
            }
            let second = Timespec {
                tv_sec: 1,
                tv_nsec: 0,
            };
            // A signal is no fault: the next turn looks again.
            let _ = poll(&mut places, Some(&second));
            let has_beat = devices == 2 && has(&places[1]);
            let has_input = places[devices..terminal].iter().any(has);
            (has_beat, has(&places[0]), has_input)
        };
        if has_frame {
            let mut count = [0; 8];
            let _ = rustix::io::read(&self.bell, &mut count);
            self.frame = self.pump.take().or(self.frame.take());
        }
        if has_beat {
            self.hear_beat();
        }
        if has_input {
            self.devices.hear(&mut self.person);
        }
    }

    fn hear_beat(&mut self) {
        let Some(card) = &mut self.card else {
            return;
        };
        match card.hear() {
            Ok(flips) => {
                for flip in &flips {
                    let disorder = u64::from(!flip.is_later);
                    self.beats.flips.fetch_add(1, Ordering::Relaxed);
                    self.beats.disorder.fetch_add(disorder, Ordering::Relaxed);
                }
                if !flips.is_empty() {
                    self.pump.want();
                }
            }
            Err(fault) => {
                self.give_up();
                self.stage.say(&format!("the screen is lost: {fault}"));
            }
        }
    }
}
