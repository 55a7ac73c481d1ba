// SPDX-License-Identifier: Apache-2.0
//! An interface as a trait, a proxy and a service.

use std::fmt::Write;

use super::names::{field_name, simple, snake};
use super::{Writer, distinct, line, proxy, stub};
use crate::error::Fault;
use crate::model::*;

impl Writer<'_> {
    pub(super) fn interface(&mut self, full: &str, of: &Interface) -> Result<(), Fault> {
        distinct(of.methods.iter().map(|it| (it.span, snake(&it.name))))?;
        let name = simple(full);
        line!(self, "\n/// `{full}`.");
        line!(self, "pub trait {name}: Send + Sync + 'static {{");
        for it in &of.methods {
            let signature = self.signature(it)?;
            let oneway = if it.is_oneway { ": nobody waits" } else { "" };
            line!(self, "    /// Code {}{oneway}.", it.code);
            line!(self, "    {signature};");
        }
        line!(self, "}}");
        self.proxy(full, of)?;
        self.service(name, of)
    }

    fn signature(&self, method: &Method) -> Result<String, Fault> {
        distinct(
            method
                .parameters
                .iter()
                .map(|it| (it.span, field_name(&it.name))),
        )?;
        let mut text = format!("fn {}(&self", field_name(&method.name));
        for it in &method.parameters {
            let of = match it.direction {
                Direction::In => self.borrowed(&it.of)?,
                _ => format!("&mut {}", self.owned(&it.of)?),
            };
            let _ = write!(text, ", {}: {of}", field_name(&it.name));
        }
        let result = method
            .result
            .as_ref()
            .map(|it| self.owned(it))
            .transpose()?;
        let result = result.unwrap_or_else(|| "()".into());
        let _ = write!(text, ") -> ::binder::stub::Answer<{result}>");
        Ok(text)
    }

    fn proxy(&mut self, full: &str, of: &Interface) -> Result<(), Fault> {
        let name = simple(full);
        let proxy = proxy(name);
        line!(
            self,
            "\n/// An implementation of `{full}`, here or in another process."
        );
        line!(self, "#[derive(Clone, Debug)]");
        line!(self, "pub struct {proxy}(pub ::binder::Binder);\n");
        line!(self, "impl {proxy} {{");
        line!(self, "    /// What each call begins with.");
        line!(self, "    pub const DESCRIPTOR: &'static str = {full:?};");
        self.constants(&of.constants)?;
        line!(self, "}}\n");
        line!(self, "impl {name} for {proxy} {{");
        for (index, it) in of.methods.iter().enumerate() {
            if index > 0 {
                line!(self, "");
            }
            self.outgoing(it)?;
        }
        line!(self, "}}\n");
        self.reference(&proxy);
        Ok(())
    }

    /// One call of the proxy.
    fn outgoing(&mut self, method: &Method) -> Result<(), Fault> {
        let signature = self.signature(method)?;
        let does_change = if method.is_oneway && method.parameters.is_empty() {
            ""
        } else {
            "mut "
        };
        line!(self, "    {signature} {{");
        line!(
            self,
            "        let {does_change}aidl = ::binder::stub::Outgoing::new(Self::DESCRIPTOR)?;"
        );
        for it in &method.parameters {
            let name = field_name(&it.name);
            match (it.direction, it.of.form) {
                (Direction::In, _) => line!(self, "        aidl.write(&{name})?;"),
                (Direction::InOut, _) => line!(self, "        aidl.write(&*{name})?;"),
                (Direction::Out, Form::Array) => {
                    line!(self, "        aidl.write_length({name}.len())?;");
                }
                (Direction::Out, _) => {}
            }
        }
        if method.is_oneway {
            line!(self, "        aidl.send(&self.0, {})\n    }}", method.code);
            return Ok(());
        }
        line!(self, "        aidl.call(&self.0, {})?;", method.code);
        let returning = method
            .parameters
            .iter()
            .filter(|it| it.direction != Direction::In);
        let returning: Vec<_> = returning.collect();
        match (&method.result, returning.is_empty()) {
            (Some(_), true) => line!(self, "        aidl.read()"),
            (Some(_), false) => line!(self, "        let result = aidl.read()?;"),
            (None, _) => {}
        }
        for it in &returning {
            let name = field_name(&it.name);
            match it.of.form {
                Form::Array => line!(self, "        aidl.read_array({name})?;"),
                Form::List => line!(self, "        *{name} = aidl.read()?;"),
                Form::Single => line!(self, "        aidl.read_into({name})?;"),
            }
        }
        match (&method.result, returning.is_empty()) {
            (Some(_), true) => {}
            (Some(_), false) => line!(self, "        Ok(result)"),
            (None, _) => line!(self, "        Ok(())"),
        }
        line!(self, "    }}");
        Ok(())
    }

    /// A proxy travels as its binder.
    fn reference(&mut self, proxy: &str) {
        let parcel = "parcel: &mut ::binder::Parcel";
        let error = "::binder::CallError";
        line!(self, "impl ::binder::stub::Write for {proxy} {{");
        line!(
            self,
            "    fn write(&self, {parcel}) -> Result<(), {error}> {{"
        );
        line!(
            self,
            "        ::binder::stub::Write::write(&self.0, parcel)\n    }}\n}}\n"
        );
        line!(self, "impl ::binder::stub::Nullable for {proxy} {{");
        line!(
            self,
            "    fn write_null({parcel}) -> Result<(), {error}> {{"
        );
        line!(
            self,
            "        <::binder::Binder as ::binder::stub::Nullable>::write_null(parcel)"
        );
        line!(self, "    }}\n}}\n");
        line!(self, "impl ::binder::stub::ReadNullable for {proxy} {{");
        line!(
            self,
            "    fn read_nullable({parcel}) -> Result<Option<Self>, {error}> {{"
        );
        line!(
            self,
            "        let found: Option<_> = ::binder::stub::Read::read(parcel)?;"
        );
        line!(self, "        Ok(found.map(Self))\n    }}\n}}\n");
        line!(self, "impl ::binder::stub::Read for {proxy} {{");
        line!(self, "    fn read({parcel}) -> Result<Self, {error}> {{");
        line!(
            self,
            "        ::binder::stub::Read::read(parcel).map(Self)\n    }}\n}}"
        );
    }

    fn service(&mut self, name: &str, of: &Interface) -> Result<(), Fault> {
        let (proxy, stub) = (proxy(name), stub(name));
        line!(self, "\n/// Has an implementation of [`{name}`] called.");
        line!(self, "#[derive(Clone, Debug)]");
        line!(self, "pub struct {stub}<T>(pub T);\n");
        line!(self, "impl<T: {name}> {stub}<T> {{");
        for (index, it) in of.methods.iter().enumerate() {
            if index > 0 {
                line!(self, "");
            }
            self.incoming(name, it)?;
        }
        line!(self, "}}\n");
        line!(self, "impl<T: {name}> ::binder::Service for {stub}<T> {{");
        line!(
            self,
            "    fn descriptor(&self) -> &str {{\n        {proxy}::DESCRIPTOR\n    }}\n"
        );
        line!(self, "    fn on_transact(");
        line!(self, "        &self,");
        line!(self, "        call: &::binder::Call,");
        line!(self, "        code: u32,");
        line!(self, "        data: &mut ::binder::Parcel,");
        line!(self, "        reply: &mut ::binder::Parcel,");
        line!(self, "    ) -> Result<(), ::binder::CallError> {{");
        line!(self, "        let work = match code {{");
        for it in &of.methods {
            line!(
                self,
                "            {} => Self::serve_{},",
                it.code,
                snake(&it.name)
            );
        }
        line!(
            self,
            "            _ => return Err(::binder::CallError::UnknownTransaction),"
        );
        line!(self, "        }};");
        line!(self, "        let both = (data, reply);");
        line!(
            self,
            "        ::binder::stub::serve(call, {proxy}::DESCRIPTOR, both, |data, reply| {{"
        );
        line!(
            self,
            "            work(self, data, reply)\n        }})\n    }}\n}}"
        );
        Ok(())
    }

    /// One call as the service gets it.
    fn incoming(&mut self, interface: &str, method: &Method) -> Result<(), Fault> {
        let takes = |it: &&Parameter| it.direction != Direction::Out || it.of.form == Form::Array;
        let data = if method.parameters.iter().any(|it| takes(&it)) {
            "data"
        } else {
            "_data"
        };
        let back = method
            .parameters
            .iter()
            .any(|it| it.direction != Direction::In);
        let gives = back || method.result.is_some();
        let reply = if gives { "reply" } else { "_reply" };
        line!(self, "    fn serve_{}(", snake(&method.name));
        line!(self, "        &self,");
        line!(self, "        {data}: &mut ::binder::Parcel,");
        line!(self, "        {reply}: &mut ::binder::Parcel,");
        line!(self, "    ) -> ::binder::stub::Answer<()> {{");
        let mut arguments = String::new();
        for (index, it) in method.parameters.iter().enumerate() {
            let owned = self.owned(&it.of)?;
            let (mutable, value, lent) = match (it.direction, it.of.form) {
                (Direction::In, _) => (
                    "",
                    "::binder::stub::Read::read(data)?",
                    self.lend(&it.of, &format!("arg{index}")),
                ),
                (Direction::InOut, _) => (
                    "mut ",
                    "::binder::stub::Read::read(data)?",
                    format!("&mut arg{index}"),
                ),
                (Direction::Out, Form::Array) => (
                    "mut ",
                    "::binder::stub::read_length(data)?",
                    format!("&mut arg{index}"),
                ),
                (Direction::Out, _) => ("mut ", "Default::default()", format!("&mut arg{index}")),
            };
            line!(self, "        let {mutable}arg{index}: {owned} = {value};");
            let _ = write!(arguments, ", {lent}");
        }
        let result = if method.result.is_some() {
            "let result = "
        } else {
            ""
        };
        let name = field_name(&method.name);
        line!(
            self,
            "        {result}{interface}::{name}(&self.0{arguments})?;"
        );
        if method.result.is_some() {
            line!(
                self,
                "        ::binder::stub::Write::write(&result, reply)?;"
            );
        }
        for (index, it) in method.parameters.iter().enumerate() {
            if it.direction != Direction::In {
                line!(
                    self,
                    "        ::binder::stub::Write::write(&arg{index}, reply)?;"
                );
            }
        }
        line!(self, "        Ok(())\n    }}");
        Ok(())
    }
}
