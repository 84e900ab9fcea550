//! The help of every command, in the words of the glossary.

use hedgerow::Kind;

use crate::program::{Program, holds};

/// Words of the glossary's second table, which must not come back, and where they may (after a `+`).
const WORDS: &str = include_str!("../../../../xtask/words.txt");

/// The first banned word in a text.
fn banned(text: &str) -> Option<&'static str> {
    let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    for name in WORDS.lines().filter_map(|line| line.strip_prefix("+ ")) {
        text = text.replace(&format!("{name}s"), "").replace(name, "");
    }
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
    WORDS.lines().filter(|line| !line.starts_with(['#', '+'])).find(|word| words.contains(word))
}

/// The commands that a help text lists.
fn commands(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(String::from).collect()
}

#[test]
fn no_help_uses_a_word_of_its_own() {
    let program = Program::new();
    let mut waiting = vec![String::new()];
    let mut n_seen = 0;
    while let Some(command) = waiting.pop() {
        for flag in ["-h", "--help"] {
            let help = program.ok(&format!("{command} {flag}"));
            assert_eq!(banned(&help), None, "hedgerow {command} {flag}");
            if flag == "--help" {
                waiting.extend(commands(&help).into_iter().map(|name| format!("{command} {name}")));
            }
        }
        n_seen += 1;
    }
    // The program, fourteen commands and three below `store`.
    assert_eq!(n_seen, 18);
}

#[test]
fn no_result_uses_a_word_of_its_own() {
    let program = Program::new();
    let check = |line: &str| {
        let output = program.output(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        for text in [&output.stdout, &output.stderr] {
            let text = String::from_utf8_lossy(text);
            assert_eq!(banned(&text), None, "hedgerow {line}: {text}");
        }
    };
    let data = "{data}/ripley_train.csv.gz --target yc";
    for kind in Kind::ALL {
        check(&format!("fit --model {kind} --help-params"));
        let kind = match kind {
            Kind::Forest => "forest --set n_trees=20".into(),
            Kind::ForestIvm => "forest-ivm --set n_trees=20 --set n_active=20".into(),
            Kind::Ivm => "ivm --set n_active=20".into(),
            Kind::Gp => "gp --set length_scale=0.5 --set signal_variance=4".into(),
            kind => kind.to_string(),
        };
        let report = "--out m.hedgerow --report r.html";
        check(&format!("fit {data} --model {kind} {report} --test {{data}}/ripley_test.csv.gz"));
        assert_eq!(banned(&visible(&program.read("r.html"))), None, "the report of {kind}");
        check("info m.hedgerow");
        check("evaluate m.hedgerow {data}/ripley_test.csv.gz --report r.html");
        assert_eq!(banned(&visible(&program.read("r.html"))), None, "the report of evaluate, {kind}");
        check("predict m.hedgerow {data}/ripley_test.csv.gz --out p.csv");
    }
    check("outliers {data}/ripley_train.csv.gz --ignore yc");
    // Names in JSON are words joined by underscores, which the check takes for spaces.
    for line in [
        "info m.hedgerow --json",
        "evaluate m.hedgerow {data}/ripley_test.csv.gz --json",
        "predict m.hedgerow {data}/ripley_test.csv.gz --out p.csv --json",
        "outliers {data}/ripley_train.csv.gz --ignore yc --json",
        &format!("fit {data} --set n_trees=20 --json"),
        &format!("train {data} --set n_trees=20 --json"),
        &format!("stream {data} --batches 2 --json"),
    ] {
        check(line);
    }
    check(&format!("train {data} --set n_trees=20"));
    check(&format!("stream {data} --batches 2"));
    check("info {data}/ripley_train.csv.gz --target yc");
    check("query m.hedgerow {data}/ripley_train.csv.gz --ignore yc");
    check("query {data}/ripley_train.csv.gz --ignore yc");
}

/// The text of a page, without its markup.
fn visible(page: &[u8]) -> String {
    let page = String::from_utf8_lossy(page);
    let body = page.split_once("<body").map_or("", |(_, body)| body);
    body.split('<')
        .map(|part| part.split_once('>').map_or(part, |(_, text)| text))
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn the_check_finds_what_it_looks_for() {
    assert_eq!(banned("Where to write the\n  Answers, as CSV"), Some("answers"));
    assert_eq!(banned("rows that judge"), Some("judge"));
    assert_eq!(banned("a machine for each class"), Some("machine"));
    assert_eq!(
        banned("The Informative Vector\n    Machine, and Relevance Vector Machines, on this machine"),
        None
    );
    assert_eq!(banned("--answers.csv"), Some("answers"));
    assert_eq!(banned("{\"n_judged\": 3}"), Some("judged"));
    assert_eq!(banned("unanswerable"), None);
    assert_eq!(
        visible(b"<html><style>answer</style><body class=\"judge\"><p>rows <b>predicted</b>").trim(),
        "rows  predicted"
    );
}

#[test]
fn a_mistyped_command_or_name_is_corrected() {
    let program = Program::new();
    for (line, meant) in [
        ("pedict m t", "'predict'"),
        ("fti t.csv", "'fit'"),
        ("store lable", "'label'"),
        ("store inof", "'info'"),
        ("fit t.csv --targte y", "'--target'"),
        ("fit t.csv --model forest_ivm", "'forest-ivm'"),
    ] {
        holds(&program.refused(line), &["tip: ", meant]);
    }
    assert!(!program.refused("store fti").contains("tip: "));
    program.write("t.csv", "len,color,kind\n1,red,a\n2,blue,b\n");
    holds(
        &program.refused("fit t.csv --target kind --set n_tree=5"),
        &["\"n_tree\"", "did you mean \"n_trees\"?", "there are: n_trees, "],
    );
    holds(&program.refused("generate sea --set nose=0.1"), &["did you mean \"noise\"?"]);
    assert!(!program.refused("fit t.csv --target kind --set color=5").contains("did you mean"));
    holds(&program.refused("fit t.csv --target knid"), &["\"knid\"", "did you mean \"kind\"?"]);
    holds(&program.refused("fit t.csv --target kind --ignore colour"), &["did you mean \"color\"?"]);
}
