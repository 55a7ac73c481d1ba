// SPDX-License-Identifier: Apache-2.0
//! The golden interface in Rust, by the stubs that `crates/aidl` makes: what a service of it does,
//! and what a caller looks for. framework/test/takt/framework/binder/Golden.java is the same in
//! Java; both speak with each other in tests/e2e/tests/binder.rs.

#![allow(dead_code, reason = "each test program uses its part")]

/// What `crates/aidl` makes of IGolden.aidl and IGoldenCallback.aidl.
#[allow(unreachable_pub, reason = "stubs are made for crates that others use")]
pub(crate) mod stubs {
    include!("stubs.rs");
}

use std::sync::Arc;
use std::time::Duration;

use binder::stub::{Answer, Exception, Failure, Parcelable, Read, Write};
use binder::{Binder, CallError, Parcel, Process};
use rt::clock::{Clock, Monotonic};
use rt::sync::PiMutex;
use stubs::{IGolden, IGoldenCallback, IGoldenCallbackProxy, IGoldenCallbackStub, IGoldenProxy};

/// In which anything comes that has to.
const BOUND: Duration = Duration::from_secs(20);

/// Android's Bundle as bytes: a size, `BNDL`, a count of entries, and the entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bundle {
    entries: i32,
    bytes: Vec<u8>,
}

const BUNDLE: i32 = 0x4C44_4E42;
const TEXT: i32 = 0;
const INTEGER: i32 = 1;

impl Bundle {
    /// One more entry, as `Parcel.writeValue` has it.
    pub(crate) fn put(&mut self, key: &str, kind: i32, value: &impl Write) -> Answer<()> {
        let mut parcel = Parcel::new();
        key.write(&mut parcel)?;
        kind.write(&mut parcel)?;
        value.write(&mut parcel)?;
        self.bytes.extend_from_slice(parcel.bytes());
        self.entries += 1;
        Ok(())
    }
}

impl Parcelable for Bundle {
    fn write_content(&self, parcel: &mut Parcel) -> Result<(), CallError> {
        if self.entries == 0 {
            return 0.write(parcel);
        }
        let size = i32::try_from(self.bytes.len() + 4).map_err(|_| CallError::TooLarge)?;
        [size, BUNDLE, self.entries]
            .iter()
            .try_for_each(|it| it.write(parcel))?;
        Ok(parcel.write(&self.bytes)?)
    }

    fn read_content(parcel: &mut Parcel) -> Result<Self, CallError> {
        let size = usize::try_from(i32::read(parcel)?).map_err(|_| CallError::BadParcel)?;
        if size == 0 {
            return Ok(Self::default());
        }
        let magic = i32::read(parcel)?;
        let entries = i32::read(parcel)?;
        let size = size.checked_sub(4).filter(|_| magic == BUNDLE);
        let bytes = parcel.read(size.ok_or(CallError::BadParcel)?);
        let bytes = bytes.ok_or(CallError::BadParcel)?.to_vec();
        Ok(Self { entries, bytes })
    }
}

binder::parcelable!(Bundle);

/// A service.
#[derive(Default)]
pub(crate) struct Golden(PiMutex<Option<IGoldenCallbackProxy>>);

impl IGolden for Golden {
    fn not(&self, value: bool) -> Answer<bool> {
        Ok(!value)
    }

    fn negative(&self, value: i32) -> Answer<i32> {
        Ok(value.wrapping_neg())
    }

    fn twice(&self, value: i64) -> Answer<i64> {
        Ok(value.wrapping_mul(2))
    }

    fn half(&self, value: f64) -> Answer<f64> {
        Ok(value / 2.0)
    }

    fn greet(&self, name: Option<&str>) -> Answer<Option<String>> {
        Ok(name.map(|it| format!("hello {it}")))
    }

    fn reversed(&self, bytes: &[u8]) -> Answer<Vec<u8>> {
        Ok(bytes.iter().rev().copied().collect())
    }

    fn fill(&self, numbers: &mut Vec<i32>) -> Answer<()> {
        for (number, it) in (0..).zip(numbers) {
            *it = number;
        }
        Ok(())
    }

    fn sort(&self, numbers: &mut Vec<i32>) -> Answer<()> {
        numbers.sort_unstable();
        Ok(())
    }

    fn words(&self, text: &str) -> Answer<Vec<String>> {
        Ok(text.split(' ').map(Into::into).collect())
    }

    fn joined(
        &self,
        left: Option<&[Option<String>]>,
        right: Option<&[Option<String>]>,
    ) -> Answer<Option<Vec<Option<String>>>> {
        Ok(left.zip(right).map(|(left, right)| [left, right].concat()))
    }

    fn with(&self, bundle: &Bundle, key: &str, value: &str) -> Answer<Bundle> {
        let mut with = bundle.clone();
        with.put(key, TEXT, &value)?;
        Ok(with)
    }

    fn same(&self, binder: &Binder) -> Answer<Binder> {
        Ok(binder.clone())
    }

    fn watch(&self, callback: &IGoldenCallbackProxy) -> Answer<()> {
        *self.0.lock() = Some(callback.clone());
        Ok(())
    }

    fn tell(&self, number: i32) -> Answer<()> {
        let callback = self.0.lock().clone();
        callback.ok_or(CallError::Failed)?.told(number)
    }

    fn refuse(&self, why: &str) -> Answer<()> {
        Err(Exception::new(Exception::ILLEGAL_ARGUMENT, why).into())
    }
}

/// What it was told.
#[derive(Clone, Default)]
struct Told(Arc<PiMutex<Vec<i32>>>);

impl IGoldenCallback for Told {
    fn told(&self, number: i32) -> Answer<()> {
        self.0.lock().push(number);
        Ok(())
    }
}

/// Calls each method, over whatever lies between; `process` has the callback.
pub(crate) fn check(golden: &IGoldenProxy, process: &Process) -> Answer<()> {
    assert!(!golden.not(true)? && golden.not(false)?);
    assert_eq!(golden.negative(7)?, -7);
    assert_eq!(golden.twice(1 << 40)?, 1 << 41);
    assert_eq!(golden.half(5.0)?, 2.5);
    assert_eq!(golden.greet(Some("ä😀"))?.as_deref(), Some("hello ä😀"));
    assert_eq!(golden.greet(None)?, None);
    assert_eq!(golden.words("a b")?, ["a", "b"]);
    assert_eq!(golden.reversed(&[1, 2, 200])?, [200, 2, 1]);
    let mut filled = vec![0; 3];
    golden.fill(&mut filled)?;
    assert_eq!(filled, [0, 1, 2]);
    let mut sorted = vec![3, 1, 2];
    golden.sort(&mut sorted)?;
    assert_eq!(sorted, [1, 2, 3]);
    let (left, right) = ([Some("a".into())], [Some("b".into()), None]);
    let joined = golden.joined(Some(&left), Some(&right))?;
    assert_eq!(joined, Some([&left[..], &right].concat()));
    let (mut bundle, mut with) = (Bundle::default(), Bundle::default());
    with.put("key", TEXT, &"value")?;
    assert_eq!(golden.with(&bundle, "key", "value")?, with);
    bundle.put("a", INTEGER, &1)?;
    let two = golden.with(&bundle, "key", "value")?;
    assert_eq!(two.entries, 2);
    assert!(golden.same(&golden.0)?.is_same(&golden.0));
    let told = Told::default();
    let callback = process.add(IGoldenCallbackStub(told.clone()));
    golden.watch(&IGoldenCallbackProxy(callback))?;
    golden.tell(1)?;
    golden.tell(2)?;
    await_that("it is told", || told.0.lock().len() == 2);
    assert_eq!(*told.0.lock(), [1, 2]);
    let refused = Exception::new(Exception::ILLEGAL_ARGUMENT, "because");
    assert_eq!(golden.refuse("because"), Err(Failure::Exception(refused)));
    Ok(())
}

#[track_caller]
pub(crate) fn await_that(what: &str, holds: impl Fn() -> bool) {
    let end_ns = Monotonic.now_ns() + BOUND.as_nanos() as u64;
    while !holds() {
        assert!(Monotonic.now_ns() < end_ns, "{what}");
        Monotonic.sleep_until(Monotonic.now_ns() + 200_000);
    }
}
