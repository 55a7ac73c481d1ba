// SPDX-License-Identifier: Apache-2.0
//! How a process begins to use the kernel's driver, and ends.

use std::path::PathBuf;
use std::sync::Arc;

use parcel::flags;
use rt::driver::{Driver, DriverError};
use rt::policy::Policy;
use rt::sync::PiMutex;
use rt::sys::Errno;
use rt::thread::{Builder, SpawnError, Thread};

use super::talk::{End, Kernel, MANAGER, look_after};
use crate::Parcel;
use crate::binder::Binder;
use crate::error::CallError;
use crate::link::{Goal, Link, Transport};
use crate::node::codes;
use crate::process::Process;
use crate::serving::Caller;

/// Bytes of arriving calls that are not read yet, as on Android: a megabyte less two pages.
const BUFFER_BYTES: usize = (1 << 20) - 8192;

/// How a process uses the driver.
#[derive(Clone, Debug)]
pub struct DeviceOptions {
    /// The device.
    pub path: PathBuf,
    /// Threads that serve what comes by it.
    pub loopers: usize,
    /// Whether the process's root is what everybody's handle 0 names.
    pub is_manager: bool,
}

impl DeviceOptions {
    /// `/dev/binder`, with two loopers; somebody else is the context manager.
    pub fn new() -> Self {
        Self {
            path: PathBuf::from("/dev/binder"),
            loopers: 2,
            is_manager: false,
        }
    }
}

impl Default for DeviceOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Why a process does not use the driver.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The device does not open.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// There is a context manager already, or the kernel lets this user not be it.
    #[error(
        "cannot be the context manager of {}: {errno}; another process is it, or this user may not",
        device.display()
    )]
    Manager {
        /// Which device.
        device: PathBuf,
        /// What the kernel said.
        errno: Errno,
    },
    /// A thread did not start.
    #[error(transparent)]
    Thread(#[from] SpawnError),
}

/// A process's use of the driver. Ends when it is dropped.
pub struct Device {
    link: Arc<Link>,
    kernel: Arc<Kernel>,
    loopers: Vec<Thread<()>>,
    own_root: Option<Binder>,
}

impl Process {
    /// Joins this process with all that use the same device.
    pub fn attach(&self, options: &DeviceOptions) -> Result<Device, AttachError> {
        let driver = Driver::open(&options.path, BUFFER_BYTES)?;
        let inner = self.inner();
        if options.is_manager {
            let object = flags::ACCEPTS_FDS | flags::INHERIT_RT;
            driver
                .become_manager(object)
                .map_err(|errno| AttachError::Manager {
                    device: options.path.clone(),
                    errno,
                })?;
        }
        // The other end is the kernel; who calls, each call says.
        let link = inner.link(Caller { pid: 0, uid: 0 });
        let kernel = Arc::new(Kernel {
            driver,
            deaths: PiMutex::default(),
        });
        link.set_transport(Box::new(End(Arc::clone(&kernel))));
        inner.enter(Arc::clone(&link));
        let mut device = Device {
            own_root: options.is_manager.then(|| inner.root()).flatten(),
            link,
            kernel,
            loopers: Vec::new(),
        };
        for index in 0..options.loopers {
            let (link, kernel) = (Arc::clone(&device.link), Arc::clone(&device.kernel));
            let builder = Builder::new(format!("{}/driver/{index}", inner.name));
            let builder = builder.policy(Policy::ordinary());
            let looper = builder.spawn(move || look_after(&link, &kernel))?;
            device.loopers.push(looper);
        }
        Ok(device)
    }
}

impl Device {
    /// The context manager's node; this process's root where it is the manager itself.
    pub fn root(&self) -> Result<Binder, CallError> {
        if let Some(own) = &self.own_root {
            return Ok(own.clone());
        }
        // Without a manager there is nothing to hold.
        let (mut data, mut reply) = (Parcel::new(), Parcel::new());
        let link = &self.link;
        End(Arc::clone(&self.kernel)).call(
            link,
            Goal {
                target: MANAGER,
                ..Goal::own(codes::PING)
            },
            &mut data,
            &mut reply,
            None,
        )?;
        Ok(Binder::Remote(link.proxy(MANAGER)))
    }

    /// Ends it: what was given by it is dead everywhere.
    pub fn close(&self) {
        if self.link.die() {
            self.link.bury();
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.close();
        let own = rt::policy::Tid::current();
        for looper in self.loopers.drain(..) {
            // A looper may hold the last reference.
            if looper.tid() != own {
                looper.join();
            }
        }
    }
}
