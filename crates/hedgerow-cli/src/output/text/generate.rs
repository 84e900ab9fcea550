//! What `generate` has made, as text.

use std::io::{self, Write};

use super::super::{Show, count, size};
use crate::commands::generate::GenerateResult;

impl Show for GenerateResult {
    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let (rows, n_classes) = (count(self.rows), self.classes.len());
        writeln!(out, "{}: {rows} rows, {} features, {n_classes} classes", self.kind, self.features)?;
        let changes: Vec<String> = self.changes.iter().take(20).map(|&row| count(row)).collect();
        let more = if self.changes.len() > 20 { ", …" } else { "" };
        match changes.as_slice() {
            [] => {}
            [one] => writeln!(out, "  the concept changes at row {one}")?,
            all => writeln!(out, "  the concept changes at the rows {}{more}", all.join("; "))?,
        }
        writeln!(out, "saved to {} ({})", self.out.display(), size(self.bytes))
    }
}
