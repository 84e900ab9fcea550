//! The page as a whole: what is on it, and that no input breaks it.

mod markup;
mod pages;

use hedgerow_core::metrics;

use super::*;
use markup::Markup;
use pages::{NASTY, digits_like, everything, extreme, tabular};

/// The sections and a page with nothing else.
fn alone() -> Vec<(&'static str, Page)> {
    let full = everything("x");
    let empty = Page::default;
    vec![
        ("strategies", Page { strategies: full.strategies, ..empty() }),
        ("ranks", Page { ranks: full.ranks, ..empty() }),
        ("order-1", Page { queries: full.queries, ..empty() }),
        ("scores", Page { scores: full.scores, ..empty() }),
        ("curve", Page { curve: full.curve, ..empty() }),
        ("map", Page { map: full.map, ..empty() }),
        ("confusion", Page { confusion: full.confusion, ..empty() }),
        ("reliability", Page { reliability: full.reliability, ..empty() }),
        ("rejection", Page { rejection: full.rejection, ..empty() }),
        ("sets", Page { sets: full.sets, ..empty() }),
        ("classes", Page { classes: full.classes, ..empty() }),
        ("importances", Page { importances: full.importances, ..empty() }),
        ("uncertain", Page { uncertain: full.uncertain, ..empty() }),
        ("bars-1", Page { class_bars: full.class_bars, ..empty() }),
        ("notes", Page { notes: full.notes, ..empty() }),
    ]
}

#[test]
fn sections_appear_exactly_where_there_is_something_to_show() {
    let sections = |page: &Page| Markup::check(&page.to_html()).sections;
    assert!(sections(&Page::default()).is_empty());
    let mut all = Vec::new();
    for (name, page) in alone() {
        assert_eq!(sections(&page), [name]);
        all.push(name);
    }
    assert_eq!(sections(&everything("x")), all);
}

#[test]
fn an_empty_page_has_a_title_and_no_facts() {
    let html = Page::default().to_html();
    assert!(html.contains("<h1>Model report</h1>"));
    assert!(!html.contains("<dl") && !html.contains("<nav"));
    let html = Page { facts: vec![("Trees".into(), "7".into())], ..Page::default() }.to_html();
    assert!(html.contains("<dt>Trees</dt><dd>7</dd>"));
}

#[test]
fn text_from_outside_stays_text() {
    for page in [everything(NASTY), extreme(3, NASTY), tabular(NASTY)] {
        let html = page.to_html();
        let markup = Markup::check(&html);
        assert_eq!(html.matches("<script").count(), 1);
        assert!(!html.contains("<b onclick"));
        assert!(markup.attributes.iter().all(|name| !name.starts_with("on")), "{:?}", markup.attributes);
        assert!(html.contains("&lt;script&gt;"));
    }
}

#[test]
fn nothing_is_fetched() {
    let html = everything("http://example.org/x.js").to_html();
    let markup = Markup::check(&html);
    for (name, value) in &markup.addresses {
        assert!(value.starts_with('#') || value.starts_with("data:image/png;base64,"), "{name}={value}");
    }
    assert!(!html.contains("url(") && !html.contains("@import"));
}

#[test]
fn strategies_without_runs_are_drawn_without_numbers() {
    let empty = StrategyCurves { model: "forest".into(), strategies: vec![("auto".into(), Vec::new())] };
    let page = Page {
        strategies: vec![empty, StrategyCurves::default()],
        ranks: Some(RankDiagram { strategies: vec![("auto".into(), 1.0)], ..RankDiagram::default() }),
        queries: vec![QueryMap { order: vec![7], ..QueryMap::default() }],
        ..Page::default()
    };
    let html = page.to_html();
    Markup::check(&html);
    assert!(html.contains("There is nothing to compare.") && !html.contains("NaN"));
}

#[test]
fn the_same_page_gives_the_same_bytes() {
    let mut bytes = Vec::new();
    everything("x").write(&mut bytes).unwrap();
    assert_eq!(bytes, everything("x").to_html().into_bytes());
    assert_eq!(bytes, everything("x").clone().to_html().into_bytes());
}

#[test]
fn any_number_of_classes_and_any_names() {
    let long = "a very long name of a class that goes on and on ".repeat(20);
    for n_classes in [0, 1, 2, 3, 14, 15, 24, 25, 60, 61, 300] {
        for name in ["", "x", &long] {
            let html = extreme(n_classes, name).to_html();
            Markup::check(&html);
            assert!(html.len() < 700_000, "{n_classes} classes: {} bytes", html.len());
        }
    }
}

#[test]
fn more_than_60_classes_give_the_40_worst_pairs() {
    let html = extreme(61, "x").to_html();
    assert!(!html.contains("<table class=\"confusion"));
    let list = html.split("<ol class=\"pairs\">").nth(1).unwrap().split("</ol>").next().unwrap();
    assert_eq!(list.matches("<li>").count(), 40);
    assert!(extreme(60, "x").to_html().contains("<table class=\"confusion dense\""));
}

#[test]
fn unknown_numbers_are_dashes_everywhere() {
    let html = extreme(2, "x").to_html();
    let body = html.split("<body>").nth(1).unwrap().split("<script>").next().unwrap();
    assert!(!body.contains("NaN") && !body.contains("inf"), "{body}");
    assert_eq!(body.matches("<p class=\"figure\">–</p>").count(), 8);
}

#[test]
fn large_counts_fit_their_cells() {
    let html = extreme(2, "x").to_html();
    assert!(html.contains(">1B</td>"));
    assert!(html.contains("1,000,000,000 rows"));
}

#[test]
fn nothing_measured_says_so() {
    let page = Page {
        curve: Some(LearningCurve::default()),
        map: Some(DecisionMap::default()),
        confusion: Some(Confusion::default()),
        reliability: Some(Reliability::default()),
        importances: Some(Importances::default()),
        uncertain: vec![UncertainRow::default()],
        class_bars: vec![ClassBars::default()],
        ..Page::default()
    };
    let html = page.to_html();
    Markup::check(&html);
    for words in [
        "No points",
        "No predictions were made",
        "No rows were evaluated",
        "No column",
        "Nothing was counted",
    ] {
        assert!(html.contains(words), "{words}");
    }
}

#[test]
fn a_map_can_stand_alone() {
    for text in ["x", NASTY] {
        let svg = everything(text).map.unwrap().to_svg(text);
        // The same rules as for a page hold.
        let body = svg.split("<style>").nth(1).unwrap().split("</style>").nth(1).unwrap();
        Markup::check(&format!("<!DOCTYPE html>\n<svg>{}\n", body.trim_end()));
        assert!(!svg.contains("<script") && !svg.contains("NaN"), "{svg}");
        assert_eq!(svg.matches("<image").count(), 1);
    }
    DecisionMap::default().to_svg("");
}

#[test]
fn a_report_of_no_rows_can_be_shown() {
    let proba = ndarray::Array2::zeros((0, 2));
    let report = metrics::Report::new(proba.view(), &[], None).unwrap();
    let page = Page {
        confusion: Some(Confusion::new(&report, &["a".into(), "b".into()])),
        scores: Some(Scores { measured_on: "no rows".into(), metrics: report }),
        ..Page::default()
    };
    Markup::check(&page.to_html());
}

#[test]
fn images_of_the_usual_size_make_a_modest_file() {
    let html = digits_like(28).to_html();
    Markup::check(&html);
    assert!(html.len() < 150_000, "{} bytes", html.len());
}
