//! What is in the database, and how a row lies in its table.

use std::collections::HashSet;

use hedgerow_core::{ColumnKind, Schema};

/// Rows of more columns than this are kept as one blob each: a column for every pixel is of no use.
pub const WIDE: usize = 500;

/// All tables but that of rows, whose columns depend on the data.
const TABLES: &str = "
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE columns (place INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, stored_as TEXT) STRICT;
CREATE TABLE classes (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, since INTEGER NOT NULL) STRICT;
CREATE TABLE categories (place INTEGER NOT NULL REFERENCES columns(place), id INTEGER NOT NULL, name TEXT NOT NULL, \
since INTEGER NOT NULL, PRIMARY KEY (place, id)) STRICT, WITHOUT ROWID;
CREATE TABLE labels (seq INTEGER PRIMARY KEY, row INTEGER NOT NULL REFERENCES rows(id), class INTEGER NOT NULL \
REFERENCES classes(id), replaces INTEGER REFERENCES labels(seq)) STRICT;
CREATE INDEX labels_by_row ON labels (row, seq);
CREATE TABLE runs (first_seq INTEGER PRIMARY KEY, n INTEGER NOT NULL, first_row INTEGER) STRICT;
CREATE TABLE inputs (id INTEGER PRIMARY KEY, name TEXT NOT NULL, fingerprint TEXT NOT NULL UNIQUE, head_rows INTEGER NOT NULL, \
rows INTEGER NOT NULL, is_done INTEGER NOT NULL) STRICT;
CREATE TABLE learners (name TEXT PRIMARY KEY, config TEXT NOT NULL) STRICT;
CREATE TABLE checkpoints (learner TEXT NOT NULL REFERENCES learners(name), cursor INTEGER NOT NULL, file TEXT NOT NULL, \
bytes INTEGER NOT NULL, crc32 INTEGER NOT NULL, state TEXT NOT NULL, PRIMARY KEY (learner, cursor)) STRICT;
CREATE VIEW current_labels AS SELECT l.row AS row, c.name AS label, l.seq AS seq FROM labels l JOIN classes c ON c.id = l.class \
WHERE l.seq = (SELECT max(n.seq) FROM labels n WHERE n.row = l.row);
CREATE VIEW labelled_rows AS SELECT r.*, l.label AS current_label FROM rows r JOIN current_labels l ON l.row = r.id;
";

/// How rows lie in their table.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// What the columns of the table are called; empty where a row is a blob.
    pub(super) names: Vec<String>,
    pub(super) is_wide: bool,
    pub(super) n_features: usize,
    pub(super) insert: String,
    /// The features, as they are asked for after the other columns of a query.
    pub(super) selected: String,
}

impl Layout {
    pub(super) fn new(schema: &Schema) -> Self {
        let is_wide = schema.n_features() > WIDE;
        let names = if is_wide { Vec::new() } else { column_names(schema) };
        let quoted: Vec<String> = names.iter().map(|name| quote(name)).collect();
        let columns = if is_wide { vec!["features".to_string()] } else { quoted.clone() };
        let all: Vec<&str> = ["id", "weight"].into_iter().chain(columns.iter().map(String::as_str)).collect();
        let places = vec!["?"; all.len()].join(", ");
        let insert = format!("INSERT INTO rows({}) VALUES ({places})", all.join(", "));
        let selected = columns.iter().map(|name| format!("r.{name}")).collect::<Vec<_>>().join(", ");
        Self { names, is_wide, n_features: schema.n_features(), insert, selected }
    }

    /// The statements that make the tables.
    pub(super) fn create(&self, schema: &Schema) -> String {
        let features: Vec<String> = if self.is_wide {
            vec!["features BLOB NOT NULL".into()]
        } else {
            let kind = |kind: &ColumnKind| if *kind == ColumnKind::Numeric { "REAL" } else { "TEXT" };
            let columns = self.names.iter().zip(&schema.columns);
            columns.map(|(name, column)| format!("{} {}", quote(name), kind(&column.kind))).collect()
        };
        let rows = format!(
            "CREATE TABLE rows (id INTEGER PRIMARY KEY, weight REAL, {}) STRICT;",
            features.join(", ")
        );
        rows + TABLES
    }
}

/// A name for each column that the database can tell from the others: it takes `Size` and `size` for one.
fn column_names(schema: &Schema) -> Vec<String> {
    let mut taken: HashSet<String> = ["id", "weight", "current_label"].map(String::from).into();
    let mut names = Vec::with_capacity(schema.n_features());
    for (place, column) in schema.columns.iter().enumerate() {
        let plain = match column.name.replace('\0', "") {
            name if name.is_empty() || !schema.named => format!("x{place}"),
            name => name,
        };
        let mut name = plain.clone();
        let mut n = 2;
        while !taken.insert(name.to_lowercase()) {
            name = format!("{plain}_{n}");
            n += 1;
        }
        names.push(name);
    }
    names
}

fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use hedgerow_core::Column;

    use super::*;

    #[test]
    fn every_column_has_a_name_of_its_own() {
        let columns = ["Size", "size", "id", "a \"b\"", "", "SIZE_2"].map(Column::numeric).to_vec();
        let schema = Schema { columns, named: true, ..Schema::default() };
        assert_eq!(column_names(&schema), ["Size", "size_2", "id_2", "a \"b\"", "x4", "SIZE_2_2"]);
        assert_eq!(column_names(&Schema::unnamed(2)), ["x0", "x1"]);
        assert!(Layout::new(&schema).selected.contains("r.\"a \"\"b\"\"\""));
        assert_eq!(Layout::new(&Schema::unnamed(WIDE + 1)).selected, "r.features");
    }
}
