//! Numbers in plain decimal: the exact value without exponent, trailing zeros or minus zero.
//!
//! The digits are copied from the payload and never computed with. How long the plain form will be is known before
//! the first digit is written, so that `1e999999999` costs nothing.

use super::{MAX_NUMBER_LENGTH, NotCanonical};

/// A JSON number, taken apart: `-12.50e+3` is negative, `12`, `50`, `+3`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Number<'a> {
    /// Where it starts in the payload.
    pub at: usize,
    /// Whether a minus stands before it.
    pub negative: bool,
    /// The digits before the point: `0`, or no leading zero.
    pub whole: &'a str,
    /// The digits after the point; empty if there is none.
    pub fraction: &'a str,
    /// The exponent with its sign; empty if there is none.
    pub exponent: &'a str,
}

impl Number<'_> {
    /// Writes the plain form, or refuses and writes nothing.
    pub(super) fn write(&self, out: &mut String) -> Result<(), NotCanonical> {
        let digits = self.whole.bytes().chain(self.fraction.bytes());
        let first = digits.clone().take_while(|digit| *digit == b'0').count();
        let all = self.whole.len() + self.fraction.len();
        if first == all {
            out.push('0');
            return Ok(());
        }
        let last = all - digits.rev().take_while(|digit| *digit == b'0').count();

        // The value is 0.DDD times ten to the power of `point`, where DDD are the digits from `first` to `last`.
        let point = self
            .exponent()
            .saturating_add_unsigned(self.whole.len())
            .saturating_sub_unsigned(first);
        let significant = last - first;
        let before_point = usize::try_from(point).unwrap_or(0);
        let zeros_after_point = if point < 0 { point.unsigned_abs() } else { 0 };
        let length = if before_point >= significant {
            before_point
        } else if before_point > 0 {
            significant + 1
        } else {
            zeros_after_point.saturating_add(significant + 2)
        };
        if length > MAX_NUMBER_LENGTH {
            return Err(NotCanonical::NumberTooLong { at: self.at });
        }

        if self.negative {
            out.push('-');
        }
        if before_point >= significant {
            self.write_digits(first, last, out);
            write_zeros(before_point - significant, out);
        } else if before_point > 0 {
            self.write_digits(first, first + before_point, out);
            out.push('.');
            self.write_digits(first + before_point, last, out);
        } else {
            out.push_str("0.");
            write_zeros(zeros_after_point, out);
            self.write_digits(first, last, out);
        }
        Ok(())
    }

    /// The exponent, or the nearest number that fits: a payload cannot hold enough digits to tell the two apart.
    fn exponent(&self) -> isize {
        match self.exponent.parse() {
            Ok(exponent) => exponent,
            Err(_) if self.exponent.is_empty() => 0,
            Err(_) if self.exponent.starts_with('-') => isize::MIN,
            Err(_) => isize::MAX,
        }
    }

    /// Writes the digits `from..to`, counted through whole part and fraction.
    fn write_digits(&self, from: usize, to: usize, out: &mut String) {
        let whole = self.whole.len();
        out.push_str(&self.whole[from.min(whole)..to.min(whole)]);
        out.push_str(&self.fraction[from.saturating_sub(whole)..to.saturating_sub(whole)]);
    }
}

fn write_zeros(count: usize, out: &mut String) {
    out.extend(std::iter::repeat_n('0', count));
}
