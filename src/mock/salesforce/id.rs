//! Record ids as Salesforce makes them: 15 characters in which case matters, and 3 that tell the cases.

const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The id of the record with this number, with the object's prefix of three characters.
pub(super) fn make(prefix: &str, mut number: u64) -> String {
    let mut tail = [b'0'; 9];
    for place in tail.iter_mut().rev() {
        // The remainder is below 62.
        *place = DIGITS[usize::try_from(number % 62).unwrap_or_default()];
        number /= 62;
    }
    let id = format!("{prefix:0<3}dL0{}", String::from_utf8_lossy(&tail));
    with_suffix(&id)
}

/// An id as records have it: one of 15 characters gets its suffix. None for what is no id.
pub(super) fn normal(id: &str) -> Option<String> {
    if !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return None;
    }
    match id.len() {
        15 => Some(with_suffix(id)),
        18 => Some(id.to_owned()),
        _ => None,
    }
}

fn with_suffix(id: &str) -> String {
    const LETTERS: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ012345";
    let suffix = id.as_bytes().chunks(5).map(|part| {
        let bits = part.iter().enumerate().map(|(place, byte)| {
            let upper = usize::from(byte.is_ascii_uppercase());
            upper << place
        });
        char::from(LETTERS[bits.sum::<usize>()])
    });
    id.chars().chain(suffix).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_and_tell_their_case() {
        // A pair that is known from real orgs.
        assert_eq!(normal("001A0000006Vm9r").unwrap(), "001A0000006Vm9rIAC");
        let (one, two) = (make("001", 1), make("001", 62));
        assert_ne!(one, two);
        assert_eq!(one.len(), 18);
        assert_eq!(normal(&one[..15]), Some(one));
        assert_eq!(normal("not-an-id"), None);
    }
}
