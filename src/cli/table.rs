//! Tables that one wants to look at: the same look for every verb.
//!
//! What others wrote goes to the terminal through [`visible`] only, so that no terminal obeys it.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

/// A line under the header, and nothing else that draws the eye.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table under a header.
pub(super) fn table<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> Table {
    let mut table = plain(rows);
    table.set_header(header);
    table
}

/// A table without a header.
pub(super) fn plain<const N: usize>(rows: impl IntoIterator<Item = [String; N]>) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.add_rows(rows.into_iter().map(|row| row.map(|cell| visible(&cell))));
    table
}

/// The text with its control characters escaped, such as `\u{1b}` and `\n`.
pub(super) fn visible(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for character in text.chars() {
        if character.is_control() {
            visible.extend(character.escape_default());
        } else {
            visible.push(character);
        }
    }
    visible
}

/// Numbers end where numbers end.
pub(super) fn align_right(table: &mut Table, columns: impl IntoIterator<Item = usize>) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_steer_a_terminal_is_escaped_and_everything_else_is_left() {
        let cell = "\u{1b}[2Jä\n\u{9b}\"\\".to_owned();
        assert_eq!(plain([[cell]]).trim_fmt().trim(), r#"\u{1b}[2Jä\n\u{9b}"\"#);
    }
}
