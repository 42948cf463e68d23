//! Every host call of the module: call, map the status, return.
//!
//! The calls are declared here and not taken from the SDK, because the SDK's panic on a status that they do
//! not expect, and a panic takes down the worker's VM with every stream in it. Nothing here panics; nothing
//! outside this file calls the host.
#![allow(
    unsafe_code,
    reason = "the ABI is made of raw pointers; this file is where they end"
)]

use core::ptr::null_mut;
use core::time::Duration;

/// Statuses of the ABI (proxy-wasm 0.2.1); all others count as failures.
const OK: u32 = 0;
const NOT_FOUND: u32 = 1;
const CAS_MISMATCH: u32 = 8;

/// The bodies, each in its own callback; and the configuration, in `proxy_on_configure`.
const REQUEST_BODY: u32 = 0;
const RESPONSE_BODY: u32 = 1;
const CALL_BODY: u32 = 4;
const PLUGIN_CONFIGURATION: u32 = 7;

/// The header maps.
#[derive(Debug, Clone, Copy)]
#[repr(u32)]
pub(crate) enum Map {
    /// The request's headers; readable in their own callback only.
    Request = 0,
    /// The response's headers.
    Response = 2,
    /// The headers of the answer to a call of our own, in its own callback.
    Call = 6,
}

/// The levels of log lines.
#[derive(Debug, Clone, Copy)]
#[repr(u32)]
pub(crate) enum Level {
    Info = 2,
    Warn = 3,
    Error = 4,
}

/// The kinds of metric.
#[derive(Debug, Clone, Copy)]
#[repr(u32)]
pub(crate) enum MetricKind {
    Counter = 0,
    Gauge = 1,
    Histogram = 2,
}

/// The host answered with a status that the call has no use for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failed;

#[link(wasm_import_module = "env")]
unsafe extern "C" {
    fn proxy_log(level: u32, text: *const u8, len: usize) -> u32;
    fn proxy_get_buffer_bytes(
        buffer: u32,
        start: usize,
        max: usize,
        data: *mut *mut u8,
        len: *mut usize,
    ) -> u32;
    fn proxy_get_property(
        path: *const u8,
        path_len: usize,
        data: *mut *mut u8,
        len: *mut usize,
    ) -> u32;
    fn proxy_set_property(
        path: *const u8,
        path_len: usize,
        value: *const u8,
        value_len: usize,
    ) -> u32;
    fn proxy_get_header_map_pairs(map: u32, data: *mut *mut u8, len: *mut usize) -> u32;
    fn proxy_get_header_map_value(
        map: u32,
        name: *const u8,
        name_len: usize,
        data: *mut *mut u8,
        len: *mut usize,
    ) -> u32;
    fn proxy_add_header_map_value(
        map: u32,
        name: *const u8,
        name_len: usize,
        value: *const u8,
        value_len: usize,
    ) -> u32;
    fn proxy_replace_header_map_value(
        map: u32,
        name: *const u8,
        name_len: usize,
        value: *const u8,
        value_len: usize,
    ) -> u32;
    fn proxy_set_buffer_bytes(
        buffer: u32,
        start: usize,
        length: usize,
        data: *const u8,
        data_len: usize,
    ) -> u32;
    fn proxy_remove_header_map_value(map: u32, name: *const u8, name_len: usize) -> u32;
    fn proxy_get_shared_data(
        key: *const u8,
        key_len: usize,
        data: *mut *mut u8,
        len: *mut usize,
        cas: *mut u32,
    ) -> u32;
    fn proxy_set_shared_data(
        key: *const u8,
        key_len: usize,
        value: *const u8,
        value_len: usize,
        cas: u32,
    ) -> u32;
    fn proxy_send_local_response(
        status: u32,
        details: *const u8,
        details_len: usize,
        body: *const u8,
        body_len: usize,
        headers: *const u8,
        headers_len: usize,
        grpc_status: i32,
    ) -> u32;
    fn proxy_register_shared_queue(name: *const u8, len: usize, queue: *mut u32) -> u32;
    fn proxy_enqueue_shared_queue(queue: u32, data: *const u8, len: usize) -> u32;
    fn proxy_dequeue_shared_queue(queue: u32, data: *mut *mut u8, len: *mut usize) -> u32;
    fn proxy_http_call(
        cluster: *const u8,
        cluster_len: usize,
        headers: *const u8,
        headers_len: usize,
        body: *const u8,
        body_len: usize,
        trailers: *const u8,
        trailers_len: usize,
        timeout_millis: u32,
        number: *mut u32,
    ) -> u32;
    fn proxy_set_effective_context(context: u32) -> u32;
    fn proxy_set_tick_period_milliseconds(millis: u32) -> u32;
    fn proxy_define_metric(kind: u32, name: *const u8, len: usize, id: *mut u32) -> u32;
    fn proxy_increment_metric(id: u32, by: i64) -> u32;
    fn proxy_record_metric(id: u32, value: u64) -> u32;
}

#[link(wasm_import_module = "wasi_snapshot_preview1")]
unsafe extern "C" {
    fn clock_time_get(clock: u32, precision: u64, time: *mut u64) -> u32;
    fn random_get(buffer: *mut u8, len: usize) -> u32;
}

/// Takes over memory that the host had the module allocate for a result.
///
/// # Safety
/// `data` is null, or came with `len` from a call that allocates with `proxy_on_memory_allocate`.
unsafe fn take(data: *mut u8, len: usize) -> Vec<u8> {
    if data.is_null() {
        Vec::new()
    } else {
        // SAFETY: what was allocated is exactly `len` bytes, which the host filled and nobody else holds.
        unsafe { Vec::from_raw_parts(data, len, len) }
    }
}

/// Runs a call that returns bytes; `None` if there are none.
fn bytes(call: impl FnOnce(*mut *mut u8, *mut usize) -> u32) -> Result<Option<Vec<u8>>, Failed> {
    let (mut data, mut len) = (null_mut(), 0);
    match call(&raw mut data, &raw mut len) {
        // SAFETY: the host allocated the result.
        OK => Ok(Some(unsafe { take(data, len) })),
        NOT_FOUND => Ok(None),
        _ => Err(Failed),
    }
}

fn done(status: u32) -> Result<(), Failed> {
    if status == OK { Ok(()) } else { Err(Failed) }
}

/// Writes a line to Envoy's log. That it cannot be written is not worth an outage.
pub(crate) fn log(level: Level, text: &str) {
    // SAFETY: the host reads `len` bytes at `text`.
    let _ = unsafe { proxy_log(level as u32, text.as_ptr(), text.len()) };
}

fn buffer(buffer: u32, start: usize, length: usize) -> Result<Vec<u8>, Failed> {
    // SAFETY: the host writes the two results.
    let found =
        bytes(|data, len| unsafe { proxy_get_buffer_bytes(buffer, start, length, data, len) })?;
    Ok(found.unwrap_or_default())
}

/// The plugin's configuration.
pub(crate) fn plugin_configuration() -> Result<Vec<u8>, Failed> {
    buffer(PLUGIN_CONFIGURATION, 0, usize::MAX)
}

/// So many bytes of the request's body, as far as it is buffered, from `start` on.
pub(crate) fn request_body(start: usize, length: usize) -> Result<Vec<u8>, Failed> {
    if length == 0 {
        return Ok(Vec::new());
    }
    buffer(REQUEST_BODY, start, length)
}

/// The part of the response's body that the callback is about, which is `length` bytes long.
pub(crate) fn response_body(length: usize) -> Result<Vec<u8>, Failed> {
    buffer(RESPONSE_BODY, 0, length)
}

/// The body of the answer to a call of our own, which is `length` bytes long.
pub(crate) fn call_body(length: usize) -> Result<Vec<u8>, Failed> {
    if length == 0 {
        return Ok(Vec::new());
    }
    buffer(CALL_BODY, 0, length)
}

/// Puts other bytes in place of that part of the body.
pub(crate) fn set_response_body(body: &[u8]) -> Result<(), Failed> {
    // SAFETY: the host reads the body.
    done(unsafe { proxy_set_buffer_bytes(RESPONSE_BODY, 0, usize::MAX, body.as_ptr(), body.len()) })
}

/// A property by its path, the parts divided by NUL; `None` if it is absent.
pub(crate) fn property(path: &[u8]) -> Option<Vec<u8>> {
    // SAFETY: the host reads the path and writes the two results.
    bytes(|data, len| unsafe { proxy_get_property(path.as_ptr(), path.len(), data, len) })
        .ok()
        .flatten()
}

/// Sets a property: filter state under `wasm.` and the path.
pub(crate) fn set_property(path: &[u8], value: &[u8]) -> Result<(), Failed> {
    // SAFETY: the host reads path and value.
    done(unsafe { proxy_set_property(path.as_ptr(), path.len(), value.as_ptr(), value.len()) })
}

/// All headers of a map in the ABI's encoding, for [`crate::pairs`].
pub(crate) fn header_pairs(map: Map) -> Result<Vec<u8>, Failed> {
    // SAFETY: the host writes the two results.
    let pairs = bytes(|data, len| unsafe { proxy_get_header_map_pairs(map as u32, data, len) })?;
    Ok(pairs.unwrap_or_default())
}

/// The first line of a header.
pub(crate) fn header(map: Map, name: &str) -> Option<Vec<u8>> {
    // SAFETY: the host reads the name and writes the two results.
    bytes(|data, len| unsafe {
        proxy_get_header_map_value(map as u32, name.as_ptr(), name.len(), data, len)
    })
    .ok()
    .flatten()
}

/// Adds a header line.
pub(crate) fn add_header(map: Map, name: &[u8], value: &[u8]) -> Result<(), Failed> {
    // SAFETY: the host reads name and value.
    done(unsafe {
        proxy_add_header_map_value(
            map as u32,
            name.as_ptr(),
            name.len(),
            value.as_ptr(),
            value.len(),
        )
    })
}

/// Puts one line in place of every line of a header.
pub(crate) fn set_header(map: Map, name: &[u8], value: &[u8]) -> Result<(), Failed> {
    // SAFETY: the host reads name and value.
    done(unsafe {
        proxy_replace_header_map_value(
            map as u32,
            name.as_ptr(),
            name.len(),
            value.as_ptr(),
            value.len(),
        )
    })
}

/// Removes every line of a header.
pub(crate) fn remove_header(map: Map, name: &[u8]) -> Result<(), Failed> {
    // SAFETY: the host reads the name.
    done(unsafe { proxy_remove_header_map_value(map as u32, name.as_ptr(), name.len()) })
}

/// A shared value and the number of its writing; `None` if it was never written.
pub(crate) fn shared(key: &[u8]) -> Result<Option<(Vec<u8>, u32)>, Failed> {
    let mut cas = 0;
    // SAFETY: the host reads the key and writes the three results.
    let value = bytes(|data, len| unsafe {
        proxy_get_shared_data(key.as_ptr(), key.len(), data, len, &raw mut cas)
    })?;
    Ok(value.map(|value| (value, cas)))
}

/// Writes a shared value if its last writing was `cas`, or if it was never written; `false` if neither.
///
/// `cas` is never 0: that would overwrite whatever is there.
pub(crate) fn swap_shared(key: &[u8], value: &[u8], cas: u32) -> Result<bool, Failed> {
    if cas == 0 {
        return Err(Failed);
    }
    // SAFETY: the host reads key and value.
    let status =
        unsafe { proxy_set_shared_data(key.as_ptr(), key.len(), value.as_ptr(), value.len(), cas) };
    match status {
        OK => Ok(true),
        CAS_MISMATCH => Ok(false),
        _ => Err(Failed),
    }
}

/// A response in the origin's place. `headers` is in the ABI's encoding; `grpc_status` of -1 is none.
pub(crate) fn send_response(
    status: u16,
    details: &str,
    headers: &[u8],
    body: &[u8],
    grpc_status: i32,
) -> Result<(), Failed> {
    // SAFETY: the host reads details, body and headers.
    done(unsafe {
        proxy_send_local_response(
            u32::from(status),
            details.as_ptr(),
            details.len(),
            body.as_ptr(),
            body.len(),
            headers.as_ptr(),
            headers.len(),
            grpc_status,
        )
    })
}

/// A queue by its name; whoever registers it is called when something is put in.
pub(crate) fn queue(name: &[u8]) -> Result<u32, Failed> {
    let mut queue = 0;
    // SAFETY: the host reads the name and writes the queue.
    done(unsafe { proxy_register_shared_queue(name.as_ptr(), name.len(), &raw mut queue) })?;
    Ok(queue)
}

/// Puts something into a queue.
pub(crate) fn enqueue(queue: u32, item: &[u8]) -> Result<(), Failed> {
    // SAFETY: the host reads the item.
    done(unsafe { proxy_enqueue_shared_queue(queue, item.as_ptr(), item.len()) })
}

/// Takes something out of a queue; `false` if it is empty.
pub(crate) fn dequeue(queue: u32) -> bool {
    // SAFETY: the host writes the two results.
    let item = bytes(|data, len| unsafe { proxy_dequeue_shared_queue(queue, data, len) });
    matches!(item, Ok(Some(_)))
}

/// Has the calls that follow be about this stream.
pub(crate) fn set_context(context: u32) -> Result<(), Failed> {
    // SAFETY: numbers only.
    done(unsafe { proxy_set_effective_context(context) })
}

/// Makes a call of our own; returns its number. It belongs to the context of the callback, which has to be the mount's.
/// `headers` is in the ABI's encoding.
pub(crate) fn call(
    cluster: &[u8],
    headers: &[u8],
    body: &[u8],
    timeout: Duration,
) -> Result<u32, Failed> {
    /// No trailers, in the ABI's encoding.
    const NONE: [u8; 4] = [0; 4];
    let millis = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
    let mut number = 0;
    // SAFETY: the host reads cluster, headers, body and trailers, and writes the number.
    done(unsafe {
        proxy_http_call(
            cluster.as_ptr(),
            cluster.len(),
            headers.as_ptr(),
            headers.len(),
            body.as_ptr(),
            body.len(),
            NONE.as_ptr(),
            NONE.len(),
            millis,
            &raw mut number,
        )
    })?;
    Ok(number)
}

/// Has the root context called every so many milliseconds.
pub(crate) fn set_tick(millis: u32) -> Result<(), Failed> {
    // SAFETY: numbers only.
    done(unsafe { proxy_set_tick_period_milliseconds(millis) })
}

/// Names a metric. Names are never freed: only such as the policy names.
pub(crate) fn define_metric(kind: MetricKind, name: &str) -> Result<u32, Failed> {
    let mut id = 0;
    // SAFETY: the host reads the name and writes the id.
    done(unsafe { proxy_define_metric(kind as u32, name.as_ptr(), name.len(), &raw mut id) })?;
    Ok(id)
}

/// Adds to a counter.
pub(crate) fn increment_metric(id: u32, by: u32) -> Result<(), Failed> {
    // SAFETY: numbers only.
    done(unsafe { proxy_increment_metric(id, i64::from(by)) })
}

/// Sets a gauge, or adds a value to a histogram.
pub(crate) fn record_metric(id: u32, value: u64) -> Result<(), Failed> {
    // SAFETY: numbers only.
    done(unsafe { proxy_record_metric(id, value) })
}

/// The clocks of WASI.
#[derive(Debug, Clone, Copy)]
#[repr(u32)]
pub(crate) enum Clock {
    /// The time of day, in nanoseconds since 1970; it may be set back.
    Realtime = 0,
    /// Nanoseconds since some moment before the process began; it never goes back.
    Monotonic = 1,
}

/// Reads a clock.
pub(crate) fn now(clock: Clock) -> Result<u64, Failed> {
    let mut time = 0;
    // SAFETY: the host writes the time.
    done(unsafe { clock_time_get(clock as u32, 1, &raw mut time) })?;
    Ok(time)
}

/// Bytes of the host's randomness.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Failed> {
    let mut bytes = [0; N];
    // SAFETY: the host writes as many bytes as there are.
    done(unsafe { random_get(bytes.as_mut_ptr(), bytes.len()) })?;
    Ok(bytes)
}
