//! Tables as spreadsheets write them: other delimiters, decimal commas, dates.

use crate::program::{Program, holds};

/// Rows of two numbers, a color and a class.
fn table(n_rows: usize) -> String {
    let row = |i: usize| {
        let (a, color) = (i * 37 % 101, ["red", "blue"][i % 2]);
        format!("{a}.5,{}.25,{color},{}\n", i % 7, if a < 50 { "low" } else { "high" })
    };
    "a,b,color,kind\n".to_string() + &(0..n_rows).map(row).collect::<String>()
}

#[test]
fn a_table_of_a_spreadsheet_gives_the_same_model() {
    let program = Program::new();
    let text = table(80);
    let comma = text.replace(',', ";").replace('.', ",");
    program.write("t.csv", &text);
    program.write("semicolons.csv", &comma);
    program.write("tabs.csv", text.replace(',', "\t"));
    program.write("hashes.csv", comma.replace(';', "#"));
    let fit = "--target kind --set n_trees=5 --seed 1 --out";
    program.ok(&format!("fit t.csv {fit} a.hedgerow"));
    program.ok(&format!("fit semicolons.csv {fit} b.hedgerow"));
    program.ok(&format!("fit tabs.csv {fit} c.hedgerow"));
    program.ok(&format!("fit hashes.csv --delimiter # --decimal , {fit} d.hedgerow"));
    let expected = program.ok("predict a.hedgerow t.csv --proba");
    for (model, data) in [
        ("b", "semicolons.csv"),
        ("c", "t.csv"),
        ("d", "tabs.csv"),
        ("a", "hashes.csv --delimiter # --decimal comma"),
    ] {
        assert_eq!(
            program.ok(&format!("predict {model}.hedgerow {data} --proba")),
            expected,
            "{model} {data}"
        );
    }
    assert_eq!(program.json("evaluate a.hedgerow semicolons.csv")["rows"], 80);
    assert_eq!(program.json("stream semicolons.csv --target kind --set n_trees=5")["rows"], 80);
    let piped = "predict a.hedgerow - --format csv --proba";
    let piped = program.command(piped).write_stdin(comma).output().unwrap();
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), expected);
}

#[test]
fn a_wrong_delimiter_is_named() {
    let program = Program::new();
    program.write("t.csv", table(20));
    let message = program.refused("fit t.csv --target kind --delimiter tab");
    holds(&message, &["t.csv", "\"kind\"", "a,b,color,kind", "split at every tab", "--delimiter"]);
    holds(&program.refused("fit t.csv --target kind --delimiter ab"), &["semicolon"]);
    holds(&program.refused("fit t.csv --target kind --decimal '"), &["expected . or ,"]);
}

#[test]
fn a_file_that_is_not_there_is_told_once() {
    let program = Program::new();
    program.write("t.csv", table(20));
    for (line, file) in [
        ("predict no.hedgerow t.csv", "no.hedgerow"),
        ("evaluate no.hedgerow t.csv", "no.hedgerow"),
        ("info no.hedgerow", "no.hedgerow"),
        ("fit no.csv --target kind", "no.csv"),
        ("fit t.csv --target kind --set n_trees=2 --test no.csv", "no.csv"),
    ] {
        let message = program.refused(line);
        let system = std::io::Error::from_raw_os_error(2).to_string();
        assert_eq!(message.matches(&system).count(), 1, "{line}: {message}");
        assert_eq!(message.trim_end(), format!("hedgerow: error: {file}: {system}"), "{line}");
    }
}

#[test]
fn dates_get_a_note() {
    let program = Program::new();
    let rows = |date: fn(usize) -> String| -> String {
        let rows: String = (0..56).map(|i| format!("{},{},{}\n", date(i), i % 5, i % 2)).collect();
        format!("when,x,kind\n{rows}")
    };
    program.write("t.csv", rows(|i| format!("2024-02-{:02}", 1 + i % 28)));
    program.write("plain.csv", rows(|i| format!("v{}", i % 28)));
    let note = "column \"when\" looks like dates and is treated as 28 categories";
    for command in ["fit", "train --rounds 2", "stream", "info"] {
        let set = if command == "info" { "" } else { "--set n_trees=2" };
        let output = |name: &str| program.output(&format!("{command} {name}.csv --target kind {set}"));
        let (with, without) = (output("t"), output("plain"));
        let errors = String::from_utf8(with.stderr).unwrap();
        assert!(with.status.success() && without.status.success(), "{command}: {errors}");
        assert_eq!(errors.matches(note).count(), 1, "{command}: {errors}");
        assert!(!String::from_utf8(without.stderr).unwrap().contains("dates"), "{command}");
        assert!(!String::from_utf8(with.stdout).unwrap().contains("looks like dates"), "{command}");
    }
    let meant = program.output("fit t.csv --target kind --categorical when --set n_trees=2");
    assert!(!String::from_utf8(meant.stderr).unwrap().contains("dates"));
}
