// SPDX-License-Identifier: Apache-2.0
//! A display on the machine's own screen, without a desktop: [`start`] takes a graphics card and
//! all keyboards, mice and touch screens.
//!
//! One thread flips three buffers at the card's beat and reads the input devices. A machine with
//! virtual terminals keeps the card for the one that was active at the start: while another one is,
//! card and devices are given up.
//!
//! It knows no Java: only a [`screen::back_end::Stage`]. Its threads are ordinary ones.
#![forbid(unsafe_code)]

mod card;
mod device;
mod devices;
mod session;
mod terminal;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rt::bell::Bell;
use rt::thread::SpawnError;
use screen::back_end::{Pump, Stage, thread};

use crate::card::Card;
use crate::session::Session;

/// Why there is no screen.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// No driver has made a device.
    #[error("there is no graphics card: no /dev/dri/card* is there")]
    NoCard,
    /// This user may not.
    #[error("{} cannot be opened: {source}; its group is usually `video`", path.display())]
    Open {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A desktop runs, or another application.
    #[error("another program has {}: a desktop, or an application like this one", path.display())]
    Taken {
        /// Which.
        path: PathBuf,
    },
    /// Nothing shows what the card has.
    #[error("no monitor is connected to {}", path.display())]
    NoMonitor {
        /// The card.
        path: PathBuf,
    },
    /// The card refuses.
    #[error("{}: cannot {what}: {source}", path.display())]
    Refused {
        /// The card.
        path: PathBuf,
        /// What.
        what: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The kernel gives no descriptor.
    #[error("cannot make a bell: {0}")]
    Bell(String),
    /// A thread did not start.
    #[error("{0}")]
    Thread(#[from] SpawnError),
}

/// What may be said about the screen; without it the kernel's order counts.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    /// The card; else the first that has a monitor.
    pub card: Option<PathBuf>,
    /// Columns and rows, if the monitor has such a mode; else what it prefers.
    pub size: Option<(u32, u32)>,
    /// Layouts of keyboards, as in XKB_DEFAULT_LAYOUT.
    pub layout: String,
    /// Their variants, as in XKB_DEFAULT_VARIANT.
    pub variant: String,
}

/// A screen that shows a display.
#[derive(Clone, Debug)]
pub struct Console {
    size: (u32, u32),
    beats: Arc<Beats>,
}

/// Counts flips.
#[derive(Debug, Default)]
struct Beats {
    flips: AtomicU64,
    disorder: AtomicU64,
}

impl Console {
    /// Columns and rows.
    pub fn size(&self) -> (u32, u32) {
        self.size
    }

    /// How many frames the card has shown.
    pub fn flips(&self) -> u64 {
        self.beats.flips.load(Ordering::Relaxed)
    }

    /// How many of them came at no later beat than the one before.
    pub fn disorder(&self) -> u64 {
        self.beats.disorder.load(Ordering::Relaxed)
    }
}

/// Takes a screen and the machine's input devices, until the process ends.
pub fn start(wish: Wish, stage: Arc<dyn Stage>) -> Result<Console, Fault> {
    let card = Card::take(&wish)?;
    let bell = Bell::new().map_err(|it| Fault::Bell(it.to_string()))?;
    let bell = Arc::new(bell);
    let pump = Pump::start("console-picture", Arc::clone(&stage), Arc::clone(&bell))?;
    let console = Console {
        size: card.size(),
        beats: Arc::default(),
    };
    let beats = Arc::clone(&console.beats);
    thread("console").spawn(move || Session::new(card, wish, stage, (pump, bell), beats).run())?;
    Ok(console)
}

/// Could a display be shown here? The card's path and size.
pub fn probe() -> Result<(PathBuf, (u32, u32)), Fault> {
    card::look(&Wish::default())
}
