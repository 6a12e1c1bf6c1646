//! Takes the chunks of a request body apart, a piece at a time. Pure: no socket.

use super::head::Refusal;

/// Bytes that a chunk's size line or a trailer line may have.
const LINE_LIMIT: usize = 1024;
/// Bytes that all trailers together may have.
const TRAILER_LIMIT: usize = 8 * 1024;

/// Where in a chunked body the reading stands. Positions count from the body's first byte on the wire.
#[derive(Debug)]
pub(super) struct Chunks {
    position: usize,
    trailer_start: usize,
    stage: Stage,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    Size,
    Data { left: usize },
    DataEnd,
    Trailer,
    Whole,
}

impl Chunks {
    pub(super) fn new() -> Self {
        Self {
            position: 0,
            trailer_start: 0,
            stage: Stage::Size,
        }
    }

    /// Bytes on the wire that have been read so far.
    pub(super) fn consumed(&self) -> usize {
        self.position
    }

    /// Reads on in `bytes`, all that arrived since the head, and adds the data to `body`. Some when the body is
    /// whole, none when more must arrive first.
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        body: &mut Vec<u8>,
        limit: usize,
    ) -> Result<Option<()>, Refusal> {
        loop {
            let rest = &bytes[self.position..];
            match self.stage {
                Stage::Size => {
                    let Some(line) = line(rest)? else { return Ok(None) };
                    let size = read_size(line)?;
                    if size > limit.saturating_sub(body.len()) {
                        return Err(Refusal::BodyTooLarge);
                    }
                    self.position += line.len() + 2;
                    self.trailer_start = self.position;
                    self.stage = if size == 0 {
                        Stage::Trailer
                    } else {
                        Stage::Data { left: size }
                    };
                }
                Stage::Data { left } => {
                    let taken = left.min(rest.len());
                    body.extend_from_slice(&rest[..taken]);
                    self.position += taken;
                    if taken < left {
                        self.stage = Stage::Data { left: left - taken };
                        return Ok(None);
                    }
                    self.stage = Stage::DataEnd;
                }
                Stage::DataEnd => {
                    let Some(line) = line(rest)? else { return Ok(None) };
                    if !line.is_empty() {
                        return Err(Refusal::Malformed);
                    }
                    self.position += 2;
                    self.stage = Stage::Size;
                }
                Stage::Trailer => {
                    let Some(line) = line(rest)? else { return Ok(None) };
                    self.position += line.len() + 2;
                    if line.is_empty() {
                        self.stage = Stage::Whole;
                    } else if self.position - self.trailer_start > TRAILER_LIMIT {
                        return Err(Refusal::HeadTooLarge);
                    }
                }
                Stage::Whole => return Ok(Some(())),
            }
        }
    }
}

/// The first line, without its end; none if the end has not arrived.
fn line(bytes: &[u8]) -> Result<Option<&[u8]>, Refusal> {
    let window = &bytes[..bytes.len().min(LINE_LIMIT)];
    match window.windows(2).position(|pair| pair == b"\r\n") {
        Some(end) => Ok(Some(&bytes[..end])),
        None if bytes.len() >= LINE_LIMIT => Err(Refusal::Malformed),
        None => Ok(None),
    }
}

fn read_size(line: &[u8]) -> Result<usize, Refusal> {
    let digits = line
        .split(|byte| *byte == b';')
        .next()
        .unwrap_or_default()
        .trim_ascii_end();
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err(Refusal::Malformed);
    }
    let text = str::from_utf8(digits).map_err(|_| Refusal::Malformed)?;
    usize::from_str_radix(text, 16).map_err(|_| Refusal::BodyTooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIRE: &[u8] = b"4;note=x\r\nwiki\r\n5\r\npedia\r\n0\r\ntrailer: x\r\n\r\nPOST";

    #[test]
    fn a_chunked_body_is_the_same_however_its_bytes_arrive() {
        for cut in 0..WIRE.len() - 4 {
            let (mut chunks, mut body) = (Chunks::new(), Vec::new());
            assert_eq!(chunks.read(&WIRE[..cut], &mut body, 9), Ok(None), "cut at {cut}");
            assert_eq!(chunks.read(WIRE, &mut body, 9), Ok(Some(())));
            assert_eq!(body, b"wikipedia");
            assert_eq!(&WIRE[chunks.consumed()..], b"POST");
        }
    }

    #[test]
    fn a_chunked_body_beyond_a_limit_or_without_its_framing_is_refused() {
        let read = |wire: &[u8]| Chunks::new().read(wire, &mut Vec::new(), 8);
        assert_eq!(read(WIRE), Err(Refusal::BodyTooLarge));
        assert_eq!(read(b"ffffffffffffffffffff\r\n"), Err(Refusal::BodyTooLarge));
        assert_eq!(read(b"x\r\n"), Err(Refusal::Malformed));
        assert_eq!(read(b"\r\n"), Err(Refusal::Malformed));
        assert_eq!(read(b"1\r\nab\r\n"), Err(Refusal::Malformed));
        assert_eq!(read(&[b'1'; LINE_LIMIT]), Err(Refusal::Malformed));
        let endless_trailers = [b"0\r\n".as_slice(), &b"a: b\r\n".repeat(TRAILER_LIMIT)].concat();
        assert_eq!(read(&endless_trailers), Err(Refusal::HeadTooLarge));
    }
}
