// SPDX-License-Identifier: Apache-2.0
//! android.os.IServiceManager as Android 16 has it, the methods that are called here: a service of
//! it, and how it is asked, no matter who serves.

use std::collections::HashMap;

use binder::stub::{Answer, Fields, Outgoing, Read, Write, serve, write_fields};
use binder::{Binder, Call, CallError, Parcel, Service};
use rt::sync::PiMutex;

const DESCRIPTOR: &str = "android.os.IServiceManager";
/// Two methods that look for a name, each in two forms; then the one that gives a name.
const GET: u32 = 1;
const CHECK: u32 = 3;
const CHECK_2: u32 = 4;
const ADD: u32 = 5;
/// The member of the union `Service` that is a binder, with whether it starts when it is asked for.
const WITH_METADATA: i32 = 0;
const DUMP_PRIORITY_DEFAULT: i32 = 8;

/// Ours: names and what they name.
#[derive(Default)]
pub(crate) struct Manager(PiMutex<HashMap<String, Binder>>);

impl Manager {
    fn answer(&self, code: u32, data: &mut Parcel, reply: &mut Parcel) -> Answer<()> {
        let name = String::read(data)?;
        if code == ADD {
            let binder = Binder::read(data)?;
            let (_is_for_isolated, _dump) = (bool::read(data)?, i32::read(data)?);
            let old = self.0.lock().insert(name, binder);
            drop(old);
            return Ok(());
        }
        let found = self.0.lock().get(&name).cloned();
        if code == GET || code == CHECK {
            return Ok(found.write(reply)?);
        }
        for it in [1, WITH_METADATA, 1] {
            it.write(reply)?;
        }
        Ok(write_fields(reply, |reply| {
            found.write(reply)?;
            false.write(reply)
        })?)
    }
}

impl Service for Manager {
    fn descriptor(&self) -> &str {
        DESCRIPTOR
    }

    fn on_transact(
        &self,
        call: &Call,
        code: u32,
        data: &mut Parcel,
        reply: &mut Parcel,
    ) -> Result<(), CallError> {
        if !(GET..=ADD).contains(&code) {
            return Err(CallError::UnknownTransaction);
        }
        serve(call, DESCRIPTOR, (data, reply), |data, reply| {
            self.answer(code, data, reply)
        })
    }
}

/// Gives a node a name.
pub(crate) fn publish(manager: &Binder, name: &str, binder: &Binder) -> Answer<()> {
    let mut call = Outgoing::new(DESCRIPTOR)?;
    call.write(name)?;
    call.write(binder)?;
    call.write(&false)?;
    call.write(&DUMP_PRIORITY_DEFAULT)?;
    call.call(manager, ADD)
}

/// What has this name, by the older method and by the newer one.
pub(crate) fn find(manager: &Binder, name: &str) -> Answer<Option<Binder>> {
    let mut call = Outgoing::new(DESCRIPTOR)?;
    call.write(name)?;
    call.call(manager, CHECK)?;
    let found: Option<Binder> = call.read()?;
    let mut call = Outgoing::new(DESCRIPTOR)?;
    call.write(name)?;
    call.call(manager, CHECK_2)?;
    let Found(again) = call.read()?;
    if let Some(found) = &found {
        let is_same = again.as_ref().is_some_and(|it| it.is_same(found));
        assert!(is_same, "{found:?}, then {again:?}");
    }
    Ok(found)
}

/// The union `Service`, of which one member is known here.
struct Found(Option<Binder>);

impl Read for Found {
    fn read(parcel: &mut Parcel) -> Result<Self, CallError> {
        let head: [i32; 3] = [i32::read(parcel)?, i32::read(parcel)?, i32::read(parcel)?];
        assert_eq!(head, [1, WITH_METADATA, 1], "no binder with metadata");
        let fields = Fields::begin(parcel)?;
        let mut binder = None;
        fields.read(parcel, &mut binder)?;
        fields.end(parcel);
        Ok(Self(binder))
    }
}
