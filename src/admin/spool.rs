//! A body that is read to its end before anything is done with it: in memory while it is small, else in a file without a name.
//!
//! So a client that is slow holds no transaction, and on SQLite nobody waits for it. Memory stays flat.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::time::Duration;

use axum::body::{Body, Bytes};
use futures_util::StreamExt as _;
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncSeekExt as _, AsyncWriteExt as _};

use super::problem::Problem;

/// Bytes of a body that are kept in memory; more go to a file.
const IN_MEMORY: usize = 1 << 20;

/// A whole body.
pub(super) struct Spooled {
    pub(super) reader: BufReader<Box<dyn Read + Send>>,
    /// SHA-256 of its bytes.
    pub(super) digest: [u8; 32],
}

/// Reads a body of `limit` bytes at most, each part of which comes within `patience`.
pub(super) async fn spool(body: Body, limit: u64, patience: Duration) -> Result<Spooled, Problem> {
    let mut parts = body.into_data_stream();
    let (mut spool, mut length, mut hash) = (Spool::Memory(Vec::new()), 0_u64, Sha256::new());
    loop {
        let part = match tokio::time::timeout(patience, parts.next()).await {
            Err(_) => return Err(Problem::stalled_body(patience)),
            Ok(None) => break,
            Ok(Some(Err(_))) => return Err(Problem::incomplete_body()),
            Ok(Some(Ok(part))) => part,
        };
        length += part.len() as u64;
        if length > limit {
            return Err(Problem::too_many_rows(limit));
        }
        hash.update(&part);
        spool = spool.with(part).await.map_err(|error| no_room(&error))?;
    }
    Ok(Spooled {
        reader: BufReader::new(spool.into_reader().await.map_err(|error| no_room(&error))?),
        digest: hash.finalize().into(),
    })
}

enum Spool {
    Memory(Vec<u8>),
    Disk(tokio::fs::File),
}

impl Spool {
    async fn with(self, part: Bytes) -> io::Result<Self> {
        let mut file = match self {
            Self::Memory(mut bytes) if bytes.len() + part.len() <= IN_MEMORY => {
                bytes.extend_from_slice(&part);
                return Ok(Self::Memory(bytes));
            }
            Self::Memory(bytes) => {
                let file = tokio::task::spawn_blocking(tempfile::tempfile).await;
                let mut file = tokio::fs::File::from_std(file.map_err(io::Error::other)??);
                file.write_all(&bytes).await?;
                file
            }
            Self::Disk(file) => file,
        };
        file.write_all(&part).await?;
        Ok(Self::Disk(file))
    }

    async fn into_reader(self) -> io::Result<Box<dyn Read + Send>> {
        match self {
            Self::Memory(bytes) => Ok(Box::new(Cursor::new(bytes))),
            Self::Disk(mut file) => {
                file.flush().await?;
                file.rewind().await?;
                let file: File = file.into_std().await;
                Ok(Box::new(file))
            }
        }
    }
}

fn no_room(error: &io::Error) -> Problem {
    tracing::error!(%error, "a body of rows could not be kept; look after the directory for temporary files");
    Problem::internal()
}
