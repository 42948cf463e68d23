//! Every callback of the module: what the host calls, and which context it is about.
//!
//! They are exported here and not by the SDK. The SDK's panic on a context that they do not know, and a panic takes down
//! the worker's VM with every stream in it; and it exports all that there are, of which Envoy calls each one, for each
//! request. Nothing here panics, and what is not exported costs nothing: a callback that a role comes to use belongs here.
#![allow(
    unsafe_code,
    reason = "an export has a name that the linker cannot check, and memory is handed to the host as a pointer"
)]

use core::cell::RefCell;
use core::hash::{BuildHasherDefault, Hasher};
use core::ptr::{NonNull, null_mut};
use std::alloc::{Layout, alloc};
use std::collections::HashMap;
use std::rc::Rc;
use std::thread::LocalKey;

use crate::host;
use crate::pairs;
use crate::root::Root;

/// What the host does with a stream after a callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Action {
    /// It goes on.
    Continue = 0,
    /// It stops there, until an answer is sent or, while the body comes, until a later callback goes on.
    Pause = 1,
}

/// One request and its response, in a role: what the host tells of it. A role has what it has work in.
pub(crate) trait Stream {
    /// The request's headers are there; `ends` where nothing follows them.
    fn on_request_headers(&mut self, ends: bool) -> Action;

    /// So many bytes of the request's body are there; all that were held back are among them.
    fn on_request_body(&mut self, _length: usize, _ends: bool) -> Action {
        Action::Continue
    }

    fn on_request_trailers(&mut self) -> Action {
        Action::Continue
    }

    /// The response's headers are there, also of one that is our own.
    fn on_response_headers(&mut self, _ends: bool) -> Action {
        Action::Continue
    }

    /// The next so many bytes of the response's body are there.
    fn on_response_body(&mut self, _length: usize, _ends: bool) -> Action {
        Action::Continue
    }

    fn on_response_trailers(&mut self) -> Action {
        Action::Continue
    }

    /// It is over, however it ended.
    fn on_log(&mut self) {}
}

/// Hashes the host's numbers of contexts: it counts them up, so that no caller chooses them.
#[derive(Default)]
struct Numbers(u64);

impl Hasher for Numbers {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        // 2^64 divided by the golden ratio spreads numbers in a row (Knuth, volume 3, section 6.4).
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type Contexts<T> = RefCell<HashMap<u32, T, BuildHasherDefault<Numbers>>>;

thread_local! {
    static MOUNTS: Contexts<Rc<Root>> = RefCell::default();
    /// A stream is away while it is called.
    static STREAMS: Contexts<Option<Box<dyn Stream>>> = RefCell::default();
}

/// Does something with what is known of contexts. Nothing in it calls the host, which may call back before it returns: a call of
/// our own runs the filters of its cluster, and one of them may be a mount in this VM.
fn with<T, R: Default>(
    contexts: &'static LocalKey<Contexts<T>>,
    done: impl FnOnce(&mut HashMap<u32, T, BuildHasherDefault<Numbers>>) -> R,
) -> R {
    contexts.with(|contexts| match contexts.try_borrow_mut() {
        Ok(mut contexts) => done(&mut contexts),
        Err(_) => R::default(),
    })
}

fn mount(number: u32) -> Option<Rc<Root>> {
    with(&MOUNTS, |mounts| mounts.get(&number).map(Rc::clone))
}

/// Calls a stream; `None` where there is none of that number.
fn stream<R>(number: u32, called: impl FnOnce(&mut dyn Stream) -> R) -> Option<R> {
    let mut stream = with(&STREAMS, |streams| streams.get_mut(&number)?.take())?;
    let result = called(stream.as_mut());
    with(&STREAMS, |streams| {
        // One that was deleted meanwhile is not noted again.
        if let Some(place) = streams.get_mut(&number) {
            *place = Some(stream);
        }
    });
    Some(result)
}

#[unsafe(no_mangle)]
extern "C" fn proxy_abi_version_0_2_1() {}

#[unsafe(no_mangle)]
extern "C" fn _initialize() {
    unsafe extern "C" {
        fn __wasm_call_ctors();
    }
    // SAFETY: the linker makes it, and the host calls this once and first.
    unsafe { __wasm_call_ctors() };
}

/// Memory for a result of the host's; [`host`] takes it over. Null where there is none left, which the host bears.
#[unsafe(no_mangle)]
extern "C" fn proxy_on_memory_allocate(size: usize) -> *mut u8 {
    match Layout::array::<u8>(size) {
        Ok(_) if size == 0 => NonNull::dangling().as_ptr(),
        // SAFETY: it is not empty.
        Ok(layout) => unsafe { alloc(layout) },
        Err(_) => null_mut(),
    }
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_context_create(number: u32, root: u32) {
    if root == 0 {
        with(&MOUNTS, |mounts| {
            mounts.insert(number, Rc::new(Root::new()));
        });
    } else if let Some(stream) = mount(root).and_then(|root| root.stream(number)) {
        with(&STREAMS, |streams| {
            streams.insert(number, Some(stream));
        });
    }
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_vm_start(_mount: u32, _size: usize) -> bool {
    true
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_configure(number: u32, _size: usize) -> bool {
    mount(number).is_some_and(|root| root.on_configure())
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_tick(number: u32) {
    if let Some(root) = mount(number) {
        root.on_tick();
    }
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_queue_ready(number: u32, _queue: u32) {
    if let Some(root) = mount(number) {
        root.on_queue_ready();
    }
}

/// The answer to a call of our own has come, or will not: then it has no headers. Calls are made on the mount alone.
#[unsafe(no_mangle)]
extern "C" fn proxy_on_http_call_response(
    number: u32,
    call: u32,
    lines: usize,
    length: usize,
    _trailers: usize,
) {
    if let Some(root) = mount(number) {
        root.on_call_response(call, lines, length);
    }
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_request_headers(number: u32, _lines: usize, ends: bool) -> Action {
    stream(number, |stream| stream.on_request_headers(ends)).unwrap_or_else(|| {
        // Nobody decides about it: it belongs to a mount without a policy, which the host has refused.
        let _ = host::send_response(503, "tidegate_unconfigured", &pairs::write(&[]), &[], -1);
        Action::Pause
    })
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_request_body(number: u32, length: usize, ends: bool) -> Action {
    stream(number, |stream| stream.on_request_body(length, ends)).unwrap_or(Action::Pause)
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_request_trailers(number: u32, _lines: usize) -> Action {
    stream(number, |stream| stream.on_request_trailers()).unwrap_or(Action::Pause)
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_response_headers(number: u32, _lines: usize, ends: bool) -> Action {
    stream(number, |stream| stream.on_response_headers(ends)).unwrap_or(Action::Continue)
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_response_body(number: u32, length: usize, ends: bool) -> Action {
    stream(number, |stream| stream.on_response_body(length, ends)).unwrap_or(Action::Continue)
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_response_trailers(number: u32, _lines: usize) -> Action {
    stream(number, |stream| stream.on_response_trailers()).unwrap_or(Action::Continue)
}

#[unsafe(no_mangle)]
extern "C" fn proxy_on_log(number: u32) {
    let _ = stream(number, |stream| stream.on_log());
}

/// A stream or a mount is over, and its number will not be heard of again.
#[unsafe(no_mangle)]
extern "C" fn proxy_on_delete(number: u32) {
    // Dropped when the borrow is over.
    if with(&STREAMS, |streams| streams.remove(&number)).is_none()
        && let Some(root) = with(&MOUNTS, |mounts| mounts.remove(&number))
    {
        root.end();
    }
}
