// SPDX-License-Identifier: Apache-2.0
//! A program of rsbinder's over the kernel's `/dev/binder`, for `crates/binder/tests/peers.rs`,
//! which starts it in the parts below and says what it has to see.
//!
//! - `serve PEER TYPES`: registers services of IPeer and ITypes by these names.
//! - `manage`: its IPeer is what handle 0 names.
//! - `call PEER TYPES`: calls all that these do, and says "called".
//! - `watch PEER`: says "linked" when it watches the service, "told once" when that has died.
//! - `ask PEER`: says "ready"; then `stat` of each number on its standard input.
//!
//! Each ends with its standard input at the latest.

mod called;
mod services;

/// What rsbinder-aidl makes of IPeer.aidl.
mod peer {
    include!(concat!(env!("OUT_DIR"), "/IPeer.rs"));
    pub use takt::test::IPeer::{BnPeer, IPeer};
}

/// What rsbinder-aidl makes of ITypes.aidl.
mod types {
    include!(concat!(env!("OUT_DIR"), "/ITypes.rs"));
    pub use takt::test::Colour::Colour;
    pub use takt::test::ITypes::{BnTypes, ITypes};
    pub use takt::test::Point::Point;
}

use std::io::{BufRead, Read};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use rsbinder::{
    DeathRecipient, FromIBinder, ProcessState, SIBinder, StatusCode, Strong, WIBinder, hub,
};

use peer::IPeer;
use types::ITypes;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Longer than a machine stands still.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> Outcome {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    ProcessState::init_default()?;
    match words[..] {
        ["serve", peer, types] => serve(peer, types),
        ["manage"] => manage(),
        ["call", peer, types] => call(peer, types),
        ["watch", peer] => watch(peer),
        ["ask", peer] => ask(peer),
        _ => Err(format!("no part {words:?}").into()),
    }
}

/// Returns when the standard input ends.
fn await_end() -> Outcome {
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

fn serve(peer: &str, types: &str) -> Outcome {
    ProcessState::start_thread_pool();
    hub::add_service(types, services::types())?;
    hub::add_service(peer, services::peer())?;
    await_end()
}

fn manage() -> Outcome {
    ProcessState::as_self().become_context_manager(services::peer())?;
    ProcessState::start_thread_pool();
    await_end()
}

fn found<T: FromIBinder + ?Sized>(name: &str) -> Result<Strong<T>, StatusCode> {
    hub::check_interface(name)
}

fn call(peer: &str, types: &str) -> Outcome {
    ProcessState::start_thread_pool();
    called::peer(&found::<dyn IPeer>(peer)?)?;
    called::types(&found::<dyn ITypes>(types)?)?;
    println!("called");
    Ok(())
}

/// Passes on that a binder has died.
struct Watcher(Sender<()>);

impl DeathRecipient for Watcher {
    fn binder_died(&self, _: &WIBinder) {
        // A peer that does not listen any more has ended.
        let _ = self.0.send(());
    }
}

fn watch(peer: &str) -> Outcome {
    ProcessState::start_thread_pool();
    let binder: SIBinder = hub::check_service(peer).ok_or("no such name")?;
    let (told, is_told) = channel();
    let watcher: Arc<dyn DeathRecipient> = Arc::new(Watcher(told));
    binder.link_to_death(Arc::downgrade(&watcher))?;
    println!("linked");
    is_told.recv_timeout(PATIENCE)?;
    let peer: Strong<dyn IPeer> = FromIBinder::try_from(binder)?;
    let dead = peer.caller().expect_err("it has died");
    assert_eq!(dead.transaction_error(), StatusCode::DeadObject);
    // A second word would come at once.
    assert!(is_told.recv_timeout(Duration::from_millis(100)).is_err());
    println!("told once");
    await_end()
}

fn ask(peer: &str) -> Outcome {
    let peer = found::<dyn IPeer>(peer)?;
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        println!("{}", peer.stat(line?.parse()?)?);
    }
    Ok(())
}
