//! Tables that one wants to look at: the same look for every verb.

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
    table.add_rows(rows);
    table
}

/// Numbers end where numbers end.
pub(super) fn align_right(table: &mut Table, columns: impl IntoIterator<Item = usize>) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}
