//! `--report` of all commands, and `hedgerow demo`.

use crate::program::{Program, holds};

/// Fails unless a page is whole, needs nothing from elsewhere and has exactly these sections.
#[track_caller]
fn check(program: &Program, name: &str, sections: &[&str]) -> String {
    let html = String::from_utf8(program.read(name)).unwrap();
    assert!(html.starts_with("<!DOCTYPE html>") && html.ends_with("</html>\n"));
    for tag in ["section", "div", "table", "svg", "ul", "ol", "p", "span"] {
        let opened = html.matches(&format!("<{tag} ")).count() + html.matches(&format!("<{tag}>")).count();
        assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    for (_, address) in html.match_indices("src=\"").chain(html.match_indices("href=\"")).map(|(at, m)| {
        let rest = &html[at + m.len()..];
        (at, &rest[..rest.find('"').unwrap()])
    }) {
        assert!(address.starts_with('#') || address.starts_with("data:image/png"), "{address}");
    }
    assert!(!html.contains("url(") && !html.contains("@import") && !html.contains("http://"));
    let found: Vec<&str> =
        html.split("<section").skip(1).filter_map(|s| s.split("id=\"").nth(1)?.split('"').next()).collect();
    assert_eq!(found, sections);
    html
}

/// The sections of a page about a fit, and of one about an evaluation.
const FITTED: [&str; 7] =
    ["scores", "confusion", "reliability", "rejection", "classes", "importances", "uncertain"];
const EVALUATED: [&str; 8] =
    ["scores", "confusion", "reliability", "rejection", "sets", "classes", "importances", "uncertain"];

/// The same for rows of two numbers.
fn mapped(sections: &[&'static str]) -> Vec<&'static str> {
    [&sections[..1], &["map", "uncertainty"], &sections[1..]].concat()
}

/// The same with a learning curve, of a stream with test rows and of one without, which has no rejection.
fn of_stream(with_test: bool, first: &[&'static str]) -> Vec<&'static str> {
    let rejection: &[&str] = if with_test { &["rejection"] } else { &[] };
    let notes: &[&str] = if with_test { &[] } else { &["notes"] };
    let rest = ["classes", "importances", "uncertain"];
    [&["scores", "curve"], first, &["confusion", "reliability"], rejection, &rest, notes].concat()
}

#[test]
fn fit_writes_a_page_about_held_out_or_out_of_bag_rows() {
    let program = Program::new();
    let fit = "fit {data}/ripley_train.csv.gz --target yc --set n_trees=10 --report r.html";
    for (more, words) in [
        ("", "training rows, predicted out of bag"),
        ("--holdout 0.2", "50 held-out rows"),
        ("--test {data}/ripley_test.csv.gz", "1,000 test rows"),
    ] {
        program.ok(&format!("{fit} {more}"));
        let html = check(&program, "r.html", &mapped(&FITTED));
        holds(&html, &[words, "The dots are the training rows", "ripley_train.csv.gz", "Fitted in"]);
    }
    holds(&program.refused("fit x.csv --target y --report no/r.html"), &["no"]);
}

#[test]
fn rows_of_two_numbers_are_mapped() {
    let program = Program::with_ripley();
    program.ok("evaluate m.hedgerow {data}/ripley_test.csv.gz --report r.html");
    let page = check(&program, "r.html", &mapped(&EVALUATED));
    holds(&page, &["The dots are the evaluated rows", ">xs<", ">ys<", "Size of the sets"]);
    let sections = of_stream(false, &["map", "uncertainty"]);
    let stream = "stream {data}/ripley_train.csv.gz --target yc --set n_trees=10 --report r.html";
    program.ok(stream);
    holds(&check(&program, "r.html", &sections), &["The dots are the newest rows learnt"]);
    program.ok(&format!("{stream} --test {{data}}/ripley_test.csv.gz"));
    holds(
        &check(&program, "r.html", &of_stream(true, &["map", "uncertainty"])),
        &["The dots are the test rows"],
    );
    program.ok("update m.hedgerow {data}/ripley_test.csv.gz --report r.html");
    holds(&check(&program, "r.html", &sections), &["The dots are the newest rows learnt"]);
}

#[test]
fn evaluate_writes_a_page_with_pictures_where_rows_are_images() {
    let program = Program::new();
    program.ok("fit {data}/digits.csv.gz --target digit --set n_trees=10 --out m.hedgerow");
    program.ok("evaluate m.hedgerow {data}/digits.csv.gz --report r.html");
    assert!(!check(&program, "r.html", &EVALUATED).contains("<img"));
    program.ok("evaluate m.hedgerow {data}/digits.csv.gz --report r.html --image 8x8");
    assert_eq!(check(&program, "r.html", &EVALUATED).matches("<img").count(), 16);
    program.ok("fit {data}/digits.csv.gz --target digit --set n_trees=10 --out m.hedgerow --image 8x8");
    program.ok("evaluate m.hedgerow {data}/digits.csv.gz --report r.html --importances");
    let html = check(&program, "r.html", &EVALUATED);
    assert_eq!(html.matches("<img").count(), 16);
    holds(&html, &["Accuracy lost when a column is shuffled"]);
    let wrong = program.refused("fit {data}/digits.csv.gz --target digit --image 8x9");
    holds(&wrong, &["image", "64", "8 × 9"]);
    holds(&program.refused("fit {data}/digits.csv.gz --target digit --image large"), &["28x28"]);
}

#[test]
fn streams_have_a_curve_with_marks() {
    let program = Program::new();
    program.ok("generate sea --rows 5000 --drift abrupt --at 2500 --noise 0 --out t.csv");
    program.ok("stream t.csv --target class --set n_trees=10 --report r.html --out m.hedgerow");
    let html = check(&program, "r.html", &of_stream(false, &[]));
    holds(
        &html,
        &[
            "Size of these sets",
            "drift detected",
            "the error rose from",
            "5,000 rows, each predicted before it was learnt",
        ],
    );
    program.ok("stream t.csv --target class --set n_trees=10 --report r.html --batches 4 --test t.csv");
    holds(&check(&program, "r.html", &of_stream(true, &[])), &["5,000 test rows", "test rows"]);
    program.ok("update m.hedgerow t.csv --report r.html --test t.csv");
    holds(&check(&program, "r.html", &of_stream(true, &[])), &["5,000 test rows"]);
}

#[test]
fn the_demonstration_shows_and_writes_everything() {
    let program = Program::new();
    let text = program.ok("demo --dir here");
    holds(
        &text,
        &[
            "1,198 handwritten digits",
            "10 batches",
            "599 test rows",
            "Most uncertain predictions",
            "row ",
            "██",
        ],
    );
    holds(&text, &["here/report.html", "here/digits.hedgerow", "hedgerow predict"]);
    assert!(text.lines().count() <= 36, "{} lines", text.lines().count());
    assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    let html = check(&program, "here/report.html", &of_stream(true, &[]));
    assert_eq!(html.matches("<img").count(), 16);
    // What it tells to do next works.
    for line in text.lines().filter_map(|line| line.strip_prefix("  hedgerow ")) {
        if !line.contains("YOUR.csv") {
            program.ok(line);
        }
    }
    let json = program.json("demo --dir here");
    assert!(json["metrics"]["accuracy"].as_f64().unwrap() > 0.95);
    assert_eq!(json["batches"].as_array().unwrap().len(), 10);
    let digit = &json["least_sure"][0];
    assert!(
        digit["row"].as_u64().unwrap() >= 1 && digit["prediction"].as_array().unwrap().len() == 3,
        "{digit}"
    );
    // The same every time.
    assert_eq!(program.json("demo --dir here --threads 1")["least_sure"], json["least_sure"]);
}
