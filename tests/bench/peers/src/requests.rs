//! What is asked for, and by whom.

use std::io::Write as _;

/// Writes the request of the account of this number.
pub(crate) fn write(account: u32, request: &mut Vec<u8>) {
    request.clear();
    // A vector takes whatever is written to it.
    let _ = write!(
        request,
        "GET /v1/things HTTP/1.1\r\nhost: api.test\r\nuser-agent: bench\r\naccept: */*\r\n\
         x-tenant-id: tenant-{:04}\r\nx-account: account-{account:08}\r\n\r\n",
        account % 10
    );
}
