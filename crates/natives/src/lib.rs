// SPDX-License-Identifier: Apache-2.0
//! Native methods of `android.*`, `dalvik.*` and `libcore.*`, through JNI alone, so that they run
//! on any JVM.
//!
//! The classes come from AOSP as they are; this library is what they call. One file per Java class,
//! exported under JNI's own names: a class whose natives are missing here gets UnsatisfiedLinkError
//! with the method's name. [`env`] speaks to the JVM for all files but one: [`host_library`] brings
//! in AOSP's own library for graphics, resources and SQLite.

mod alarms;
mod apk_assets;
mod asynchronous_close;
mod audio;
mod binder;
mod camera;
mod debug;
mod env;
mod event_log;
mod file_observer;
mod handle;
mod host_library;
mod hosted;
mod ignored;
mod interrupt;
mod libcore;
mod linux;
mod log;
mod memory_info;
mod message_queue;
mod native_memory;
mod network;
mod os_constants;
mod parcel;
mod performance_hint;
mod process;
mod realtime_thread;
mod screen;
mod shared_memory;
mod system_clock;
mod system_properties;
mod template;
mod trace;
mod urgent_steps;
mod vm_runtime;
