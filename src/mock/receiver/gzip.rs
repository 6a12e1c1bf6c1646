//! Builds the gzip bomb's material by hand, so that a mock needs no compressor. Pure.

/// Zeros that one member inflates to.
const INFLATED: u32 = 1024 * 1024;
/// The CRC-32 of that many zeros.
const CHECKSUM: u32 = 0xa738_ea1c;
/// What one back-reference can repeat at most (RFC 1951, length code 285).
const LONGEST: u32 = 258;

/// A gzip member (RFC 1952) that inflates to 1 MiB of zeros. Members in a row are a valid file too, so a bomb of any
/// size is this, repeated.
pub(super) fn mebibyte_of_zeros() -> Vec<u8> {
    let mut bits = Bits::default();
    // One final block with the fixed codes: a literal zero, then "go one back and repeat 258 times".
    bits.push(1, 1);
    bits.push(0b01, 2);
    let repeats = (INFLATED - 1) / LONGEST;
    for _ in 0..INFLATED - repeats * LONGEST {
        bits.push_code(0b0011_0000, 8);
    }
    for _ in 0..repeats {
        bits.push_code(0b1100_0101, 8);
        bits.push_code(0, 5);
    }
    bits.push_code(0, 7);
    let mut member = b"\x1f\x8b\x08\0\0\0\0\0\0\xff".to_vec();
    member.append(&mut bits.into_bytes());
    member.extend_from_slice(&CHECKSUM.to_le_bytes());
    member.extend_from_slice(&INFLATED.to_le_bytes());
    member
}

/// Bits in deflate's order: into each byte from its lowest bit.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: u32,
}

impl Bits {
    fn push(&mut self, value: u32, count: u32) {
        for bit in 0..count {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            if let Some(last) = self.bytes.last_mut() {
                *last |= u8::from(value >> bit & 1 == 1) << (self.used % 8);
            }
            self.used += 1;
        }
    }

    /// Huffman codes alone go in from their highest bit.
    fn push_code(&mut self, code: u32, count: u32) {
        self.push(code.reverse_bits() >> (32 - count), count);
    }

    fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_zeros() {
        let mut crc = u32::MAX;
        for _ in 0..INFLATED * 8 {
            crc = (crc >> 1) ^ (0xedb8_8320 * (crc & 1));
        }
        assert_eq!(!crc, CHECKSUM);
    }

    #[test]
    fn the_bomb_is_small_and_begins_as_gzip_does() {
        let member = mebibyte_of_zeros();
        assert!(member.starts_with(b"\x1f\x8b\x08"));
        assert!(member.len() < 7000, "{} bytes", member.len());
    }
}
