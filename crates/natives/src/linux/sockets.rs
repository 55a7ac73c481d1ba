// SPDX-License-Identifier: Apache-2.0
//! libcore.io.Linux: connections. Addresses are those of the internet and of Linux's own sockets;
//! others say by name that they are not there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use jni_sys::{jint, jobject, jobjectArray, jshort, jvalue};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, Shutdown, SocketAddrAny, SocketAddrUnix,
    SocketFlags, SocketType,
};

use super::descriptors::{Closed, given, number, with, with_waiting, wrapped};
use super::transfer::Place;
use crate::asynchronous_close::{self, Waiting};
use crate::env::Env;
use crate::system_clock::now_ns;

const INET: &str = "java/net/InetSocketAddress";
const UNIX: &str = "android/system/UnixSocketAddress";
const NANOS_PER_MILLI: i64 = 1_000_000;

/// Flags stand among the bits of the kind, as in C.
#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_socket(
    env: Env,
    _: jobject,
    family: jint,
    kind: jint,
    protocol: jint,
) -> jobject {
    let flags = SocketFlags::from_bits_truncate(kind.cast_unsigned());
    let kind = SocketType::from_raw(kind.cast_unsigned() & !flags.bits());
    let family = AddressFamily::from_raw(family as u16);
    let protocol = core::num::NonZeroU32::new(protocol.cast_unsigned()).map(Protocol::from_raw);
    let made = rustix::net::socket_with(family, kind, flags, protocol);
    wrapped(env, given(env, "socket", made))
}

/// An address of the internet, in the form that a socket takes: one for IPv6 has those of IPv4
/// inside its own.
fn internet(env: Env, socket: jobject, address: jobject, port: jint) -> Option<SocketAddrAny> {
    if address.is_null() {
        env.throw("java/lang/NullPointerException", "no address");
        return None;
    }
    let array = env.call_object(address, c"getAddress", c"()[B");
    let bytes = env.bytes(array, 0, env.array_length(array))?;
    let ip = match <[u8; 4]>::try_from(bytes.as_slice()) {
        Ok(bytes) => IpAddr::V4(Ipv4Addr::from(bytes)),
        Err(_) => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes.as_slice()).ok()?)),
    };
    let port = port as u16;
    let family = with(env, "getsockopt", socket, |it| {
        rustix::net::sockopt::socket_domain(it)
    })?;
    Some(match ip {
        IpAddr::V4(ip) if family == AddressFamily::INET6 => {
            SocketAddr::from((ip.to_ipv6_mapped(), port)).into()
        }
        IpAddr::V4(ip) => SocketAddr::from((ip, port)).into(),
        IpAddr::V6(ip) => {
            let scope = env.call_int(address, c"getScopeId").cast_unsigned();
            SocketAddrV6::new(ip, port, 0, scope).into()
        }
    })
}

/// Any address that a socket takes; none, and an exception is pending, for one that it does not.
fn address(env: Env, socket: jobject, of: jobject) -> Option<SocketAddrAny> {
    if env.is_instance(of, INET) {
        let ip = env.call_object(of, c"getAddress", c"()Ljava/net/InetAddress;");
        return internet(env, socket, ip, env.call_int(of, c"getPort"));
    }
    if !env.is_instance(of, UNIX) {
        env.throw_unsupported(
            "libcore.io.Linux with an address but InetSocketAddress and UnixSocketAddress",
        );
        return None;
    }
    let array = env.call_object(of, c"getSunPath", c"()[B");
    let path = env.bytes(array, 0, env.array_length(array))?;
    let made = match path.as_slice() {
        [] => Ok(SocketAddrUnix::new_unnamed()),
        [0, name @ ..] => SocketAddrUnix::new_abstract_name(name),
        path => SocketAddrUnix::new(path.strip_suffix(b"\0").unwrap_or(path)),
    };
    given(env, "sockaddr_un", made).map(SocketAddrAny::from)
}

/// Java's InetAddress.
fn inet(env: Env, of: &SocketAddr) -> jobject {
    // Java has those of IPv4 inside IPv6 as what they are.
    let bytes = match of.ip().to_canonical() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let array = jvalue {
        l: env.byte_array(&bytes),
    };
    match of {
        SocketAddr::V6(of) if of.scope_id() != 0 => {
            let host = jvalue {
                l: core::ptr::null_mut(),
            };
            let scope = jvalue {
                i: of.scope_id().cast_signed(),
            };
            let signature = c"(Ljava/lang/String;[BI)Ljava/net/Inet6Address;";
            let class = "java/net/Inet6Address";
            env.call_static(class, c"getByAddress", signature, &[host, array, scope])
        }
        _ => {
            let signature = c"([B)Ljava/net/InetAddress;";
            env.call_static("java/net/InetAddress", c"getByAddress", signature, &[array])
        }
    }
}

/// A new SocketAddress of Java's.
fn wrapped_address(env: Env, of: SocketAddrAny) -> jobject {
    if let Ok(of) = SocketAddr::try_from(of.clone()) {
        let arguments = [
            jvalue { l: inet(env, &of) },
            jvalue {
                i: of.port().into(),
            },
        ];
        return env.new_object_with(INET, c"(Ljava/net/InetAddress;I)V", &arguments);
    }
    if let Ok(of) = SocketAddrUnix::try_from(of) {
        let path = match (of.abstract_name(), of.path_bytes()) {
            (Some(name), _) => [b"\0", name].concat(),
            (_, Some(path)) => path.to_vec(),
            _ => Vec::new(),
        };
        let array = jvalue {
            l: env.byte_array(&path),
        };
        return env.new_object_with(UNIX, c"([B)V", &[array]);
    }
    env.throw_unsupported("libcore.io.Linux with an address of another kind");
    core::ptr::null_mut()
}

/// Makes an InetSocketAddress of Java's say another address: its part that libcore writes as well.
fn fill_in(env: Env, out: jobject, of: Option<SocketAddrAny>) {
    let Some(of) = of.filter(|_| env.is_instance(out, INET)) else {
        return;
    };
    if let Ok(of) = SocketAddr::try_from(of) {
        let class = c"Ljava/net/InetSocketAddress$InetSocketAddressHolder;";
        let holder = env.object_field(out, c"holder", class);
        let address = inet(env, &of);
        env.set_object_field(holder, c"addr", c"Ljava/net/InetAddress;", address);
        env.set_int_fields(holder, &[(c"port", of.port().into())]);
    }
}

/// `call` with a socket and an address of the internet.
fn with_internet(
    env: Env,
    name: &str,
    socket: jobject,
    to: (jobject, jint),
    call: impl Fn(std::os::fd::BorrowedFd<'_>, &SocketAddrAny) -> Result<(), Errno>,
) {
    if let Some(address) = internet(env, socket, to.0, to.1) {
        with_waiting(env, name, socket, Closed::Socket, |it| call(it, &address));
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_bind__Ljava_io_FileDescriptor_2Ljava_net_InetAddress_2I(
    env: Env,
    _: jobject,
    socket: jobject,
    ip: jobject,
    port: jint,
) {
    with_internet(env, "bind", socket, (ip, port), |it, at| {
        rustix::net::bind(it, at)
    });
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_bind__Ljava_io_FileDescriptor_2Ljava_net_SocketAddress_2(
    env: Env,
    _: jobject,
    socket: jobject,
    at: jobject,
) {
    if let Some(at) = address(env, socket, at) {
        with(env, "bind", socket, |it| rustix::net::bind(it, &at));
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_connect__Ljava_io_FileDescriptor_2Ljava_net_InetAddress_2I(
    env: Env,
    _: jobject,
    socket: jobject,
    ip: jobject,
    port: jint,
) {
    with_internet(env, "connect", socket, (ip, port), |it, to| {
        rustix::net::connect(it, to)
    });
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_connect__Ljava_io_FileDescriptor_2Ljava_net_SocketAddress_2(
    env: Env,
    _: jobject,
    socket: jobject,
    to: jobject,
) {
    if let Some(to) = address(env, socket, to) {
        with_waiting(env, "connect", socket, Closed::Socket, |it| {
            rustix::net::connect(it, &to)
        });
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_listen(
    env: Env,
    _: jobject,
    socket: jobject,
    backlog: jint,
) {
    with(env, "listen", socket, |it| rustix::net::listen(it, backlog));
}

/// Fills in who has come, if that is asked for.
#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_accept(
    env: Env,
    _: jobject,
    socket: jobject,
    peer: jobject,
) -> jobject {
    let come = with_waiting(env, "accept", socket, Closed::Socket, |it| {
        rustix::net::acceptfrom_with(it, SocketFlags::CLOEXEC)
    });
    let Some((fd, from)) = come else {
        return core::ptr::null_mut();
    };
    fill_in(env, peer, from);
    wrapped(env, Some(fd))
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_getsockname(
    env: Env,
    _: jobject,
    socket: jobject,
) -> jobject {
    let own = with(env, "getsockname", socket, |it| {
        rustix::net::getsockname(it)
    });
    own.map_or(core::ptr::null_mut(), |it| wrapped_address(env, it))
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_getpeername(
    env: Env,
    _: jobject,
    socket: jobject,
) -> jobject {
    let peer = with(env, "getpeername", socket, |it| {
        rustix::net::getpeername(it)
    });
    let unnamed = || SocketAddrUnix::new_unnamed().into();
    peer.map_or(core::ptr::null_mut(), |it| {
        wrapped_address(env, it.unwrap_or_else(unnamed))
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_shutdown(
    env: Env,
    _: jobject,
    socket: jobject,
    how: jint,
) {
    let how = match how {
        libc::SHUT_RD => Shutdown::Read,
        libc::SHUT_WR => Shutdown::Write,
        libc::SHUT_RDWR => Shutdown::Both,
        _ => {
            env.throw_errno_of("shutdown", Errno::INVAL.raw_os_error());
            return;
        }
    };
    with(env, "shutdown", socket, |it| rustix::net::shutdown(it, how));
}

/// Sends; without an address, to who is connected.
fn send(env: Env, socket: jobject, place: Place, flags: jint, to: Option<SocketAddrAny>) -> jint {
    // A peer that has gone is an error, not the end of the process.
    let flags = SendFlags::from_bits_retain(flags.cast_unsigned()) | SendFlags::NOSIGNAL;
    let sent = place.take(env, |bytes| {
        with_waiting(env, "sendto", socket, Closed::Socket, |it| match &to {
            Some(to) => rustix::net::sendto(it, bytes, flags, to),
            None => rustix::net::send(it, bytes, flags),
        })
    });
    sent.map_or(-1, |it| it as jint)
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_sendtoBytes__Ljava_io_FileDescriptor_2Ljava_lang_Object_2IIILjava_net_InetAddress_2I(
    env: Env,
    _: jobject,
    socket: jobject,
    array: jobject,
    offset: jint,
    count: jint,
    flags: jint,
    ip: jobject,
    port: jint,
) -> jint {
    let to = if ip.is_null() {
        None
    } else {
        let Some(to) = internet(env, socket, ip, port) else {
            return -1;
        };
        Some(to)
    };
    let place = Place {
        array,
        offset,
        count,
    };
    send(env, socket, place, flags, to)
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_sendtoBytes__Ljava_io_FileDescriptor_2Ljava_lang_Object_2IIILjava_net_SocketAddress_2(
    env: Env,
    _: jobject,
    socket: jobject,
    array: jobject,
    offset: jint,
    count: jint,
    flags: jint,
    to: jobject,
) -> jint {
    let Some(to) = address(env, socket, to) else {
        return -1;
    };
    let place = Place {
        array,
        offset,
        count,
    };
    send(env, socket, place, flags, Some(to))
}

/// Fills in who has sent it, if that is asked for.
#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_recvfromBytes(
    env: Env,
    _: jobject,
    socket: jobject,
    array: jobject,
    offset: jint,
    count: jint,
    flags: jint,
    from: jobject,
) -> jint {
    let place = Place {
        array,
        offset,
        count,
    };
    let flags = RecvFlags::from_bits_retain(flags.cast_unsigned());
    let mut sender = None;
    let come = place.fill(env, |bytes| {
        let (count, _, peer) = with_waiting(env, "recvfrom", socket, Closed::Socket, |it| {
            rustix::net::recvfrom(it, &mut *bytes, flags)
        })?;
        sender = peer;
        Some(count)
    });
    if come.is_some() {
        fill_in(env, from, sender);
    }
    come.map_or(-1, |it| it as jint)
}

/// Waits as long as is asked for, and for ever if that is negative; entries without a descriptor
/// are passed over.
#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_poll(
    env: Env,
    _: jobject,
    entries: jobjectArray,
    timeout_millis: jint,
) -> jint {
    let entries = env.objects(entries);
    let descriptor = |it| env.object_field(it, c"fd", c"Ljava/io/FileDescriptor;");
    let mut polled: Vec<libc::pollfd> = entries
        .iter()
        .map(|it| libc::pollfd {
            fd: if it.is_null() {
                -1
            } else {
                number(env, descriptor(*it))
            },
            events: if it.is_null() {
                0
            } else {
                env.short_field(*it, c"events")
            },
            revents: 0,
        })
        .collect();
    let count = poll(&mut polled, timeout_millis);
    if count < 0 {
        env.throw_errno("poll");
        return -1;
    }
    for (entry, polled) in entries.iter().zip(&polled) {
        if !entry.is_null() {
            env.set_short_field(*entry, c"revents", polled.revents as jshort);
        }
    }
    count
}

/// As poll; signals do not end it. Of a descriptor that is closed meanwhile it says so.
fn poll(polled: &mut [libc::pollfd], timeout_millis: jint) -> libc::c_int {
    let _waiting = Waiting::begin(asynchronous_close::ANY);
    let due_ns = now_ns(libc::CLOCK_MONOTONIC) + i64::from(timeout_millis) * NANOS_PER_MILLI;
    let mut left = timeout_millis;
    loop {
        // SAFETY:
        // 1. The slice has as many entries as it says.
        let count = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as u64, left) };
        let error = std::io::Error::last_os_error().raw_os_error();
        if count >= 0 || error != Some(libc::EINTR) {
            return count;
        }
        if timeout_millis > 0 {
            let left_ns = (due_ns - now_ns(libc::CLOCK_MONOTONIC)).max(0);
            left = (left_ns / NANOS_PER_MILLI) as jint;
        }
    }
}

/// What the kernel knows by a level and a number.
struct Setting {
    level: jint,
    name: jint,
}

impl Setting {
    fn set<T: Copy>(&self, env: Env, socket: jobject, value: T) {
        let size = size_of::<T>() as libc::socklen_t;
        let value = (&raw const value).cast();
        // SAFETY:
        // 1. The kernel reads `size` bytes of a value that lives through the call.
        let outcome =
            unsafe { libc::setsockopt(number(env, socket), self.level, self.name, value, size) };
        if outcome != 0 {
            env.throw_errno("setsockopt");
        }
    }

    /// `empty` is what is there if the kernel writes less.
    fn get<T: Copy>(&self, env: Env, socket: jobject, empty: T) -> Option<T> {
        let mut value = empty;
        let mut size = size_of::<T>() as libc::socklen_t;
        let place = (&raw mut value).cast();
        let fd = number(env, socket);
        // SAFETY:
        // 1. The kernel writes at most `size` bytes into a value that lives through the call.
        // 2. `T` is one of the kernel's own types of numbers, for which any bytes are a value.
        let outcome = unsafe { libc::getsockopt(fd, self.level, self.name, place, &raw mut size) };
        if outcome != 0 {
            env.throw_errno("getsockopt");
            return None;
        }
        Some(value)
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_setsockoptInt(
    env: Env,
    _: jobject,
    socket: jobject,
    level: jint,
    name: jint,
    value: jint,
) {
    Setting { level, name }.set(env, socket, value);
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_getsockoptInt(
    env: Env,
    _: jobject,
    socket: jobject,
    level: jint,
    name: jint,
) -> jint {
    let value = Setting { level, name }.get(env, socket, 0);
    value.unwrap_or(-1)
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_setsockoptTimeval(
    env: Env,
    _: jobject,
    socket: jobject,
    level: jint,
    name: jint,
    value: jobject,
) {
    let value = libc::timeval {
        tv_sec: env.long_field(value, c"tv_sec"),
        tv_usec: env.long_field(value, c"tv_usec"),
    };
    Setting { level, name }.set(env, socket, value);
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_getsockoptTimeval(
    env: Env,
    _: jobject,
    socket: jobject,
    level: jint,
    name: jint,
) -> jobject {
    let empty = libc::timeval {
        tv_sec: 0,
        tv_usec: 0,
    };
    let value = Setting { level, name }.get(env, socket, empty);
    value.map_or(core::ptr::null_mut(), |it| {
        let fields = [jvalue { j: it.tv_sec }, jvalue { j: it.tv_usec }];
        env.new_object_with("android/system/StructTimeval", c"(JJ)V", &fields)
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_setsockoptLinger(
    env: Env,
    _: jobject,
    socket: jobject,
    level: jint,
    name: jint,
    value: jobject,
) {
    let value = libc::linger {
        l_onoff: env.int_field(value, c"l_onoff").unwrap_or_default(),
        l_linger: env.int_field(value, c"l_linger").unwrap_or_default(),
    };
    Setting { level, name }.set(env, socket, value);
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_getsockoptLinger(
    env: Env,
    _: jobject,
    socket: jobject,
    level: jint,
    name: jint,
) -> jobject {
    let empty = libc::linger {
        l_onoff: 0,
        l_linger: 0,
    };
    let value = Setting { level, name }.get(env, socket, empty);
    value.map_or(core::ptr::null_mut(), |it| {
        let fields = [jvalue { i: it.l_onoff }, jvalue { i: it.l_linger }];
        env.new_object_with("android/system/StructLinger", c"(II)V", &fields)
    })
}
