//! JSON with line breaks, for people to read. Digits, escapes and the order of keys stay as they are: it is never parsed into
//! values and written again.

use serde::de::IgnoredAny;

/// `text` with a line for each member and element; as it is, if it is no JSON.
pub(super) fn indented(text: &str) -> String {
    if serde_json::from_str::<IgnoredAny>(text).is_err() {
        return text.to_owned();
    }
    let mut writer = Writer::default();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if writer.in_string {
            writer.within_string(character);
            continue;
        }
        match character {
            ' ' | '\t' | '\r' | '\n' => {}
            '{' | '[' => {
                while characters.next_if(char::is_ascii_whitespace).is_some() {}
                writer.text.push(character);
                if let Some(end) = characters.next_if(|next| matches!(next, '}' | ']')) {
                    writer.text.push(end);
                } else {
                    writer.depth += 1;
                    writer.new_line();
                }
            }
            '}' | ']' => {
                writer.depth -= 1;
                writer.new_line();
                writer.text.push(character);
            }
            ',' => {
                writer.text.push(character);
                writer.new_line();
            }
            ':' => writer.text.push_str(": "),
            _ => {
                writer.in_string = character == '"';
                writer.text.push(character);
            }
        }
    }
    writer.text
}

#[derive(Default)]
struct Writer {
    text: String,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Writer {
    fn within_string(&mut self, character: char) {
        self.text.push(character);
        self.in_string = self.escaped || character != '"';
        self.escaped = !self.escaped && character == '\\';
    }

    fn new_line(&mut self) {
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n("  ", self.depth));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_stand_on_lines_of_their_own_and_nothing_else_changes() {
        let text = r#"{"b":1.50,"a":[ ],"c":{"d\"{,":[1,"x\\"], "e" : { }},"f":12345678901234567890.10}"#;
        let lines = r#"{
  "b": 1.50,
  "a": [],
  "c": {
    "d\"{,": [
      1,
      "x\\"
    ],
    "e": {}
  },
  "f": 12345678901234567890.10
}"#;
        assert_eq!(indented(text), lines);
        assert_eq!(indented(lines), lines);
        assert_eq!(indented(r#""a \" b""#), r#""a \" b""#);
    }

    #[test]
    fn what_is_no_json_is_left_alone() {
        assert_eq!(indented("{not json,"), "{not json,");
    }
}
