//! `hedgerow predict`.

use std::fmt::Write as _;

use crate::program::{Program, holds};

#[test]
fn a_row_is_predicted_with_a_label_and_its_probability() {
    let program = Program::with_ripley();
    let text = program.ok("predict m.hedgerow {data}/ripley_test.csv.gz");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("prediction,probability"));
    assert_eq!(lines.clone().count(), 1000);
    for line in lines {
        let (label, probability) = line.split_once(',').unwrap();
        assert!(label == "0" || label == "1");
        assert!((0.5..=1.0).contains(&probability.parse::<f64>().unwrap()), "{line}");
    }
}

#[test]
fn probabilities_of_all_classes_sum_to_one() {
    let program = Program::new();
    program.ok("fit {data}/digits.csv.gz --target digit --set n_trees=5 --out m.hedgerow");
    let text = program.ok("predict m.hedgerow {data}/digits.csv.gz --proba");
    let header = "prediction,probability,p_0,p_1,p_2,p_3,p_4,p_5,p_6,p_7,p_8,p_9";
    assert_eq!(text.lines().next(), Some(header));
    for line in text.lines().skip(1) {
        let fields: Vec<f64> = line.split(',').map(|field| field.parse().unwrap()).collect();
        let (prediction, best, all) = (fields[0] as usize, fields[1], &fields[2..]);
        assert!((all.iter().sum::<f64>() - 1.0).abs() < 1e-5, "{line}");
        assert!(all.iter().all(|&p| p <= best) && all[prediction] == best, "{line}");
    }
}

#[test]
fn standard_input_is_a_file_like_any_other() {
    let program = Program::with_titanic();
    let rows = "Class,Sex,Age\n1st,Female,Adult\nCrew,Male,Adult\n";
    program.write("rows.csv", rows);
    let from_file = program.ok("predict m.hedgerow rows.csv --proba");
    let piped =
        program.command("predict m.hedgerow - --format csv --proba").write_stdin(rows).output().unwrap();
    assert!(piped.status.success());
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), from_file);
    assert_eq!(from_file.lines().count(), 3);
    let untold = program.command("predict m.hedgerow -").write_stdin(rows).output().unwrap();
    holds(&crate::program::refused("no format", &untold), &["--format"]);
}

#[test]
fn columns_are_found_by_name_wherever_they_stand() {
    let program = Program::with_titanic();
    program.write("a.csv", "Class,Sex,Age\n1st,Female,Adult\nCrew,Male,Adult\n3rd,Male,Child\n");
    program.write("b.csv", "Age,Class,Sex\nAdult,1st,Female\nAdult,Crew,Male\nChild,3rd,Male\n");
    program.write(
        "labelled.csv",
        "Survived,Age,Class,Sex\nNo,Adult,1st,Female\nNo,Adult,Crew,Male\n,Child,3rd,Male\n",
    );
    let predictions = program.ok("predict m.hedgerow a.csv --proba");
    assert_eq!(program.ok("predict m.hedgerow b.csv --proba"), predictions);
    assert_eq!(program.ok("predict m.hedgerow labelled.csv --proba"), predictions);
}

#[test]
fn missing_and_extra_columns_are_refused_by_name() {
    let program = Program::with_titanic();
    program.write("less.csv", "Class,Age\n1st,Adult\n");
    program.write("more.csv", "Class,Sex,Age,Cabin\n1st,Male,Adult,B5\n");
    for verb in ["predict", "evaluate"] {
        holds(&program.refused(&format!("{verb} m.hedgerow less.csv")), &["less.csv", "\"Sex\"", "missing"]);
        let message = program.refused(&format!("{verb} m.hedgerow more.csv"));
        holds(&message, &["more.csv", "\"Cabin\"", "--ignore"]);
    }
    let ignored = program.ok("predict m.hedgerow more.csv --ignore Cabin");
    assert_eq!(ignored.lines().count(), 2);
}

#[test]
fn unknown_categories_and_missing_values_are_predicted() {
    let program = Program::with_titanic();
    program.write("odd.csv", "Class,Sex,Age\nPenguin,Female,Adult\n,Female,Adult\n,,\n");
    let text = program.ok("predict m.hedgerow odd.csv --proba");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[1], lines[2], "an unknown category counts as a missing value");
}

#[test]
fn a_file_larger_than_the_memory_is_predicted_in_batches() {
    let program = Program::with_ripley();
    let mut text = "xs,ys\n".to_string();
    for i in 0..400_000_u32 {
        let (x, y) = (f64::from(i % 1013) / 700.0 - 0.5, f64::from(i % 997) / 900.0);
        writeln!(text, "{x:.50},{y:.50}").unwrap();
    }
    program.write("many.csv", &text);
    let result = program.json("predict m.hedgerow many.csv --out predictions.csv");
    assert_eq!(result["rows"], 400_000);
    if let Some(peak) = result["peak_memory_bytes"].as_u64() {
        assert!(peak < text.len() as u64 / 2, "{peak} bytes of memory for a file of {}", text.len());
    }
    assert_eq!(program.read("predictions.csv").iter().filter(|&&b| b == b'\n').count(), 400_001);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let program = Program::new();
    program.ok("fit {data}/banana.csv.gz --target label --set n_trees=3 --out m.hedgerow");
    assert_eq!(
        program.first_line("predict m.hedgerow {data}/banana.csv.gz --proba"),
        "prediction,probability,p_-1,p_1\n"
    );
}

#[test]
fn metrics_and_predictions_do_not_share_standard_output() {
    let program = Program::with_ripley();
    let message = program.refused("predict m.hedgerow {data}/ripley_test.csv.gz --json");
    holds(&message, &["--json", "--out"]);
    let result = program.json("predict m.hedgerow {data}/ripley_test.csv.gz --out p.csv --latency");
    assert_eq!(result["rows"], 1000);
    assert!(result["one_row_seconds"]["median"].as_f64().unwrap() > 0.0);
    let text = program.ok("predict m.hedgerow {data}/ripley_test.csv.gz --out p.csv");
    holds(&text, &["1,000 rows predicted"]);
}

#[test]
fn predictions_never_replace_the_rows_they_are_about() {
    let program = Program::with_ripley();
    let rows = format!("xs,ys\n{}", "0.25,0.75\n".repeat(200_000));
    program.write("rows.csv", &rows);
    holds(&program.refused("predict m.hedgerow rows.csv --out rows.csv"), &["rows.csv"]);
    assert!(program.read("rows.csv") == rows.as_bytes(), "the data are gone");
    let model = program.read("m.hedgerow");
    holds(&program.refused("predict m.hedgerow rows.csv --out ./m.hedgerow"), &["m.hedgerow"]);
    assert!(program.read("m.hedgerow") == model, "the model is gone");
}

#[test]
fn predictions_do_not_depend_on_threads() {
    let program = Program::with_ripley();
    let one = program.ok("predict m.hedgerow {data}/ripley_test.csv.gz --proba --threads 1");
    assert_eq!(program.ok("predict m.hedgerow {data}/ripley_test.csv.gz --proba --threads 3"), one);
}

#[test]
fn the_message_of_the_system_is_printed_once() {
    let program = Program::new();
    program.write("t.csv", "x,y\n1,2\n");
    let message = program.refused("predict nowhere.hedgerow t.csv");
    let system = std::io::Error::from_raw_os_error(2).to_string();
    assert_eq!(message.matches(&system).count(), 1, "{message}");
    assert_eq!(message.matches("nowhere.hedgerow").count(), 1, "{message}");
}

#[test]
fn sets_hold_the_class_of_the_wanted_share_of_rows() {
    let program = Program::with_ripley();
    let truth = program.ok("predict m.hedgerow {data}/ripley_test.csv.gz --sets 0.6 --proba");
    assert_eq!(truth.lines().next(), Some("prediction,probability,p_0,p_1,set"));
    let sizes = |options: &str| {
        let text =
            program.ok(&format!("predict m.hedgerow {{data}}/ripley_test.csv.gz --sets 0.6 {options}"));
        let size = |line: &str| match line.rsplit_once(',').unwrap().1 {
            "" => 0,
            set => {
                assert!(["0", "1", "0|1"].contains(&set), "{line}");
                set.split('|').count()
            }
        };
        text.lines().skip(1).map(size).collect::<Vec<_>>()
    };
    let usual = sizes("");
    assert!(usual.contains(&1), "{usual:?}");
    assert!(!sizes("--no-empty-sets").contains(&0));
    assert!(!sizes("--set-method adaptive").contains(&0));
    let json = program.json("evaluate m.hedgerow {data}/ripley_test.csv.gz --target yc");
    let sets = &json["sets"];
    let coverage = sets["coverage"].as_f64().unwrap();
    assert!((0.85..=1.0).contains(&coverage) && sets["level"] == 0.9, "{sets}");
    assert_eq!(sets["sizes"].as_array().unwrap().len(), 3);
    let curve = json["rejection"]["curve"].as_array().unwrap();
    assert_eq!(curve.len(), 20);
    assert_eq!(curve[19]["accuracy"], json["metrics"]["accuracy"]);
    assert!(json["rejection"]["area"].as_f64() > json["metrics"]["accuracy"].as_f64());
}

#[test]
fn uncertain_rows_are_left_undecided() {
    let program = Program::with_ripley();
    let text = program.ok("predict m.hedgerow {data}/ripley_test.csv.gz --abstain-above 0.2");
    let mut n_empty = 0;
    for line in text.lines().skip(1) {
        let (label, probability) = line.split_once(',').unwrap();
        let probability: f64 = probability.parse().unwrap();
        assert_eq!(label.is_empty(), probability < 0.8, "{line}");
        n_empty += usize::from(label.is_empty());
    }
    assert!((10..500).contains(&n_empty), "{n_empty}");
}

#[test]
fn costs_move_the_decision() {
    let program = Program::with_ripley();
    let text =
        program.ok("predict m.hedgerow {data}/ripley_test.csv.gz --proba --costs 1:0=4 --reject-cost 0.5");
    let mut n = [0; 3];
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let p: f64 = fields[3].parse().unwrap();
        // The least of 4 p (for 0) and 1 - p (for 1).
        let (expected, place) = if f64::min(4.0 * p, 1.0 - p) > 0.5 {
            ("", 2)
        } else if p > 0.2 {
            ("1", 1)
        } else {
            ("0", 0)
        };
        assert!(
            fields[0] == expected
                || (p - 0.2).abs() < 1e-5
                || (p - 0.5).abs() < 1e-5
                || (p - 0.125).abs() < 1e-5,
            "{line}"
        );
        n[place] += 1;
    }
    assert!(n.iter().all(|n| *n > 0), "{n:?}");
}

#[test]
fn sets_and_decisions_that_cannot_be_made_are_refused() {
    let program = Program::with_ripley();
    let rows = "{data}/ripley_test.csv.gz";
    for (options, parts) in [
        ("--sets 1.5", vec!["share between 0 and 1"]),
        ("--sets 0.9 --set-method mondrian", vec!["balanced, marginal, per-class, adaptive"]),
        ("--no-empty-sets", vec!["--sets"]),
        ("--abstain-above 2", vec!["share between 0 and 1"]),
        ("--costs 7:0=4", vec!["no class is called \"7\"", "0, 1"]),
        ("--costs 0=4", vec!["TRUE:PREDICTED=COST"]),
        ("--costs 0:1=-4", vec!["0 or more", "-4"]),
        ("--reject-cost much", vec!["0 or more"]),
    ] {
        let message = program.refused(&format!("predict m.hedgerow {rows} {options}"));
        holds(&message, &parts);
    }
}

#[test]
fn rows_unlike_those_learnt_have_a_high_outlier_score() {
    let program = Program::with_ripley();
    program.write("new.csv", "xs,ys\n-0.3,0.6\n30,-40\n0.3,0.7\n");
    let text = program.ok("predict m.hedgerow new.csv --proba --outlier");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("prediction,probability,p_0,p_1,outlier"));
    let scores: Vec<f64> = lines.map(|line| line.rsplit(',').next().unwrap().parse().unwrap()).collect();
    assert!(scores[1] > 0.99 && scores[0] < 0.95 && scores[2] < 0.95, "{scores:?}");
    let text = program.ok("predict m.hedgerow {data}/ripley_test.csv.gz --outlier");
    let above =
        text.lines().skip(1).filter(|line| line.rsplit(',').next().unwrap().parse::<f64>().unwrap() > 0.95);
    assert!((10..120).contains(&above.count()), "about 50 of 1,000");
    program.ok("fit {data}/ripley_train.csv.gz --target yc --set n_trees=5 --frozen --out f.hedgerow");
    let message = program.refused("predict f.hedgerow new.csv --outlier");
    holds(&message, &["f.hedgerow", "reference rows", "--frozen"]);
}

#[test]
fn intervals_of_probabilities_stand_behind_the_others() {
    let program = Program::with_ripley();
    let text = program.ok("predict m.hedgerow {data}/ripley_test.csv.gz --proba --interval 0.9");
    let header = "prediction,probability,p_0,p_1,lo_0,hi_0,lo_1,hi_1";
    assert_eq!(text.lines().next(), Some(header));
    let (mut inside, mut n) = (0, 0);
    for line in text.lines().skip(1) {
        let fields: Vec<f64> = line.split(',').map(|field| field.parse().unwrap()).collect();
        let [p, low, high] = [fields[3], fields[6], fields[7]];
        assert!(0.0 <= low && low <= high && high <= 1.0, "{line}");
        // Two classes mirror each other.
        assert!((fields[4] + high - 1.0).abs() < 2e-6 && (fields[5] + low - 1.0).abs() < 2e-6, "{line}");
        inside += usize::from(low <= p && p <= high);
        n += 1;
    }
    assert!(inside * 3 > n, "{inside} of {n} predictions are inside");
    assert_eq!(
        program.ok("predict m.hedgerow {data}/ripley_test.csv.gz --proba --interval 0.9 --threads 1"),
        text
    );
    let line = "fit {data}/ripley_train.csv.gz --target yc --set n_trees=20 --frozen --out f.hedgerow";
    program.ok(line);
    holds(
        &program.refused("predict f.hedgerow {data}/ripley_test.csv.gz --interval 0.9"),
        &["fit --interval"],
    );
    program.ok(&format!("{line} --interval"));
    let lines = program.ok("predict f.hedgerow {data}/ripley_test.csv.gz --proba --interval 0.9");
    assert_eq!(lines, text, "made at the fit or when they are asked for");
}
