// SPDX-License-Identifier: Apache-2.0
//! Native objects that Java holds as a `long`: a [`Handle`] is that number, typed.

use core::marker::PhantomData;

use jni_sys::jlong;

/// The address of a boxed `T`, owned by the one Java object that holds it in a private field.
#[repr(transparent)]
pub(crate) struct Handle<T> {
    address: jlong,
    kind: PhantomData<T>,
}

impl<T> Handle<T> {
    pub(crate) fn new(value: T) -> Self {
        let address = Box::into_raw(Box::new(value)).expose_provenance() as jlong;
        Self {
            address,
            kind: PhantomData,
        }
    }

    /// The number, for Java to keep.
    pub(crate) fn into_java(self) -> jlong {
        self.address
    }

    /// Of the number that a private field of a Java object holds.
    pub(crate) fn of_field(address: jlong) -> Self {
        Self {
            address,
            kind: PhantomData,
        }
    }

    /// The number of an object that Rust owns, for a call into Java that forgets it before it
    /// returns: AOSP's `execTransact` recycles the parcels that it is given.
    pub(crate) fn lend(value: &mut T) -> jlong {
        (&raw mut *value).expose_provenance() as jlong
    }

    /// Zero: Java holds none.
    pub(crate) fn is_null(&self) -> bool {
        self.address == 0
    }

    /// The object, shared: for types that threads may use at once.
    pub(crate) fn get(&self) -> &T
    where
        T: Sync,
    {
        // SAFETY:
        // 1. The number came from `new` for the same `T`: AOSP's classes keep it in a private field
        //    that only their own `native` methods, all in one file here, are given; or `of_field`
        //    has read that very field. Or it came from `lend`, whose reference waits meanwhile.
        // 2. It is not freed yet: they clear the field before they call the method that ends in
        //    `free`.
        // 3. No exclusive reference exists: `T: Sync` objects are reached through `get` only.
        unsafe { &*core::ptr::with_exposed_provenance::<T>(self.address as usize) }
    }

    /// The object, exclusive: for types that Java uses from one thread at a time, as `Parcel`'s
    /// contract demands.
    pub(crate) fn get_mut(&mut self) -> &mut T {
        // SAFETY:
        // 1., 2. As in `get`.
        // 3. One thread at a time: the Java class is documented as not thread-safe, and each native
        //    method takes the reference once, for its own duration.
        unsafe { &mut *core::ptr::with_exposed_provenance_mut::<T>(self.address as usize) }
    }

    /// Ends the object.
    pub(crate) fn free(self) {
        // SAFETY:
        // 1., 2. As in `get`; the Java object forgets the number.
        // 3. It was made by `Box::into_raw` of the same type.
        drop(unsafe {
            Box::from_raw(core::ptr::with_exposed_provenance_mut::<T>(
                self.address as usize,
            ))
        });
    }

    /// Do both name one object?
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.address == other.address
    }
}
