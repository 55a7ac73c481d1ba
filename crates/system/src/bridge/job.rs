// SPDX-License-Identifier: Apache-2.0
//! [`Job`]: what one stream of a connection is doing, and what it has said that was not sent yet.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;

use adb::sync::{Request as FileRequest, Requests};
use adb::{Service, shell, sync};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use super::{Common, Order, Receiving, Show};
use crate::client::{Asked, Client, ClientError};
use crate::disk::PACKAGE_BYTES_MAX;
use crate::protocol::{Answer, Request};

/// What was said and not sent: from here on the server's answer waits.
const PENDING_MAX: usize = 64 << 10;
/// Without a word of the server's, or a byte of a package, for so long, a job is over.
pub(super) const ANSWER_NS: u64 = 120_000_000_000;
pub(super) const BYTES_NS: u64 = 30_000_000_000;

/// Exit codes, as the commands of `takt` have them, and a shell's for what it does not know.
const EXIT_REFUSED: u8 = 1;
const EXIT_FAILED: u8 = 2;

const NO_FILES: &str = "takt gives no files and takes none: adb install sends a package";

/// See the module.
pub(super) struct Job {
    form: Form,
    work: Work,
    pending: Vec<u8>,
    /// Bytes of it that were sent.
    sent: usize,
    /// Without anything new until then, it is over.
    pub(super) due_ns: u64,
}

/// How a client reads what is said.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Output alone.
    Plain,
    /// Packets that say what is output and how it ended.
    Packets,
}

enum Work {
    /// The server answers.
    Asked(Asked, Box<dyn Show>),
    /// A package comes.
    Upload(Upload),
    /// Requests for files, all refused.
    Files(Requests),
    /// All is said.
    Over,
}

impl Job {
    /// What a stream was opened to.
    pub(super) fn begin(service: Service, common: &Arc<Common>, now_ns: u64) -> Self {
        let (form, command) = match service {
            Service::Shell(command) | Service::Exec(command) => (Form::Plain, command),
            Service::ShellPackets(command) => (Form::Packets, command),
            Service::Sync => {
                let work = Work::Files(Requests::default());
                return Self::new(Form::Plain, work, now_ns);
            }
        };
        let mut job = Self::new(form, Work::Over, now_ns);
        match common.words.order(&command) {
            Order::Ask(request, show) => {
                job.ask(common, &request, None, show);
                job.due_ns = now_ns + ANSWER_NS;
            }
            Order::Install(_, outcome) if form == Form::Packets => {
                let why = outcome.err();
                job.complain(
                    why.as_deref()
                        .unwrap_or("a package comes by `adb install`\n"),
                );
                job.end(EXIT_FAILED);
            }
            Order::Install(bytes, outcome) => {
                job.work = Work::Upload(Upload::begin(bytes, outcome, common));
                job.receive(&[], common, now_ns);
            }
            Order::Say(text, 0) => {
                job.say(&text);
                job.end(0);
            }
            Order::Say(text, code) => {
                job.complain(&text);
                job.end(code);
            }
        }
        job
    }

    fn new(form: Form, work: Work, now_ns: u64) -> Self {
        Self {
            form,
            work,
            pending: Vec::new(),
            sent: 0,
            due_ns: now_ns + BYTES_NS,
        }
    }

    /// What is not sent yet.
    pub(super) fn pending(&self) -> &[u8] {
        &self.pending[self.sent..]
    }

    /// So many bytes of that were sent.
    pub(super) fn sent(&mut self, count: usize, now_ns: u64) {
        self.sent += count;
        if self.sent == self.pending.len() {
            self.pending.clear();
            self.sent = 0;
        }
        if self.is_over() && count > 0 {
            self.due_ns = now_ns + BYTES_NS;
        }
    }

    /// Whether nothing more will be said.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.work, Work::Over)
    }

    /// What is to be heard of, while there is room for what comes.
    pub(super) fn hears(&self) -> Option<BorrowedFd<'_>> {
        self.asks().filter(|_| self.pending.len() < PENDING_MAX)
    }

    /// The same, whether there is room or not.
    pub(super) fn asks(&self) -> Option<BorrowedFd<'_>> {
        match &self.work {
            Work::Asked(asked, _) => Some(asked.as_fd()),
            _ => None,
        }
    }

    /// The server has said something.
    pub(super) fn hear(&mut self, now_ns: u64) {
        let Work::Asked(asked, show) = &mut self.work else {
            return;
        };
        let answer = match asked.try_next() {
            Ok(None) => return,
            Ok(Some(answer)) => answer,
            Err(error) => return self.fail(&error),
        };
        self.due_ns = now_ns + ANSWER_NS;
        match answer {
            Answer::Quiet => {}
            Answer::Done(text) => {
                let text = show.end(&text);
                self.say(&text);
                self.end(0);
            }
            Answer::Refused(text) => {
                self.complain(&format!("refused: {text}\n"));
                self.end(EXIT_REFUSED);
            }
            part => {
                let text = show.part(part);
                self.say(&text);
            }
        }
    }

    /// The client has written something.
    pub(super) fn receive(&mut self, bytes: &[u8], common: &Arc<Common>, now_ns: u64) {
        match &mut self.work {
            // No command reads what is typed.
            Work::Asked(..) | Work::Over => {}
            Work::Files(requests) => {
                let outcome = answer_files(requests, bytes, &mut self.pending);
                self.due_ns = now_ns + BYTES_NS;
                if outcome.is_break() || self.pending.len() > PENDING_MAX {
                    self.work = Work::Over;
                }
            }
            Work::Upload(upload) => {
                upload.take(bytes);
                self.due_ns = now_ns + BYTES_NS;
                if upload.left == 0
                    && let Work::Upload(upload) = std::mem::replace(&mut self.work, Work::Over)
                {
                    self.install(upload, common, now_ns);
                }
            }
        }
    }

    /// Nothing came in time.
    pub(super) fn give_up(&mut self, now_ns: u64) {
        self.complain("nothing came for too long\n");
        self.end(EXIT_FAILED);
        self.due_ns = now_ns + BYTES_NS;
    }

    fn install(&mut self, upload: Upload, common: &Arc<Common>, now_ns: u64) {
        match upload.seal() {
            Ok((file, receiving)) => {
                let show = Box::new(Installed(receiving));
                self.ask(
                    common,
                    &Request::Install { is_forced: false },
                    Some(file.as_fd()),
                    show,
                );
                self.due_ns = now_ns + ANSWER_NS;
            }
            Err(text) => {
                self.complain(&format!("{text}\n"));
                self.end(EXIT_REFUSED);
            }
        }
    }

    fn ask(
        &mut self,
        common: &Common,
        request: &Request,
        file: Option<BorrowedFd<'_>>,
        show: Box<dyn Show>,
    ) {
        let asked = Client::connect(&common.socket).and_then(|it| it.begin(request, file));
        match asked {
            Ok(asked) => self.work = Work::Asked(asked, show),
            Err(error) => self.fail(&error),
        }
    }

    fn fail(&mut self, error: &ClientError) {
        self.complain(&format!("{error}\n"));
        self.end(EXIT_FAILED);
    }

    fn say(&mut self, text: &str) {
        match self.form {
            Form::Plain => self.pending.extend_from_slice(text.as_bytes()),
            Form::Packets if text.is_empty() => {}
            Form::Packets => shell::output(text.as_bytes(), &mut self.pending),
        }
    }

    /// Where there is one output alone, `adb install` reads it: `Failure [why]`.
    fn complain(&mut self, text: &str) {
        match self.form {
            Form::Packets => shell::complaint(text.as_bytes(), &mut self.pending),
            Form::Plain => {
                let text = format!("Failure [{}]\n", text.trim_end());
                self.pending.extend_from_slice(text.as_bytes());
            }
        }
    }

    fn end(&mut self, code: u8) {
        if self.form == Form::Packets {
            shell::exit(code, &mut self.pending);
        }
        self.work = Work::Over;
    }
}

/// Says of each path that nothing is there, and refuses all else.
fn answer_files(
    requests: &mut Requests,
    mut bytes: &[u8],
    out: &mut Vec<u8>,
) -> std::ops::ControlFlow<()> {
    loop {
        match requests.take(&mut bytes) {
            Ok(None) => return std::ops::ControlFlow::Continue(()),
            Ok(Some(FileRequest::Stat)) => sync::nothing_there(out),
            Ok(Some(FileRequest::Files)) => {
                sync::fail(NO_FILES, out);
                return std::ops::ControlFlow::Break(());
            }
            Ok(Some(FileRequest::Quit)) | Err(_) => return std::ops::ControlFlow::Break(()),
        }
    }
}

/// A package that is coming, in memory that the server will take as it is.
struct Upload {
    file: Result<(File, Receiving), String>,
    left: u64,
}

impl Upload {
    fn begin(bytes: u64, outcome: Result<(), String>, common: &Arc<Common>) -> Self {
        let begin = || {
            outcome?;
            if bytes > PACKAGE_BYTES_MAX {
                return Err(format!("more than {PACKAGE_BYTES_MAX} bytes"));
            }
            let receiving = Receiving::take(common);
            let receiving = receiving.ok_or("another package is being sent: try again")?;
            Ok((memory()?, receiving))
        };
        // One that is refused is read to its end all the same: adb hears nothing before.
        Self {
            file: begin(),
            left: bytes,
        }
    }

    /// What is beyond the end is nobody's.
    fn take(&mut self, bytes: &[u8]) {
        let count = usize::try_from(self.left).map_or(bytes.len(), |it| it.min(bytes.len()));
        self.left -= count as u64;
        if let Ok((file, _)) = &mut self.file
            && let Err(error) = file.write_all(&bytes[..count])
        {
            self.file = Err(format!("it cannot be kept in memory: {error}"));
        }
    }

    /// The package, which nobody can change any more.
    fn seal(self) -> Result<(OwnedFd, Receiving), String> {
        let (file, receiving) = self.file?;
        let all = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        fcntl_add_seals(&file, all).map_err(|it| it.to_string())?;
        Ok((file.into(), receiving))
    }
}

fn memory() -> Result<File, String> {
    let flags = MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC;
    // Kernels before 6.3 do not know the flag, later ones may be set up to insist on it.
    let fd = memfd_create("package.apk", flags | MemfdFlags::NOEXEC_SEAL)
        .or_else(|_| memfd_create("package.apk", flags));
    let fd = fd.map_err(|it| format!("it cannot be kept in memory: {it}"))?;
    Ok(File::from(fd))
}

/// `adb install` looks for this word.
struct Installed(
    #[expect(dead_code, reason = "the next package may come when this one is in")] Receiving,
);

impl Show for Installed {
    fn part(&mut self, _: Answer) -> String {
        String::new()
    }

    fn end(&mut self, _: &str) -> String {
        "Success\n".to_owned()
    }
}
