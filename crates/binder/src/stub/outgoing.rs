// SPDX-License-Identifier: Apache-2.0
//! [`Outgoing`]: a call of a proxy, from its token to the last value of its answer.

use super::exception::{Answer, Exception};
use super::value::{Read, Write};
use super::write_token;
use crate::{Binder, CallError, Parcel};

/// See the module.
pub struct Outgoing {
    data: Parcel,
    reply: Parcel,
}

impl Outgoing {
    /// A call to an interface of this name.
    pub fn new(descriptor: &str) -> Answer<Self> {
        let mut data = Parcel::new();
        write_token(&mut data, descriptor)?;
        Ok(Self {
            data,
            reply: Parcel::new(),
        })
    }

    /// The next argument.
    pub fn write(&mut self, value: &(impl Write + ?Sized)) -> Answer<()> {
        Ok(value.write(&mut self.data)?)
    }

    /// Of an array that comes back its length alone.
    pub fn write_length(&mut self, count: usize) -> Answer<()> {
        let count = i32::try_from(count).map_err(|_| CallError::TooLarge)?;
        Ok(count.write(&mut self.data)?)
    }

    /// Calls and waits; an exception ends it.
    pub fn call(&mut self, binder: &Binder, code: u32) -> Answer<()> {
        binder.transact(code, &mut self.data, &mut self.reply, None)?;
        Exception::check(&mut self.reply)
    }

    /// Calls and does not wait.
    pub fn send(&self, binder: &Binder, code: u32) -> Answer<()> {
        Ok(binder.send(code, &self.data)?)
    }

    /// The next value of the answer.
    pub fn read<T: Read>(&mut self) -> Answer<T> {
        Ok(T::read(&mut self.reply)?)
    }

    /// An array that comes back has the length that it had.
    pub fn read_array<T>(&mut self, into: &mut Vec<T>) -> Answer<()>
    where
        Vec<T>: Read,
    {
        let back: Vec<T> = self.read()?;
        if back.len() != into.len() {
            return Err(CallError::BadParcel.into());
        }
        *into = back;
        Ok(())
    }

    /// A parcelable that comes back stays what it was if null comes.
    pub fn read_into<T>(&mut self, into: &mut T) -> Answer<()>
    where
        Option<T>: Read,
    {
        if let Some(back) = self.read()? {
            *into = back;
        }
        Ok(())
    }
}
