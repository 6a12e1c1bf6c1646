//! An event is a line: what holds line breaks, an error of a parser or a text of a receiver, is written with `\\n` in their place.
//!
//! So nobody who can choose a text can write a line of their own into the log.

use std::io::{self, Write};

use tracing::Metadata;
use tracing_subscriber::fmt::MakeWriter;

/// Makes writers that put each event on one line.
pub(super) struct OneLine<M> {
    inner: M,
}

/// Writes one event.
pub(super) struct Line<W> {
    inner: W,
}

impl<M> OneLine<M> {
    /// Over the writers that `inner` makes.
    pub(super) fn of(inner: M) -> Self {
        Self { inner }
    }
}

impl<'a, M: MakeWriter<'a>> MakeWriter<'a> for OneLine<M> {
    type Writer = Line<M::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        Line {
            inner: self.inner.make_writer(),
        }
    }

    fn make_writer_for(&'a self, meta: &Metadata<'_>) -> Self::Writer {
        Line {
            inner: self.inner.make_writer_for(meta),
        }
    }
}

impl<W: Write> Write for Line<W> {
    /// An event comes whole, with the end of its line.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        match event.split_last() {
            Some((b'\n', line)) if line.iter().any(|byte| matches!(byte, b'\n' | b'\r')) => {
                let mut whole = Vec::with_capacity(event.len() + 16);
                for byte in line {
                    match byte {
                        b'\n' => whole.extend(b"\\n"),
                        b'\r' => whole.extend(b"\\r"),
                        byte => whole.push(*byte),
                    }
                }
                whole.push(b'\n');
                self.inner.write_all(&whole)?;
                Ok(event.len())
            }
            _ => self.inner.write(event),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
