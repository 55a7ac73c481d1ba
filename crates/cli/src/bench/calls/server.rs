// SPDX-License-Identifier: Apache-2.0
//! The process B: this program again, with a node that all calls are for. Its threads are ordinary
//! ones; what they run at beyond that is lent to them.

use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};

use anyhow::{Context, Result};
use binder::{
    Binder, Call, CallError, Connection, Device, DeviceOptions, Options, Parcel, Process, Service,
    Side,
};
use rt::clock::{Clock, Monotonic, thread_time_ns};
use rt::memory::{LockScope, ProcessLock};
use rt::policy::{Policy, Tid};
use rt::socket::Socket;

use super::{Transport, bare, codes, filter};

/// How long a process has to begin, and to end.
const PATIENCE_NS: u64 = 20_000_000_000;

/// The process that the experiments call.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(long, value_enum)]
    transport: Transport,
    /// Loopers for everybody
    #[arg(long)]
    loopers: usize,
    /// Loopers for real-time callers alone
    #[arg(long)]
    kept: usize,
    /// No transport at all: a futex that is lent, and a socket
    #[arg(long)]
    bare: bool,
    /// It keeps to a sandbox's filter of system calls
    #[arg(long)]
    filtered: bool,
    /// Its loopers spin for so long before they sleep, and are FIFO threads
    #[arg(long, default_value_t = 0)]
    spin_ns: u64,
    /// The process that called for it
    #[arg(long)]
    parent: u32,
}

/// Serves until its standard input ends.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    rt::process::die_with_parent(args.parent).context("whom to serve has gone")?;
    let _memory = ProcessLock::acquire(LockScope::All)?;
    if args.bare {
        bare::serve(
            std::io::stdin().as_fd().try_clone_to_owned()?,
            args.spin_ns > 0,
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    let process = Process::start(&args.options())?;
    let node = process.add(Served);
    process.set_root(Some(node));
    if args.transport.has_driver() {
        let _device = process.attach(&DeviceOptions {
            loopers: args.loopers + args.kept,
            is_manager: true,
            ..DeviceOptions::new()
        })?;
        // Until A closes it.
        let _ = std::io::stdin().read(&mut [0]);
        return Ok(ExitCode::SUCCESS);
    }
    let socket = std::io::stdin().as_fd().try_clone_to_owned()?;
    let connection = process.connect(socket, Side::Listener, due_ns())?;
    if args.filtered {
        filter::enter_all()?;
    }
    while connection.is_alive() {
        Monotonic.sleep_until(Monotonic.now_ns() + 5_000_000);
    }
    Ok(ExitCode::SUCCESS)
}

fn due_ns() -> u64 {
    Monotonic.now_ns() + PATIENCE_NS
}

/// A thread that spins: else others would have its processor meanwhile. Where that is not granted
/// it is measured as it is.
pub(super) fn begin_urgent() {
    let _ = Policy::fifo(70).apply(Tid::current());
}

impl Args {
    fn options(&self) -> Options {
        let mut options = Options {
            loopers: self.loopers,
            kept: self.kept,
            spin_ns: self.spin_ns,
            ..Options::new("served")
        };
        if self.spin_ns > 0 {
            options.begin = begin_urgent;
        }
        options
    }
}

/// How B is started.
#[derive(Clone, Copy)]
pub(crate) struct Manner {
    pub(crate) transport: Transport,
    /// Loopers for everybody.
    pub(crate) loopers: usize,
    /// Loopers for real-time callers alone.
    pub(crate) kept: usize,
    /// It keeps to a sandbox's filter of system calls.
    pub(crate) is_filtered: bool,
    /// How long each end spins before it sleeps.
    pub(crate) spin_ns: u64,
}

impl Manner {
    /// The usual one.
    pub(crate) fn new(transport: Transport, loopers: usize, kept: usize) -> Self {
        Self {
            transport,
            loopers,
            kept,
            is_filtered: false,
            spin_ns: 0,
        }
    }
}

/// The node.
struct Served;

impl Service for Served {
    fn descriptor(&self) -> &str {
        "takt.bench.IServed"
    }

    fn on_transact(
        &self,
        call: &Call,
        code: u32,
        data: &mut Parcel,
        reply: &mut Parcel,
    ) -> Result<(), CallError> {
        match code {
            codes::TIMESTAMP => {}
            codes::ECHO => return Ok(reply.write_blob(data.read_blob())?),
            codes::COMPUTE => {
                let ns = data.read_i32().ok_or(CallError::BadParcel)?;
                let end_ns = thread_time_ns() + u64::from(ns.unsigned_abs());
                while thread_time_ns() < end_ns {}
                return begun(call, reply);
            }
            codes::BEGUN => return begun(call, reply),
            _ => return Err(CallError::UnknownTransaction),
        }
        Ok(reply.write(&Monotonic.now_ns().to_le_bytes())?)
    }

    fn is_timed(&self, code: u32) -> bool {
        matches!(code, codes::COMPUTE | codes::BEGUN)
    }
}

fn begun(call: &Call, reply: &mut Parcel) -> Result<(), CallError> {
    let begun_ns = call.begun_ns.ok_or(CallError::Failed)?;
    Ok(reply.write(&begun_ns.to_le_bytes())?)
}

/// This program as B.
pub(super) fn command(manner: Manner) -> Result<Command> {
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let mut command = Command::new(own);
    let numbers = [manner.loopers.to_string(), manner.kept.to_string()];
    command.args(["bench", "served", "--transport", manner.transport.name()]);
    command.args(["--loopers", &numbers[0], "--kept", &numbers[1], "--parent"]);
    command.arg(std::process::id().to_string());
    command.args(["--spin-ns", &manner.spin_ns.to_string()]);
    command.args(manner.is_filtered.then_some("--filtered"));
    command.stdout(Stdio::null());
    Ok(command)
}

/// Starts B with a socket; this end of it is closed with the command, or it would never end.
pub(super) fn spawn(mut command: Command, socket: OwnedFd) -> Result<Child> {
    let child = command.stdin(Stdio::from(socket)).spawn();
    child.context("cannot start the process that is called")
}

/// The process B as A has it. Ends with this.
pub(crate) struct Server {
    child: Child,
    /// What tells B over the driver that it is to end.
    input: Option<ChildStdin>,
    connection: Option<Connection>,
    /// A's use of the driver.
    device: Option<Device>,
    /// What is called.
    pub(crate) remote: Binder,
    /// A's own.
    _process: Process,
}

impl Server {
    /// Starts B, and joins this program with it.
    pub(crate) fn start(manner: Manner) -> Result<Self> {
        let command = command(manner)?;
        let process = Process::start(&Options {
            loopers: 1,
            spin_ns: manner.spin_ns,
            ..Options::new("calls")
        })?;
        if manner.transport.has_driver() {
            return Self::start_by_driver(command, process);
        }
        let (near, far) = Socket::pair()?;
        let far: OwnedFd = far.into_fd();
        let mut child = spawn(command, far)?;
        let joined = process.connect(near.into_fd(), Side::Caller, due_ns());
        let joined = joined.inspect_err(|_| drop(child.kill()))?;
        let remote = joined.root()?.context("the process has no root")?;
        Ok(Self {
            child,
            input: None,
            connection: Some(joined),
            device: None,
            remote,
            _process: process,
        })
    }

    fn start_by_driver(mut command: Command, process: Process) -> Result<Self> {
        let child = command.stdin(Stdio::piped()).spawn();
        let mut child = child.context("cannot start the process that is called")?;
        let input = child.stdin.take();
        let joined = process.attach(&DeviceOptions {
            loopers: 1,
            ..DeviceOptions::new()
        });
        let root = joined.map_err(anyhow::Error::from).and_then(|device| {
            let due_ns = due_ns();
            loop {
                match device.root() {
                    Ok(root) => return Ok((device, root)),
                    // B is not the context manager yet.
                    Err(error) if Monotonic.now_ns() > due_ns => return Err(error.into()),
                    Err(_) => Monotonic.sleep_until(Monotonic.now_ns() + 2_000_000),
                }
            }
        });
        let (device, remote) = root.inspect_err(|_| drop(child.kill()))?;
        Ok(Self {
            child,
            input,
            connection: None,
            device: Some(device),
            remote,
            _process: process,
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(connection) = &self.connection {
            connection.close();
        }
        if let Some(device) = &self.device {
            device.close();
        }
        drop(self.input.take());
        let due_ns = due_ns();
        while Monotonic.now_ns() < due_ns {
            match self.child.try_wait() {
                Ok(Some(_)) | Err(_) => return,
                Ok(None) => Monotonic.sleep_until(Monotonic.now_ns() + 1_000_000),
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
