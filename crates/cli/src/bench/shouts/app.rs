// SPDX-License-Identifier: Apache-2.0
//! The applications: who receives, the crowd of ordinary senders, who sends urgent broadcasts.

use std::os::fd::AsFd as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};

use ::system::native::{App, Class, Heard, Sending};
use anyhow::{Context, Result, bail, ensure};
use rt::clock::{Clock, Monotonic};
use rt::memory::{LockScope, ProcessLock};
use rt::policy::{Policy, Priority};
use rt::recorder::Recorder;
use rt::thread::{Builder, Thread};

use super::server::{CROWD, EAR, URGENT};
use super::{Plan, Said, Times, What};
use crate::bench::native::say;

/// What all broadcasts are, and those that stay.
const NEWS: &str = "takt.bench.NEWS";
const STATE: &str = "takt.bench.STATE";
/// The receivers' numbers.
const NEWS_EAR: i64 = 1;
const STATE_EAR: i64 = 2;
/// Of the real-time sender, as the paper's; of the thread that fetches what it sends.
const SENDER: Priority = Priority::new(80).expect("1 to 99");
const FETCHER: Priority = Priority::new(81).expect("1 to 99");
/// The paper's racers; the one that fetches what they send lets all of them send first.
const RACER: Priority = Priority::new(99).expect("1 to 99");
const RACE_FETCHER: Priority = Priority::new(98).expect("1 to 99");
const RACERS: u64 = 10;
/// From one broadcast to the next: of the real-time sender, of the racers, of the crowd.
const PERIOD_NS: u64 = 10_030_000;
const RACE_NS: u64 = 5_000_000;
const CROWD_NS: u64 = 100_000_000;
/// Until the first one.
const AHEAD_NS: u64 = 500_000_000;
/// Broadcasts before those that count: code and memory are cold in them.
const WARM_UP: u32 = 20;
/// Between looks whether all is over.
const LOOK_NS: u64 = 50_000_000;
/// What is later than all real-time broadcasts should be has been lost.
const PATIENCE_NS: u64 = 60_000_000_000;
const LIMIT_NS: u64 = 10_000_000_000;

/// A process of the experiments' server; it starts them.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The server
    #[arg(long)]
    parent: u32,
    /// Which package
    package: String,
    /// As JSON
    plan: String,
}

/// Does what its package does.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    rt::process::die_with_parent(args.parent).context("the server has gone")?;
    let plan: Plan = serde_json::from_str(&args.plan)?;
    let _memory = ProcessLock::acquire(LockScope::All)?;
    let urgent = match (args.package.as_str(), plan.what) {
        (EAR, _) if plan.is_first_come => None,
        (EAR, What::Times) => Some(FETCHER),
        (EAR, What::Races) => Some(RACE_FETCHER),
        _ => None,
    };
    let socket = std::io::stdin().as_fd().try_clone_to_owned()?;
    let app = Arc::new(App::join(socket, urgent)?);
    let outcome = match (args.package.as_str(), plan.what) {
        (EAR, What::Times) => hear(&app, &plan, urgent),
        (EAR, What::Races) => hear_races(&app, urgent),
        (CROWD, _) => crowd(&app, &plan),
        (URGENT, What::Times) => send(&app, &plan),
        (URGENT, What::Races) => race(&app, &plan),
        (other, _) => bail!("no package {other}"),
    };
    if let Err(error) = outcome {
        say(&Said::Failed(format!("{}: {error:#}", args.package)))?;
    }
    // Until the server ends.
    loop {
        Monotonic.sleep_until(Monotonic.now_ns() + PATIENCE_NS);
    }
}

/// What one thread of the receiver's has heard.
struct Tally {
    times: Recorder,
    urgent: u32,
    ordinary: u64,
    at_other_priority: u64,
}

impl Tally {
    fn new() -> Self {
        Self {
            times: Recorder::new(LIMIT_NS, 0),
            urgent: 0,
            ordinary: 0,
            at_other_priority: 0,
        }
    }

    /// A receiver runs.
    fn hear(&mut self, heard: &Heard) -> Result<()> {
        let now_ns = Monotonic.now_ns();
        let Some(sent_ns) = heard.text.strip_prefix("urgent:") else {
            self.ordinary += 1;
            return Ok(());
        };
        let sent_ns: u64 = sent_ns.parse().context("a time")?;
        self.urgent += 1;
        if self.urgent > WARM_UP {
            self.times.record(now_ns - sent_ns);
        }
        let own = Policy::of_current()?.priority().map_or(0, Priority::get);
        self.at_other_priority += u64::from(own != heard.priority);
        Ok(())
    }
}

/// Receives until all real-time broadcasts have come.
fn hear(app: &Arc<App>, plan: &Plan, urgent: Option<Priority>) -> Result<()> {
    app.register(NEWS_EAR, NEWS)?;
    let all = WARM_UP + plan.count;
    let is_over = Arc::new(AtomicBool::new(false));
    let fetcher = match urgent {
        Some(own) => Some(fetch_urgent(app, own, all, &is_over)?),
        None => None,
    };
    say(&Said::Ready)?;
    let due_ns = Monotonic.now_ns() + AHEAD_NS + u64::from(all) * PERIOD_NS + PATIENCE_NS;
    let mut tally = Tally::new();
    while !is_over.load(Acquire) && tally.urgent < all {
        let now_ns = Monotonic.now_ns();
        ensure!(now_ns < due_ns, "a real-time broadcast was lost");
        app.wait_until(Class::Ordinary, now_ns + LOOK_NS);
        loop {
            let heard = app.fetch(Class::Ordinary)?;
            if heard.is_empty() {
                break;
            }
            heard.iter().try_for_each(|it| tally.hear(it))?;
            let is_stray = fetcher.is_some() && tally.urgent > 0;
            ensure!(!is_stray, "an ordinary thread got an urgent broadcast");
        }
    }
    if let Some(fetcher) = fetcher {
        let other = fetcher.join()?;
        (tally.times, tally.urgent) = (other.times, other.urgent);
        tally.at_other_priority = other.at_other_priority;
    }
    let at = |quantile| tally.times.histogram().value_at_quantile(quantile);
    say(&Said::Times(Times {
        count: tally.times.histogram().len(),
        p50_ns: at(0.5),
        p99_ns: at(0.99),
        max_ns: tally.times.max_ns(),
        ordinary: tally.ordinary,
        at_other_priority: tally.at_other_priority,
    }))
}

/// The receiver's real-time thread. Each receiver runs at its broadcast's priority.
fn fetch_urgent(
    app: &Arc<App>,
    own: Priority,
    all: u32,
    is_over: &Arc<AtomicBool>,
) -> Result<Thread<Result<Tally>>> {
    let (app, is_over) = (Arc::clone(app), Arc::clone(is_over));
    let body = move || {
        let mut tally = Tally::new();
        while tally.urgent < all {
            app.wait_until(Class::Urgent, u64::MAX);
            while let Some(heard) = app.fetch(Class::Urgent)?.first() {
                let priority = Priority::new(heard.priority).context("an urgent one")?;
                let _inherited = Policy::Fifo(priority).enter()?;
                tally.hear(heard)?;
            }
        }
        is_over.store(true, Release);
        Ok(tally)
    };
    let builder = Builder::new("urgent").policy(Policy::Fifo(own));
    builder
        .spawn(body)
        .context("takt doctor tells how to get the right")
}

/// Receives whatever comes, and registers again and again for what stays.
fn hear_races(app: &Arc<App>, urgent: Option<Priority>) -> Result<()> {
    app.register(NEWS_EAR, NEWS)?;
    if let Some(own) = urgent {
        let urgent = Arc::clone(app);
        let body = move || -> Result<()> {
            loop {
                urgent.wait_until(Class::Urgent, u64::MAX);
                while take(&urgent, Class::Urgent)? {}
            }
        };
        let builder = Builder::new("urgent").policy(Policy::Fifo(own));
        builder.spawn(body)?;
    }
    say(&Said::Ready)?;
    loop {
        let next_ns = Monotonic.now_ns() + LOOK_NS;
        app.unregister(STATE_EAR)?;
        app.register(STATE_EAR, STATE)?;
        while Monotonic.now_ns() < next_ns {
            app.wait_until(Class::Ordinary, next_ns);
            while take(app, Class::Ordinary)? {}
        }
    }
}

/// Fetches some, and is done with them; false if nothing was there.
fn take(app: &App, class: Class) -> Result<bool> {
    let heard = app.fetch(class)?;
    for it in &heard {
        if let Some(ordered) = it.ordered {
            app.received(ordered)?;
        }
    }
    Ok(!heard.is_empty())
}

/// Ordinary senders, all at the same time.
fn crowd(app: &Arc<App>, plan: &Plan) -> Result<()> {
    let begin_ns = (Monotonic.now_ns() + AHEAD_NS / 2).next_multiple_of(CROWD_NS);
    for index in 0..plan.senders {
        let app = Arc::clone(app);
        let is_storm = plan.is_storm;
        let body = move || -> Result<()> {
            let mut due_ns = begin_ns;
            let sending = Sending {
                action: NEWS.to_owned(),
                text: "ordinary".to_owned(),
                ..Sending::default()
            };
            loop {
                Monotonic.sleep_until(due_ns);
                app.send(&sending)?;
                if !is_storm {
                    due_ns += CROWD_NS;
                }
            }
        };
        Builder::new(format!("crowd/{index}"))
            .policy(Policy::ordinary())
            .spawn(body)?;
    }
    Ok(())
}

/// The real-time sender.
fn send(app: &Arc<App>, plan: &Plan) -> Result<()> {
    let app = Arc::clone(app);
    let is_foreground = plan.is_foreground;
    let count = WARM_UP + plan.count;
    let begin_ns = (Monotonic.now_ns() + AHEAD_NS).next_multiple_of(CROWD_NS);
    let body = move || -> Result<()> {
        for round in 0..u64::from(count) {
            Monotonic.sleep_until(begin_ns + round * PERIOD_NS);
            app.send(&Sending {
                action: NEWS.to_owned(),
                text: format!("urgent:{}", Monotonic.now_ns()),
                is_foreground,
                ..Sending::default()
            })?;
        }
        Ok(())
    };
    let builder = Builder::new("sender").policy(Policy::Fifo(SENDER));
    let thread = builder.spawn(body);
    let thread = thread.context("takt doctor tells how to get the right")?;
    thread.join()?;
    say(&Said::Sent { refused: 0 })
}

/// Ten real-time senders at once; each broadcast has a priority of its own, and is ordered, sticky
/// or neither.
fn race(app: &Arc<App>, plan: &Plan) -> Result<()> {
    let refused = Arc::new(AtomicU64::new(0));
    let begin_ns = (Monotonic.now_ns() + AHEAD_NS).next_multiple_of(CROWD_NS);
    let mut threads = Vec::new();
    for index in 0..RACERS {
        let (app, refused, count) = (Arc::clone(app), Arc::clone(&refused), plan.count);
        let mut random = fastrand::Rng::with_seed(plan.seed << 8 | index);
        let body = move || {
            for round in 0..u64::from(count) {
                let kind = random.u8(..3);
                let sending = Sending {
                    action: if kind == 1 { STATE } else { NEWS }.to_owned(),
                    text: index.to_string(),
                    is_sticky: kind == 1,
                    is_ordered: kind == 2,
                    priority: Some(random.u8(..100)),
                    ..Sending::default()
                };
                Monotonic.sleep_until(begin_ns + round * RACE_NS);
                // Ordered ones of one user are bounded.
                if app.send(&sending).is_err() {
                    refused.fetch_add(1, Relaxed);
                }
            }
        };
        let builder = Builder::new(format!("racer/{index}")).policy(Policy::Fifo(RACER));
        let thread = builder.spawn(body);
        threads.push(thread.context("takt doctor tells how to get the right")?);
    }
    threads.into_iter().for_each(Thread::join);
    say(&Said::Sent {
        refused: refused.load(Relaxed),
    })
}
