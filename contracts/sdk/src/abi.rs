//! The C ABI, version 1: the structs and functions that cross between a program and a library.
//!
//! - Only integers, function pointers and borrowed bytes cross. Bytes are valid during the call that passes them, and
//!   nobody frees the memory of the other side.
//! - `abi` is compared exactly. `size` is the size of the struct in bytes as its maker knows it; structs grow by fields at
//!   their end, and a field beyond `size` is not there.
//! - Every function may be called from any thread. `start` and `cancel` return at once.
//! - `frame` takes what it is given before it returns, so that no queue of events grows on either side.
//! - A library is never unloaded, so what [`Plugin`] points to stays.

#![allow(unsafe_code, reason = "the half of the ABI on the side of the library")]

use std::{
    ffi::c_void,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::OnceLock,
};

use crate::{
    Identity,
    guest::{self, Frames},
    protocol::LARGEST,
};

/// The version of this ABI.
pub const ABI: u32 = 1;

/// The symbol of the function, without parameters, that returns a [`Plugin`].
pub const ENTRY: &str = "mas_plugin_v1";

/// A frame with an event.
pub const EVENT: u32 = 1;
/// The last frame of a call, with the reply.
pub const END: u32 = 2;
/// The last frame of a call, with the error.
pub const FAIL: u32 = 3;

/// It was taken.
pub const OK: i32 = 0;
/// It was refused: the call has ended or never was, or the payload is no such thing.
pub const REFUSED: i32 = 1;
/// The other side has a newer or older ABI.
pub const WRONG_ABI: i32 = 2;
/// The other side is broken: a panic, or no runtime.
pub const BROKEN: i32 = 3;

/// Borrowed bytes; nothing if `len` is 0, whatever `data` is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Bytes {
    /// The first byte.
    pub data: *const u8,
    /// How many.
    pub len: usize,
}

impl Bytes {
    /// These bytes.
    #[must_use]
    pub const fn of(bytes: &[u8]) -> Self {
        Self { data: bytes.as_ptr(), len: bytes.len() }
    }

    /// The bytes; `None` for a null pointer and for more than [`LARGEST`].
    ///
    /// # Safety
    /// If `data` is not null, `len` bytes from it are readable and do not change while the slice lives.
    #[must_use]
    pub unsafe fn get<'a>(self) -> Option<&'a [u8]> {
        if self.len == 0 {
            return Some(&[]);
        }
        if self.data.is_null() || self.len > LARGEST {
            return None;
        }
        // SAFETY: not null, and readable for `len` bytes as the caller promises.
        Some(unsafe { std::slice::from_raw_parts(self.data, self.len) })
    }
}

/// What a program gives to a library; it stays for as long as the process runs.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// [`ABI`].
    pub abi: u32,
    /// The size of this struct.
    pub size: u32,
    /// Passed back with every frame.
    pub context: *mut c_void,
    /// Takes a frame of a call: its number, the kind and the payload.
    pub frame: Option<unsafe extern "C" fn(*mut c_void, u64, u32, Bytes) -> i32>,
}

/// What a library is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Plugin {
    /// [`ABI`].
    pub abi: u32,
    /// The size of this struct.
    pub size: u32,
    /// Its name, in UTF-8.
    pub name: Bytes,
    /// Its version, in UTF-8.
    pub version: Bytes,
    /// Called once, first.
    pub init: Option<unsafe extern "C" fn(*const Host) -> i32>,
    /// Starts a call: its number, and the request.
    pub start: Option<unsafe extern "C" fn(u64, Bytes) -> i32>,
    /// Stops a call: its number, and the reason (0 requested, 1 abandoned, 2 deadline, 3 shutdown).
    pub cancel: Option<unsafe extern "C" fn(u64, u32) -> i32>,
}

// SAFETY: what it points to is never written and stays for as long as the process runs.
unsafe impl Send for Plugin {}
// SAFETY: as above.
unsafe impl Sync for Plugin {}

struct ToHost(Host);

// SAFETY: the program lets `frame` be called from any thread, with the context that it gave.
unsafe impl Send for ToHost {}
// SAFETY: as above.
unsafe impl Sync for ToHost {}

impl Frames for ToHost {
    fn frame(&self, call: u64, kind: u32, payload: &[u8]) -> bool {
        // SAFETY: the function and its context are those of the program, and the bytes live during the call.
        self.0
            .frame
            .is_some_and(|frame| unsafe { frame(self.0.context, call, kind, Bytes::of(payload)) == OK })
    }
}

#[unsafe(no_mangle)]
extern "C" fn mas_plugin_v1() -> *const Plugin {
    static PLUGIN: OnceLock<Plugin> = OnceLock::new();
    PLUGIN.get_or_init(|| {
        let who = mas_contracts::inventory::iter::<Identity>().next();
        let Identity { name, version } = who.copied().unwrap_or(Identity { name: "", version: "" });
        Plugin {
            abi: ABI,
            size: u32::try_from(size_of::<Plugin>()).unwrap_or(0),
            name: Bytes::of(name.as_bytes()),
            version: Bytes::of(version.as_bytes()),
            init: Some(init),
            start: Some(start),
            cancel: Some(cancel),
        }
    })
}

/// Keeps panics on this side.
fn guarded(work: impl FnOnce() -> i32) -> i32 {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(BROKEN)
}

unsafe extern "C" fn init(host: *const Host) -> i32 {
    guarded(|| {
        if host.is_null() {
            return REFUSED;
        }
        // SAFETY: every version has these two fields; no reference is made, for the struct may be smaller than this one.
        let (abi, size) = unsafe { ((&raw const (*host).abi).read(), (&raw const (*host).size).read()) };
        if abi != ABI || usize::try_from(size).is_ok_and(|size| size < size_of::<Host>()) {
            return WRONG_ABI;
        }
        // SAFETY: it is as large as this version knows it, at least.
        let host = unsafe { host.read() };
        if host.frame.is_none() {
            return REFUSED;
        }
        if guest::begin(Box::new(ToHost(host))) { OK } else { BROKEN }
    })
}

unsafe extern "C" fn start(call: u64, request: Bytes) -> i32 {
    guarded(|| {
        // SAFETY: the program's bytes live during the call.
        let Some(request) = (unsafe { request.get() }) else { return REFUSED };
        if guest::start(call, request) { OK } else { REFUSED }
    })
}

unsafe extern "C" fn cancel(call: u64, reason: u32) -> i32 {
    guarded(|| if guest::cancel(call, reason) { OK } else { REFUSED })
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    fn plugin() -> Plugin {
        // SAFETY: the entry returns a struct that stays.
        unsafe { *mas_plugin_v1() }
    }

    #[test]
    fn the_entry_says_what_it_is_before_anything_runs() {
        let plugin = plugin();
        assert_eq!((plugin.abi, plugin.size as usize), (ABI, size_of::<Plugin>()));
        assert!(plugin.init.is_some() && plugin.start.is_some() && plugin.cancel.is_some());
    }

    #[test]
    fn a_program_that_does_not_fit_is_refused() {
        let init = plugin().init.unwrap();
        let size = u32::try_from(size_of::<Host>()).unwrap();
        let host = Host { abi: ABI, size, context: ptr::null_mut(), frame: None };
        let newer = Host { abi: ABI + 1, ..host };
        // The first two fields alone: what an older program may have.
        let short: [u32; 2] = [ABI, 8];
        // SAFETY: null, whole structs, or one that says that it is short.
        unsafe {
            assert_eq!(init(ptr::null()), REFUSED);
            assert_eq!(init(&raw const host), REFUSED, "it takes no frames");
            assert_eq!(init(&raw const newer), WRONG_ABI);
            assert_eq!(init((&raw const short).cast()), WRONG_ABI);
        }
    }

    #[test]
    fn bytes_that_cannot_be_are_none() {
        // SAFETY: nothing is read where there is nothing, and a length that is too large is refused before.
        unsafe {
            assert_eq!(Bytes { data: ptr::null(), len: 0 }.get(), Some(&[][..]));
            assert_eq!(Bytes { data: ptr::null(), len: 1 }.get(), None);
            assert_eq!(Bytes { data: b"a".as_ptr(), len: LARGEST + 1 }.get(), None);
            assert_eq!(Bytes::of(b"abc").get(), Some(&b"abc"[..]));
        }
    }
}
