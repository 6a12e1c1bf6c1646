//! The body of a request: the payload's own bytes, alone or in an envelope.
//!
//! The payload is never parsed and written again: key order, digits and escapes stay as the pipeline wrote them. The
//! envelope's time is the row's own, so that every attempt has the same bytes.

use std::sync::Arc;

use bytes::Bytes;

use crate::core::row::OutboxRow;

/// The payload, byte for byte, without a copy.
pub(super) fn payload(row: &OutboxRow) -> Bytes {
    Bytes::from_owner(Shared(Arc::clone(&row.payload)))
}

/// `{"type":topic,"timestamp":created_at,"data":payload}`
pub(super) fn envelope(row: &OutboxRow) -> Bytes {
    let topic = serde_json::Value::from(&*row.row.topic);
    let time = row.created_at;
    let data = &row.payload;
    Bytes::from(format!(
        r#"{{"type":{topic},"timestamp":"{time}","data":{data}}}"#
    ))
}

struct Shared(Arc<str>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}
