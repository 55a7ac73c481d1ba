// SPDX-License-Identifier: Apache-2.0
//! [`user_of`]: whose the other end of a connection is, by the kernel's table of sockets.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;

const TABLE: &str = "/proc/self/net/tcp";
/// Lines that are read: more sockets than a machine's programs have. Who fills the table further
/// keeps clients out, and lets nobody in.
const LINES_MAX: usize = 1 << 16;
/// The kernel's word for a connection that neither end has closed.
const ESTABLISHED: &str = "01";
/// A socket that no process holds any more: the kernel says user 0 for it.
const NOBODYS: &str = "0";

/// The user of the socket at `from` that is connected to `to`; none if the kernel has none, or it
/// is closed already.
pub(super) fn user_of(from: SocketAddr, to: SocketAddr) -> Option<u32> {
    let (from, to) = (form(from)?, form(to)?);
    let table = BufReader::new(File::open(TABLE).ok()?);
    let lines = table.lines().map_while(Result::ok).take(LINES_MAX);
    lines.into_iter().find_map(|it| user(&it, &from, &to))
}

/// As the table has it: the address as a number of this machine, and the port.
fn form(address: SocketAddr) -> Option<String> {
    let SocketAddr::V4(address) = address else {
        return None;
    };
    let number = u32::from_ne_bytes(address.ip().octets());
    Some(format!("{number:08X}:{:04X}", address.port()))
}

/// `sl local remote state queues timer retransmits user timeout inode …`
fn user(line: &str, from: &str, to: &str) -> Option<u32> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let is_it = words.next() == Some(from) && words.next() == Some(to);
    if !is_it || words.next() != Some(ESTABLISHED) {
        return None;
    }
    let mut words = words.skip(3);
    let (user, inode) = (words.next()?, words.nth(1)?);
    (inode != NOBODYS).then(|| user.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_kernel_says_whose_a_connection_is() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let client = TcpStream::connect(to).unwrap();
        let (_socket, from) = listener.accept().unwrap();
        assert_eq!(from, client.local_addr().unwrap());
        assert_eq!(user_of(from, to), Some(rt::process::uid()));
        // One that has gone is root's by the table, and nobody's here.
        drop(client);
        assert_eq!(user_of(from, to), None);
        assert_eq!(user_of("127.0.0.1:1".parse().unwrap(), to), None);
    }

    #[test]
    fn a_line_has_its_user_where_the_kernel_writes_it() {
        let line = "  10: 0100007F:A1B2 0100007F:15B3 01 00000000:00000000 00:00000000 00000000  \
                    1000        0 123 1 0000000000000000 20 4 0 10 -1";
        let (from, to) = ("0100007F:A1B2", "0100007F:15B3");
        assert_eq!(user(line, from, to), Some(1000));
        assert_eq!(user(line, to, from), None);
        assert_eq!(user(&line.replace(" 01 ", " 06 "), from, to), None);
        assert_eq!(user(&line.replace(" 123 ", " 0 "), from, to), None);
        assert_eq!(user(&line[..80], from, to), None);
        let address = "127.0.0.1:5555".parse().unwrap();
        assert_eq!(form(address).unwrap(), to);
    }
}
