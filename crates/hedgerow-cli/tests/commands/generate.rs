//! `hedgerow generate`.

use crate::program::{Program, holds};
use hedgerow::core::Params as _;
use hedgerow::core::synth::{Changes, Generator, HyperplaneParams, Schedule};

/// The rows of a table as numbers, without the header.
fn numbers(text: &str) -> Vec<Vec<f32>> {
    text.lines().skip(1).map(|line| line.split(',').map(|field| field.parse().unwrap()).collect()).collect()
}

#[test]
fn help_has_examples() {
    let program = Program::new();
    let help = program.ok("generate --help");
    holds(&help, &["Examples:", "  hedgerow generate sea ", "| hedgerow stream", "--json", "counted from 0"]);
    holds(&program.ok("--help"), &["generate"]);
    for kind in ["sea", "hyperplane", "rtg", "led", "label-swap"] {
        holds(&help, &[kind]);
        holds(&program.ok(&format!("generate {kind} --help-params")), &["seed", "default: 0"]);
    }
}

#[test]
fn every_kind_makes_the_rows_asked_for() {
    let program = Program::new();
    for (kind, n_fields) in [
        ("sea", 4),
        ("hyperplane", 11),
        ("hyperplane --features 20", 21),
        ("rtg", 11),
        ("rtg --features 30 --set n_categorical=0", 31),
        ("rtg --features 7", 8),
        ("led", 25),
        ("led --features 9", 10),
        ("label-swap --data {data}/digits.csv.gz --target digit --swap 1:7", 65),
    ] {
        let text = program.ok(&format!("generate {kind} --rows 3000 --seed 5"));
        assert_eq!(text.lines().count(), 3_001, "{kind}");
        assert!(text.lines().all(|line| line.split(',').count() == n_fields), "{kind}");
        assert_eq!(program.ok(&format!("generate {kind} --rows 3000 --set seed=5")), text, "{kind}");
        assert_ne!(program.ok(&format!("generate {kind} --rows 3000 --seed 6")), text, "{kind}");
        // Fewer rows are the first of more, as long as the concept does not change.
        let none = program.ok(&format!("generate {kind} --seed 5 --drift none --rows 3000"));
        let few = program.ok(&format!("generate {kind} --seed 5 --drift none --rows 40"));
        assert_eq!(none.lines().take(41).collect::<Vec<_>>(), few.lines().collect::<Vec<_>>(), "{kind}");
    }
    assert_eq!(program.ok("generate sea --rows 0"), "x0,x1,x2,class\n");
    assert_eq!(program.ok("generate sea").lines().count(), 10_001);
}

#[test]
fn the_concept_changes_where_it_is_told_to() {
    let program = Program::new();
    let follows = |text: &str, thetas: &[f32]| {
        let rows = numbers(text);
        let stretch = rows.len() / thetas.len();
        rows.iter().enumerate().all(|(i, row)| (row[0] + row[1] <= thetas[i / stretch]) == (row[3] == 1.0))
    };
    let sea = |arguments: &str| program.ok(&format!("generate sea --rows 4000 --noise 0 {arguments}"));
    assert!(follows(&sea(""), &[8.0]));
    assert!(follows(&sea("--drift abrupt"), &[8.0, 9.0, 7.0, 9.5]));
    assert!(follows(&sea("--every 1000"), &[8.0, 9.0, 7.0, 9.5]));
    assert!(follows(&sea("--at 2000"), &[8.0, 9.0]));
    assert!(follows(&sea("--drift recurring"), &[8.0, 9.0, 8.0, 9.0]));
    let gradual = sea("--drift gradual --at 2000 --width 800");
    assert!(!follows(&gradual, &[8.0]) && !follows(&gradual, &[8.0, 9.0]));
    assert_eq!(sea("--at 2000 --width 800"), gradual);
    // Rows of the new concept come before the middle, rows of the old one after it.
    let between = |row: &Vec<f32>| row[0] + row[1] > 8.0 && row[0] + row[1] <= 9.0;
    let rows = numbers(&gradual);
    assert!(rows[1_600..2_000].iter().any(|row| between(row) && row[3] == 1.0));
    assert!(rows[2_000..2_400].iter().any(|row| between(row) && row[3] == 0.0));
}

#[test]
fn numbers_read_back_are_the_numbers_made() {
    let program = Program::new();
    let text = program.ok("generate hyperplane --rows 5000 --seed 9 --features 6 --every 1000 --noise 0.2");
    let params =
        HyperplaneParams { n_features: 6, magnitude: 0.0, noise: 0.2, seed: 9, ..Default::default() };
    let schedule = Schedule::abrupt(Changes::every(1_000).unwrap());
    let mut made = Generator::hyperplane(&params.check().unwrap(), schedule);
    let mut row = Vec::new();
    for read in numbers(&text) {
        let class = made.next_into(&mut row);
        assert_eq!(read[..6], row);
        assert_eq!(read[6], class.0 as f32);
    }
}

#[test]
fn a_file_holds_the_same_rows_and_its_changes_are_told() {
    let program = Program::new();
    let line = "generate led --rows 2000 --drift abrupt";
    let result = program.json(&format!("{line} --out led.csv"));
    assert_eq!(program.read("led.csv"), program.ok(line).as_bytes());
    assert_eq!(result["changes"], serde_json::json!([500, 1_000, 1_500]));
    assert_eq!((&result["kind"], &result["rows"]), (&"led".into(), &2_000.into()));
    assert_eq!((&result["features"], &result["bytes"]), (&24.into(), &program.read("led.csv").len().into()));
    let text = program.ok(&format!("{line} --out led.csv"));
    holds(&text, &["led: 2,000 rows, 24 features, 10 classes", "500; 1,000; 1,500", "saved to led.csv"]);
    let text = program.ok("generate sea --rows 20 --out sea.csv");
    assert!(!text.contains("changes"), "{text}");
}

#[test]
fn rows_can_be_learned_straight_from_the_pipe() {
    let program = Program::new();
    // The most frequent class alone would give 0.54 and 0.68; 3,000 rows are few for the tree of rtg.
    for (kind, least) in [("rtg", 0.7), ("sea --noise 0", 0.95)] {
        let rows = program.ok(&format!("generate {kind} --rows 4000"));
        let fit = "fit - --format csv --target class --set n_trees=20 --holdout 0.25 --json";
        let output = program.command(fit).write_stdin(rows).output().unwrap();
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let accuracy = result["metrics"]["accuracy"].as_f64().unwrap();
        assert!(accuracy > least, "{kind}: {accuracy}");
    }
}

#[test]
fn exchanged_labels_keep_words_gaps_and_names() {
    let program = Program::new();
    let data = "size,color,\"is it, really\",kind\n1.5,red,yes,\"a, b\"\n,blue,no,plain\n2,,yes,other\n";
    program.write("data.csv", data);
    let line = "generate label-swap --data data.csv --target kind --rows 6 --set";
    let text = program.ok(&format!("{line} swap=[[\"plain\",\"other\"]]"));
    let (header, rows) = text.split_once('\n').unwrap();
    assert_eq!(header, "size,color,\"is it, really\",kind");
    let sorted = |lines: &[&str]| {
        let mut lines = lines.to_vec();
        lines.sort_unstable();
        lines.join("\n")
    };
    let rows: Vec<&str> = rows.lines().collect();
    // The change is half way, where the three rows begin again.
    assert_eq!(sorted(&rows[..3]), ",blue,no,plain\n1.5,red,yes,\"a, b\"\n2,,yes,other");
    assert_eq!(sorted(&rows[3..]), ",blue,no,other\n1.5,red,yes,\"a, b\"\n2,,yes,plain");

    program.write("bare.csv", "1,0.5,0\n2,0.25,1\n");
    let text = program
        .ok("generate label-swap --data bare.csv --no-header --target 2 --swap 0:1 --rows 2 --drift none");
    assert_eq!(text.lines().next(), Some("x0,x1,class"));
    assert_eq!(sorted(&text.lines().skip(1).collect::<Vec<_>>()), "1,0.5,0\n2,0.25,1");
}

#[test]
fn a_closed_pipe_is_no_error() {
    let program = Program::new();
    assert_eq!(program.first_line("generate sea --rows 1000000000000 --every 1"), "x0,x1,x2,class\n");
}

#[test]
fn what_makes_no_sense_is_explained() {
    let program = Program::new();
    for (line, wanted) in [
        ("generate", &["KIND"][..]),
        ("generate ocean", &["ocean", "sea"]),
        ("generate sea --rows many", &["--rows", "many"]),
        ("generate sea --noise 2", &["noise", "0 to 1", "2"]),
        ("generate sea --features 5", &["--features", "3 columns"]),
        ("generate sea --set depth=3", &["depth", "noise, seed"]),
        ("generate sea --set noise", &["NAME=VALUE"]),
        ("generate led --features 3", &["--features", "7"]),
        ("generate hyperplane --features 0", &["n_features", "1 to"]),
        ("generate rtg --set depth=30", &["depth", "nodes"]),
        ("generate sea --drift sudden", &["sudden", "abrupt"]),
        ("generate sea --drift none --every 10", &["--every", "--drift none"]),
        ("generate sea --drift abrupt --width 10", &["--width", "gradual"]),
        ("generate sea --every 10 --at 5", &["--every", "--at"]),
        ("generate sea --every 0", &["--every", "0"]),
        ("generate sea --at 300,200", &["rising order", "300 before 200"]),
        ("generate sea --at 0", &["above 0"]),
        ("generate sea --rows 100 --at 100", &["row 100", "never", "--rows"]),
        ("generate sea --rows 100 --every 200", &["row 200", "never"]),
        ("generate sea --data x.csv", &["--data", "label-swap"]),
        ("generate sea --json", &["--json", "--out"]),
        ("generate sea --out missing/x.csv", &["missing"]),
        ("generate label-swap --swap 1:2", &["--data"]),
        ("generate label-swap --data x.csv", &["--swap"]),
        ("generate label-swap --data x.csv --swap 12", &["12", "colon"]),
        ("generate label-swap --data x.csv --swap 1:2,2:3", &["swap", "once", "\"2\""]),
        ("generate label-swap --data x.csv --swap 1:2 --noise 0.1", &["--noise", "label-swap"]),
        ("generate label-swap --data no.csv --target y --swap 1:2", &["no.csv"]),
        ("generate label-swap --data {data}/digits.csv.gz --target digit --swap 1:x", &["\"x\"", "0, 1, 2"]),
    ] {
        holds(&program.refused(line), wanted);
    }
    assert!(program.names().is_empty(), "something was written");
}

#[test]
fn rows_never_replace_what_they_are_made_from() {
    let program = Program::new();
    program.write("data.csv", "x,y\n1,0\n2,1\n");
    let line = "generate label-swap --data data.csv --target y --swap 0:1 --out ./data.csv";
    holds(&program.refused(line), &["data.csv", "overwrite"]);
    assert_eq!(program.read("data.csv"), b"x,y\n1,0\n2,1\n");
}

#[test]
fn true_probabilities_follow_the_label() {
    use hedgerow::core::synth::{KnownParams, Problem};

    let program = Program::new();
    for problem in Problem::ALL {
        let name = problem.name();
        let text = program.ok(&format!("generate {name} --rows 300 --truth --seed 4"));
        let mut made =
            Generator::known(*problem, &KnownParams { n_features: 0, seed: 4 }.check().unwrap()).unwrap();
        let (d, mut row) = (made.schema().n_features(), Vec::new());
        let header = text.lines().next().unwrap();
        assert!(header.contains(",class,p_0,p_1"), "{header}");
        for read in numbers(&text) {
            let class = made.next_into(&mut row);
            let truth: Vec<f32> = made.probabilities(&row).unwrap().iter().map(|p| *p as f32).collect();
            assert_eq!(
                (&read[..d], read[d], &read[d + 1..]),
                (&row[..], class.0 as f32, &truth[..]),
                "{name}"
            );
        }
        // The rows are the same without.
        let plain = program.ok(&format!("generate {name} --rows 300 --seed 4"));
        assert!(text.lines().zip(plain.lines()).all(|(with, without)| with.starts_with(without)));
    }
    let text = program.ok("generate twonorm --features 5 --rows 2");
    assert!(text.starts_with("x0,x1,x2,x3,x4,class\n"), "{text}");
    for (line, said) in [
        ("generate sea --truth", "not known"),
        ("generate twonorm --drift abrupt", "never changes"),
        ("generate twonorm --noise 0.1", "n_features"),
        ("generate waveform --features 5", "21"),
    ] {
        holds(&program.refused(line), &[said]);
    }
}
