//! `hedgerow stream`.

use crate::program::{Program, holds, refused};
use serde_json::Value;

/// A table whose label is told by its first column.
fn table(n_rows: usize) -> String {
    let row =
        |i: usize| format!("{},{},{}\n", i * 37 % 100, i % 7, if i * 37 % 100 < 50 { "low" } else { "high" });
    "a,b,kind\n".to_string() + &(0..n_rows).map(row).collect::<String>()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn lines_come_with_every_window_and_a_summary_at_the_end() {
    let program = Program::new();
    program.write("t.csv", table(2_500));
    let text = program.ok("stream t.csv --target kind --set n_trees=10");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0].split_whitespace().collect::<Vec<_>>(),
        ["rows", "accuracy", "rows/s", "covered", "set", "size"]
    );
    let rows: Vec<&str> = lines[1..4].iter().map(|l| l.split_whitespace().next().unwrap()).collect();
    assert_eq!(rows, ["1,000", "2,000", "2,500"]);
    holds(&text, &["forest of 10 trees", "from 2,500 rows, 2 features, 2 classes", "rows/s in all"]);
    holds(
        &text,
        &["each row predicted before it was learnt:", "log-loss", "2,500 rows retained", "not saved"],
    );
}

#[test]
fn json_holds_every_key_of_the_contract() {
    let program = Program::new();
    let line = "stream {data}/ripley_train.csv.gz --target yc --set n_trees=10 --batches 4 --seed 3";
    let result = program.json(&format!("{line} --test {{data}}/ripley_test.csv.gz --out m.hedgerow"));
    for key in ["model", "params", "rows", "features", "classes", "seconds", "bytes", "metrics", "batches"] {
        assert!(!result[key].is_null(), "{key}");
    }
    assert_eq!(
        (&result["rows"], &result["features"], &result["trees"]),
        (&250.into(), &2.into(), &10.into())
    );
    assert_eq!(result["classes"], serde_json::json!(["0", "1"]));
    assert_eq!(result["params"]["seed"], 3);
    assert_eq!(result["metrics_from"], "test");
    assert_eq!(result["bytes"], program.read("m.hedgerow").len());
    assert_eq!(result["rows_retained"], 250);
    for report in [&result["metrics"], &result["prequential"]] {
        for key in ["accuracy", "balanced_accuracy", "log_loss", "brier", "ece", "auc", "confusion"] {
            assert!(!report[key].is_null(), "{key}");
        }
    }
    let batches = result["batches"].as_array().unwrap();
    assert_eq!(batches.iter().map(|b| b["rows"].as_u64().unwrap()).collect::<Vec<_>>(), [62, 63, 62, 63]);
    for batch in batches {
        for key in
            ["seconds", "prequential_accuracy", "rows_per_second", "rows_seen", "new_classes", "drifts"]
        {
            assert!(!batch[key].is_null(), "{key}");
        }
        assert_eq!(batch["test_accuracy"], batch["metrics"]["accuracy"]);
    }
    // What the model is at the end is what the last batch left and what the file holds.
    assert_eq!(batches[3]["metrics"], result["metrics"]);
    let evaluated = program.json("evaluate m.hedgerow {data}/ripley_test.csv.gz");
    assert_eq!(evaluated["metrics"], result["metrics"]);
    assert!(number(&result["metrics"]["accuracy"]) > 0.8);
}

#[test]
fn neither_batches_nor_threads_change_what_is_learnt() {
    let program = Program::new();
    program.ok("generate rtg --rows 3000 --seed 4 --out t.csv");
    let mut first: Option<(Vec<u8>, Value)> = None;
    for how in
        ["", "--window 10", "--batch-rows 7 --threads 1", "--batch-rows 1999 --threads 3", "--batches 5"]
    {
        let line = format!("stream t.csv --target class --set n_trees=8 {how} --out m.hedgerow");
        let prequential = program.json(&line)["prequential"].clone();
        let model = program.read("m.hedgerow");
        let (same, figures) = first.get_or_insert((model.clone(), prequential.clone()));
        assert!(*same == model, "{how}: another model");
        assert_eq!(*figures, prequential, "{how}");
    }
}

#[test]
fn standard_input_is_read_as_it_comes() {
    let program = Program::new();
    program.write("t.csv", table(1_500));
    program.ok("stream t.csv --target kind --set n_trees=5 --out a.hedgerow");
    let line = "stream - --format csv --target kind --set n_trees=5 --out b.hedgerow";
    let output = program.command(line).write_stdin(table(1_500)).output().unwrap();
    assert!(output.status.success());
    assert!(program.read("a.hedgerow") == program.read("b.hedgerow"));
    let output = program.command(&format!("{line} --batches 3")).write_stdin(table(9)).output().unwrap();
    holds(&refused("stdin", &output), &["--batches", "--batch-rows"]);
}

#[test]
fn a_model_goes_on_where_it_was() {
    let program = Program::new();
    let all = table(1_300);
    let lines: Vec<&str> = all.split_inclusive('\n').collect();
    program.write("all.csv", &all);
    program.write("first.csv", lines[..601].concat());
    program.write("second.csv", lines[0].to_string() + &lines[601..].concat());
    program.ok("stream all.csv --target kind --set n_trees=6 --out all.hedgerow");
    program.ok("stream first.csv --target kind --set n_trees=6 --out from.hedgerow");
    program.ok("stream second.csv --from from.hedgerow --out stream.hedgerow");
    let updated = program.json("update from.hedgerow second.csv");
    assert_eq!((&updated["rows"], &updated["rows_learnt"]), (&700.into(), &1300.into()));
    let all = program.read("all.hedgerow");
    assert!(all == program.read("from.hedgerow") && all == program.read("stream.hedgerow"));
    holds(&program.refused("stream all.csv --from all.hedgerow --seed 3"), &["--from", "--seed"]);
}

#[test]
fn a_class_that_comes_late_is_learnt() {
    let program = Program::new();
    let (header, rows) = shuffled_digits();
    // Sevens come first in batch 5 of 10; the first 400 rows are held out.
    let (test, learnt) = rows.split_at(400);
    let half = learnt.len() * 41 / 100;
    let early: Vec<&String> = learnt.iter().filter(|row| !row.ends_with(",7")).collect();
    let sevens: Vec<&String> = learnt.iter().filter(|row| row.ends_with(",7")).collect();
    let mut order: Vec<&String> = early[..half].to_vec();
    for (i, row) in early[half..].iter().enumerate() {
        order.push(row);
        if let Some(seven) = sevens.get(i / 5).filter(|_| i % 5 == 0) {
            order.push(seven);
        }
    }
    let file =
        |rows: &[&String]| header.clone() + &rows.iter().map(|row| format!("{row}\n")).collect::<String>();
    program.write("learnt.csv", file(&order));
    program.write("test.csv", file(&test.iter().collect::<Vec<_>>()));
    let line = "stream learnt.csv --target digit --batches 10 --test test.csv";
    let result = program.json(line);
    let batches = result["batches"].as_array().unwrap();
    let seven = result["classes"].as_array().unwrap().iter().position(|c| c == "7").unwrap();
    let recall = |report: &Value| {
        let row: Vec<u64> = serde_json::from_value(report["confusion"][seven].clone()).unwrap();
        row[seven] as f64 / row.iter().sum::<u64>() as f64
    };
    // Classes not met yet count as wrong.
    assert_eq!(recall(&batches[3]["metrics"]), 0.0);
    assert_eq!(batches[4]["new_classes"], serde_json::json!(["7"]));
    assert!(recall(&result["metrics"]) >= 0.9, "{}", recall(&result["metrics"]));
    holds(&program.ok(line), &["new class \"7\""]);
}

/// The shipped digits as lines of text in random order.
fn shuffled_digits() -> (String, Vec<String>) {
    let program = Program::new();
    program.ok("generate label-swap --data {data}/digits.csv.gz --target digit --swap 0:1 --at 1796 --rows 1797 --out d.csv");
    let text = String::from_utf8(program.read("d.csv")).unwrap();
    let mut lines = text.lines();
    let header = lines.next().unwrap().to_string() + "\n";
    (header, lines.map(String::from).collect())
}

#[test]
fn drift_is_noticed_and_marked() {
    let program = Program::new();
    program.ok("generate sea --rows 6000 --drift abrupt --at 3000 --noise 0 --seed 2 --out t.csv");
    let result = program.json("stream t.csv --target class --set n_trees=10 --batch-rows 1000");
    let drift = &result["drifts"][0];
    assert!((2_500..3_600).contains(&drift["since"].as_u64().unwrap()), "{drift}");
    assert!(drift["noticed_at"].as_u64().unwrap() > 3_000);
    holds(&program.ok("stream t.csv --target class --set n_trees=10"), &["drift noticed (since row "]);
}

#[test]
fn the_stream_is_summarised() {
    let program = Program::new();
    program.ok("generate hyperplane --drift recurring --rows 6000 --noise 0 --seed 2 --out t.csv");
    let line = "stream t.csv --target class --set n_trees=10";
    let result = program.json(&format!("{line} --out t.hedgerow"));
    let stream = &result["stream"];
    assert_eq!((&stream["drift"], &stream["rows"]), (&"recurring".into(), &6_000.into()), "{stream}");
    let changes = stream["changes"].as_array().unwrap();
    for (change, place) in changes.iter().zip([1_500, 3_000, 4_500]) {
        assert!(change["row"].as_u64().unwrap().abs_diff(place) < 150, "{stream}");
        assert_eq!(change["pace"], "abrupt");
    }
    assert_eq!((changes.len(), &changes[1]["returns_to"]), (3, &0.into()));
    let text = stream["text"].as_str().unwrap();
    holds(text, &["abrupt drifts at rows 1,", "recurring concepts: at row "]);
    // The model keeps it, and a report tells it.
    assert_eq!(program.json("info t.hedgerow")["learning"]["stream"], *stream);
    holds(&program.ok("info t.hedgerow"), &[&format!("stream of 6,000 rows: {text}")]);
    holds(&program.ok(&format!("{line} --report t.html")), &[&format!("stream: {text}")]);
    holds(&String::from_utf8(program.read("t.html")).unwrap(), &["Concept drift", text]);
    program.ok("generate hyperplane --drift none --rows 3000 --seed 2 --out s.csv");
    holds(
        &program.ok("stream s.csv --target class --set n_trees=10"),
        &["stream: stationary: no concept drift"],
    );
}

#[test]
fn a_bad_row_ends_it_and_what_was_learnt_is_kept() {
    let program = Program::new();
    let good = table(1_700);
    program.write("good.csv", &good);
    program.write("bad.csv", format!("{good}3,many,low\n{}", &good[9..]));
    let line = "stream bad.csv --target kind --set n_trees=5 --json";
    let message = program.refused(&format!("{line} --out bad.hedgerow"));
    holds(
        &message,
        &["bad.csv: row 1701 (line 1702), column \"b\"", "\"many\"", "1,700 rows", "bad.hedgerow"],
    );
    program.ok("stream good.csv --target kind --set n_trees=5 --out good.hedgerow");
    assert!(program.read("good.hedgerow") == program.read("bad.hedgerow"));
    holds(&program.refused(line), &["row 1701", "not saved", "--out"]);
    // Text printed before the bad row stays; the exit code tells.
    assert_eq!(program.output("stream bad.csv --target kind --set n_trees=5").status.code(), Some(2));
}

#[test]
fn rows_without_labels_are_left_out_and_counted() {
    let program = Program::new();
    program.write("t.csv", table(300) + "1,2,\n3,4,?\n");
    let result = program.json("stream t.csv --target kind --set n_trees=5");
    assert_eq!((&result["rows"], &result["left_out"]["without_label"]), (&300.into(), &2.into()));
    holds(&program.refused("stream t.csv --set n_trees=5"), &["t.csv", "--target"]);
}

#[test]
fn wrong_arguments_are_explained() {
    let program = Program::new();
    program.write("t.csv", table(30));
    holds(&program.refused("stream t.csv --target kind --batches 31"), &["31 batches of 30 rows"]);
    holds(&program.refused("stream t.csv --target kind --batches 3 --batch-rows 5"), &["--batch-rows"]);
    holds(&program.refused("stream t.csv --target kind --set n_trees=0"), &["n_trees"]);
    holds(&program.refused("stream t.csv --target kind --out no/m.hedgerow"), &["no"]);
    holds(&program.refused("stream nowhere.csv --target kind"), &["nowhere.csv"]);
}

#[test]
fn memory_is_kept() {
    let program = Program::new();
    program.ok("generate hyperplane --rows 6000 --features 20 --seed 1 --out t.csv");
    let limit = 32_000_000;
    let result = program.json("stream t.csv --target class --max-memory 32MB --out m.hedgerow");
    if let Some(peak) = result["peak_memory_bytes"].as_u64() {
        assert!(peak <= limit, "{peak} bytes");
    }
    assert!(result["rows_forgotten"].as_u64().unwrap() > 0);
    assert_eq!(result["rows"], 6000);
    for limit in ["2MB", "9MB"] {
        let message = program.refused(&format!("stream t.csv --target class --max-memory {limit}"));
        holds(&message, &["needs at least", &limit.replace("MB", ".0 MB")]);
    }
}

#[test]
fn time_is_kept_and_ctrl_c_keeps_the_model() {
    let program = Program::new();
    program.ok("generate hyperplane --rows 40000 --features 20 --out t.csv");
    let start = std::time::Instant::now();
    let line = "stream t.csv --target class --set n_trees=200 --json";
    let result =
        program.json("stream t.csv --target class --set n_trees=200 --max-seconds 1 --out m.hedgerow");
    assert!(start.elapsed().as_secs_f64() < 3.0, "{:?}", start.elapsed());
    assert_eq!(result["stop"], "time");
    assert_eq!(program.json("info m.hedgerow")["learning"]["rows_learnt"], result["rows"]);
    if cfg!(unix) {
        let child = program
            .std_command(&format!("{line} --out c.hedgerow"))
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::thread::sleep(std::time::Duration::from_millis(700));
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let result: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["stop"], "interrupted");
        assert_eq!(program.json("info c.hedgerow")["learning"]["rows_learnt"], result["rows"]);
    }
}

#[test]
fn predictions_are_written_as_they_were_made() {
    let program = Program::new();
    program.write("t.csv", table(700));
    let line = "stream t.csv --target kind --set n_trees=10 --predictions p.csv";
    let result = program.json(line);
    let text = String::from_utf8(program.read("p.csv")).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("row,label,prediction,probability,p_low,p_high"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!((rows.len(), rows[0][0], rows[699][0]), (700, "0", "699"));
    let right = rows.iter().filter(|row| row[1] == row[2]).count() as f64 / 700.0;
    assert!((right - number(&result["metrics"]["accuracy"])).abs() < 1e-9);
    let p = |cell: &str| cell.parse::<f64>().unwrap();
    assert!(rows.iter().all(|row| (p(row[4]) + p(row[5]) - 1.0).abs() < 1e-5));
    assert!(rows.iter().all(|row| p(row[3]) == p(row[4]).max(p(row[5]))));
    for (wrong, told) in [("no/p.csv", "no: the folder"), ("t.csv", "t.csv")] {
        let line = format!("stream t.csv --target kind --predictions {wrong}");
        holds(&program.refused(&line), &[told]);
    }
}

#[test]
fn labels_that_come_late_are_learnt_late() {
    let program = Program::new();
    program.write("t.csv", table(900));
    let line = "stream t.csv --target kind --set n_trees=10 --predictions";
    let [now, late] = [format!("{line} now.csv"), format!("{line} late.csv --delay 300 --out m.hedgerow")]
        .map(|line| program.json(&line));
    assert!(number(&now["metrics"]["accuracy"]) > number(&late["metrics"]["accuracy"]) + 0.1);
    // All labels have come at the end.
    assert_eq!((&late["rows"], &late["rows_learnt"]), (&900.into(), &900.into()));
    // Nothing is known of the classes while no label has come.
    let text = String::from_utf8(program.read("late.csv")).unwrap();
    let probability = |row: usize| text.lines().nth(1 + row).unwrap().split(',').nth(3).unwrap().to_string();
    assert!((0..=300).all(|row| probability(row) == probability(0)), "{}", probability(300));
    assert_eq!(probability(0), "0.500000");
    assert_ne!(probability(0), probability(899));
    // In a store the labels that are missing at the end come with the next rows.
    program.write("more.csv", table(1_000).replacen("kind\n", "kind\n5,6,low\n", 1));
    let stored = "--target kind --set n_trees=10 --delay 300 --store kept";
    let first = program.json(&format!("stream t.csv {stored}"));
    assert_eq!((&first["rows"], &first["rows_learnt"]), (&900.into(), &600.into()));
    let second = program.json(&format!("stream more.csv {stored}"));
    assert_eq!((&second["rows"], &second["rows_learnt"]), (&1_901.into(), &1_601.into()));
    let other = stored.replace("--delay 300", "--delay 200");
    holds(&program.refused(&format!("stream more.csv {other}")), &["--delay was 300, now it is 200"]);
}

#[test]
fn kappas_compare_with_guesses_and_with_the_last_label() {
    let program = Program::new();
    // Labels in runs of ten: whoever repeats the last one is right in nine of ten rows.
    let rows: String = (0..1_000).map(|i| format!("{},{}\n", i % 13, ["x", "y"][i / 10 % 2])).collect();
    program.write("t.csv", format!("a,kind\n{rows}"));
    let result = program.json("stream t.csv --target kind --set n_trees=5");
    let metrics = &result["metrics"];
    let accuracy = number(&metrics["accuracy"]);
    let repeated = 1.0 - 100.0 / 1_000.0;
    assert!((number(&metrics["kappa_temporal"]) - (accuracy - repeated) / (1.0 - repeated)).abs() < 1e-9);
    assert!((number(&metrics["kappa"]) - (2.0 * accuracy - 1.0)).abs() < 0.02);
    holds(&program.ok("stream t.csv --target kind --set n_trees=5"), &["kappa ", "kappa-temporal "]);
}

#[test]
fn only_some_labels_are_learnt_at_a_query_rate() {
    let program = Program::new();
    program.ok("generate sea --rows 4000 --drift abrupt --out sea.csv");
    let line = "stream sea.csv --target class --set n_trees=10 --query-rate 0.05";
    let result = program.json(&format!("{line} --predictions p.csv --out m.hedgerow"));
    let labels = result["queries"]["labels"].as_u64().unwrap();
    assert!((120..=200).contains(&labels), "{labels} labels");
    assert_eq!((&result["rows"], &result["rows_learnt"]), (&4_000.into(), &labels.into()));
    assert_eq!(result["queries"]["rate"], 0.05);
    // Fifty labels for each of four concepts; three rows in five are of one class.
    assert!(result["prequential"]["accuracy"].as_f64().unwrap() > 0.7, "{}", result["prequential"]);
    let predictions = String::from_utf8(program.read("p.csv")).unwrap();
    assert!(predictions.lines().next().unwrap().ends_with(",queried"));
    let queried: Vec<&str> =
        predictions.lines().skip(1).map(|line| line.rsplit(',').next().unwrap()).collect();
    assert_eq!(
        (queried.len(), queried.iter().filter(|word| !word.is_empty()).count() as u64),
        (4_000, labels)
    );
    let random = queried.iter().filter(|word| **word == "random").count() as u64;
    assert_eq!(result["queries"]["random"], random);
    assert!(random > 10 && queried.contains(&"uncertain"));
    // How the stream is cut and how many threads there are changes nothing.
    let model = program.read("m.hedgerow");
    program.ok(&format!("{line} --batch-rows 333 --threads 3 --out other.hedgerow"));
    assert_eq!(model, program.read("other.hedgerow"));
    program.ok(&format!("{line} --seed 1 --out other.hedgerow"));
    assert_ne!(model, program.read("other.hedgerow"));

    let text = program.ok(
        "stream sea.csv --target class --model ivm --set n_active=10 --set max_rows=50 --set forget=rating \
                           --query-rate 0.1 --query-batch 100 --query-random 0",
    );
    holds(&text, &["labels asked for (", "0 of them at random"]);
    holds(&program.refused(&format!("{line} --store kept")), &["--query-rate", "--store"]);
    holds(&program.refused("stream sea.csv --target class --query-rate 0"), &["above 0"]);
    holds(&program.refused("stream sea.csv --target class --query-random 0.5"), &["--query-rate"]);
    let numbers = "stream sea.csv --target 0 --model rvm --task regression --query-rate 0.1";
    holds(&program.refused(numbers), &["--query-rate", "labels"]);
}
