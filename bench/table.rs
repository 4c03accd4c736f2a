//! The output of a benchmark: tables, printed line by line and stored for `bench/record`.

use std::str::FromStr;

use serde_json::{Map, Value, json};

/// Where `bench/record` wants the tables.
const FILE: &str = "BENCH_TABLES";

/// A table that grows while it is measured.
pub(crate) struct Table {
    name: &'static str,
    columns: Vec<String>,
    rows: Vec<Value>,
}

impl Table {
    /// A table whose first column names what was measured. Prints its header.
    pub(crate) fn new(name: &'static str, columns: &[impl AsRef<str>]) -> Self {
        let columns: Vec<String> = columns.iter().map(|column| column.as_ref().to_owned()).collect();
        print(columns.iter().cloned());
        Self {
            name,
            columns,
            rows: Vec::new(),
        }
    }

    /// Adds a line, and prints it.
    pub(crate) fn push(&mut self, name: &str, figures: &[f64]) {
        let figures = figures.iter().map(|figure| significant(*figure));
        let cells = std::iter::once(Value::from(name)).chain(figures);
        self.rows.push(cells.collect());
        if let Some(Value::Array(cells)) = self.rows.last() {
            print(
                cells
                    .iter()
                    .map(|cell| cell.as_str().map_or_else(|| cell.to_string(), str::to_owned)),
            );
        }
    }
}

/// Stores the tables where `bench/record` wants them, if it runs this.
pub(crate) fn leave(tables: Vec<Table>) -> std::io::Result<()> {
    let Some(file) = std::env::var_os(FILE) else {
        return Ok(());
    };
    let tables: Map<String, Value> = tables
        .into_iter()
        .map(|table| {
            let content = json!({"columns": table.columns, "rows": table.rows});
            (table.name.to_owned(), content)
        })
        .collect();
    std::fs::write(file, Value::Object(tables).to_string())
}

/// The value of an argument `--name=VALUE`, or the default.
pub(crate) fn argument<T: FromStr>(name: &str, otherwise: T) -> T {
    arguments(name).next().unwrap_or(otherwise)
}

/// The values of an argument `--name=VALUE` that may be repeated.
pub(crate) fn arguments<T: FromStr>(name: &str) -> impl Iterator<Item = T> {
    std::env::args().filter_map(move |argument| argument.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
}

/// Measurements are rounded to three digits. Counts are whole numbers, and stay exact.
fn significant(figure: f64) -> Value {
    if figure.fract() == 0.0 {
        return format!("{figure:.0}")
            .parse::<u64>()
            .map_or(Value::Null, Value::from);
    }
    let rounded = format!("{figure:.2e}").parse::<f64>().unwrap_or(figure);
    if rounded.fract() == 0.0 {
        return significant(rounded);
    }
    json!(rounded)
}

fn print(cells: impl Iterator<Item = String>) {
    let line: Vec<String> = cells
        .enumerate()
        .map(|(number, cell)| {
            if number == 0 {
                format!("{cell:<44}")
            } else {
                format!("  {cell:>14}")
            }
        })
        .collect();
    println!("{}", line.concat().trim_end());
}
