//! Forests with Gaussian processes in them on the command line.

use crate::program::{Program, holds};
use serde_json::{Value, json};

const LEAF: &str =
    "{data}/ripley_train.csv.gz --target yc --model leaf-gp --set n_trees=3 --set leaf_rows=60";
const BLENDED: &str = "{data}/ripley_train.csv.gz --target yc --model forest-ivm --set n_trees=20 --set n_active=28 --set max_rows=200";
const FOREST_KERNEL: &str =
    "{data}/ripley_train.csv.gz --target yc --model forest-kernel --set n_trees=20 --set max_rows=200";

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[test]
fn parameters_reach_the_parts_by_their_own_names() {
    let program = Program::new();
    let text = program.ok("fit --model leaf-gp --help-params");
    holds(&text, &["n_trees", "leaf_rows", "learner", "length_scale", "noise_variance", "forest", "seed"]);
    holds(
        &program.ok("fit --model forest-ivm --help-params"),
        &["combine", "margin", "purity", "forest", "ivm"],
    );
    holds(&program.ok("fit --help"), &["leaf-gp", "forest-ivm"]);
    let result = program.json(&format!("fit {BLENDED} --set max_height=3"));
    let params = &result["params"];
    assert_eq!((&params["forest"]["n_trees"], &params["forest"]["max_height"]), (&json!(20), &json!(3)));
    assert_eq!((&params["ivm"]["n_active"], &params["ivm"]["max_rows"]), (&json!(28), &json!(200)));
    let refused = |settings: &str, words: &[&str]| {
        holds(&program.refused(&format!("fit nowhere.csv {settings}")), words);
    };
    refused("--model leaf-gp --set leaf_rows=1", &["leaf_rows", "2 or more"]);
    refused("--model leaf-gp --set learner=oracle", &["learner"]);
    refused("--model leaf-gp --set n_actives=3", &["n_actives", "leaf_rows", "max_features"]);
    refused("--model leaf-gp --set max_features=0", &["max_features"]);
    refused("--model forest-ivm --set n_active=0", &["n_active", "1 or more"]);
    refused("--model forest-ivm --set margin=7", &["margin", "0 to 1"]);
    refused("--model forest-ivm --set bagging=all", &["bagging", "leaves rows out"]);
    refused("--model leaf-gp --oob oob.csv", &["--oob", "leaf-gp", "forest"]);
}

#[test]
fn leaf_gps_are_fitted_evaluated_used_and_described() {
    let program = Program::new();
    let line = format!("fit {LEAF} --test {{data}}/ripley_test.csv.gz --seed 3 --out m.hedgerow");
    let text = program.ok(&line);
    holds(&text, &["leaf-gp of 3 trees with ", "leaf GPs from 250 rows", "kernel: length_scale"]);
    holds(&text, &["saved to m.hedgerow with its rows, ready to learn more"]);
    let fitted = program.json(&format!("{line} --report r.html"));
    assert_eq!((&fitted["model"], &fitted["trees"]), (&json!("leaf-gp"), &json!(3)));
    assert!(number(&fitted["leaf_gps"]) > 1.0 && number(&fitted["largest_leaf_gp"]) <= 60.0, "{fitted}");
    assert!(number(&fitted["metrics"]["accuracy"]) > 0.87, "{fitted}");
    let comparison = &fitted["comparison"];
    assert_eq!(
        (&comparison["rows"], comparison["blend_confusion"].as_array().unwrap().len()),
        (&json!(250), 2)
    );
    assert!(number(&comparison["by_prediction"]["0"]["used"]) > 0.0, "{comparison}");
    holds(&text, &["out-of-sample accuracy: class frequencies "]);
    let page = String::from_utf8(program.read("r.html")).unwrap();
    holds(&page, &["A forest with Gaussian processes in its leaves", "Leaf GPs", "Decision map"]);
    holds(
        &page,
        &["Forest alone and with leaf GPs", "leaf GP used", "Out-of-sample accuracy, class frequencies"],
    );
    let evaluated = program.json("evaluate m.hedgerow {data}/ripley_test.csv.gz");
    assert_eq!((&evaluated["metrics"], &evaluated["params"]), (&fitted["metrics"], &fitted["params"]));
    program.ok("predict m.hedgerow {data}/ripley_test.csv.gz --proba --out p.csv");
    assert_eq!(String::from_utf8(program.read("p.csv")).unwrap().lines().count(), 1001);
    let info = program.json("info m.hedgerow");
    assert_eq!((&info["kernel"], &info["learning"]["rows_learnt"]), (&fitted["kernel"], &json!(250)));
    assert_eq!((&info["comparison"], &info["blend"]), (comparison, &fitted["blend"]));
    holds(&program.ok("info m.hedgerow"), &["leaf-gp of 3 trees", "keeps learning: 250 rows"]);
    let alone = program.json(&format!("{line} --set blend=false"));
    assert_eq!((&alone["comparison"]["rows"], &alone["blend"]), (&json!(0), &Value::Null));
}

#[test]
fn class_frequencies_and_leaf_gps_are_blended() {
    let program = Program::new();
    // Eight columns of three values, two of which matter; a quarter of the labels is wrong.
    let mut state = 7_u64;
    let mut draw = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut rows = vec![String::from("a,b,c,d,e,f,g,h,label")];
    for _ in 0..600 {
        let values = [(); 8].map(|()| draw(3));
        let label = u8::from((values[0] + values[1] > 2) != (draw(4) == 0));
        rows.push(format!("{}{label}", values.map(|value| format!("{value},")).concat()));
    }
    program.write("noisy.csv", rows.join("\n"));
    let line =
        "fit noisy.csv --target label --model leaf-gp --set n_trees=5 --set leaf_rows=30 --out m.hedgerow";
    let fitted = program.json(line);
    assert!(number(&fitted["blend"]["forest"]) > 0.0, "{fitted}");
    assert_eq!(program.json("info m.hedgerow")["blend"], fitted["blend"]);
    holds(&program.ok("info m.hedgerow"), &["blend exponents: class frequencies"]);
    program.ok(&format!("{line} --report r.html"));
    holds(&String::from_utf8(program.read("r.html")).unwrap(), &["Blend exponents"]);
}

#[test]
fn a_forest_with_ivms_is_fitted_evaluated_used_and_described() {
    let program = Program::new();
    for combine in ["pool", "gate", "route"] {
        let line = format!("fit {BLENDED} --set combine={combine} --set purity=1 --set min_rows=50");
        let line = format!("{line} --test {{data}}/ripley_test.csv.gz --out m.hedgerow");
        let text = program.ok(&line);
        holds(&text, &["forest-ivm of 20 trees and ", "active rows", "out-of-sample accuracy: forest "]);
        let fitted = program.json(&format!("{line} --report r.html"));
        assert!(number(&fitted["ivms"]) >= 1.0, "{fitted}");
        let comparison = &fitted["comparison"];
        assert!(
            number(&comparison["blend_accuracy"]) >= number(&comparison["forest_accuracy"]) - 0.02,
            "{comparison}"
        );
        assert_eq!(comparison["forest_confusion"].as_array().unwrap().len(), 2);
        assert!(comparison["by_prediction"]["0"]["rows"].is_u64(), "{comparison}");
        assert!(number(&fitted["metrics"]["accuracy"]) > 0.87, "{fitted}");
        let page = String::from_utf8(program.read("r.html")).unwrap();
        holds(
            &page,
            &["A forest with Informative Vector Machines", "Forest alone and with IVMs", "IVM used"],
        );
        let evaluated = program.json("evaluate m.hedgerow {data}/ripley_test.csv.gz");
        assert_eq!((&evaluated["metrics"], &evaluated["params"]), (&fitted["metrics"], &fitted["params"]));
        let info = program.json("info m.hedgerow");
        assert_eq!((&info["comparison"], &info["learning"]["rows_learnt"]), (comparison, &json!(250)));
    }
    program.ok("predict m.hedgerow {data}/ripley_test.csv.gz --out p.csv");
    holds(&program.ok("info m.hedgerow"), &["forest-ivm of 20 trees", "keeps learning: 250 rows"]);
}

#[test]
fn a_forest_kernel_is_fitted_evaluated_used_and_described() {
    let program = Program::new();
    holds(
        &program.ok("fit --model forest-kernel --help-params"),
        &["learner", "n_active", "blend", "noise_variance", "max_rows", "forest", "seed"],
    );
    holds(
        &program.refused("fit nowhere.csv --model forest-kernel --set max_rows=1"),
        &["max_rows", "100 or more"],
    );
    for learner in ["gp", "ivm"] {
        let line = format!("fit {FOREST_KERNEL} --set learner={learner} --test {{data}}/ripley_test.csv.gz");
        let line = format!("{line} --seed 3 --out m.hedgerow");
        holds(&program.ok(&line), &["forest-kernel of 20 trees as the kernel of ", "kernel: noise_variance"]);
        let fitted = program.json(&format!("{line} --report r.html"));
        assert!(number(&fitted["metrics"]["accuracy"]) > 0.87, "{fitted}");
        assert_eq!(fitted["active_rows"] == json!(250), learner == "gp", "{fitted}");
        assert!(fitted["blend"]["gp"].is_number(), "{fitted}");
        let page = String::from_utf8(program.read("r.html")).unwrap();
        holds(&page, &["A Gaussian process whose kernel is a forest", "Noise variance", "Decision map"]);
        let evaluated = program.json("evaluate m.hedgerow {data}/ripley_test.csv.gz");
        assert_eq!((&evaluated["metrics"], &evaluated["params"]), (&fitted["metrics"], &fitted["params"]));
        let info = program.json("info m.hedgerow");
        assert_eq!((&info["kernel"], &info["learning"]["rows_learnt"]), (&fitted["kernel"], &json!(250)));
    }
}

#[test]
fn threads_do_not_change_the_file_and_frozen_models_predict_the_same() {
    let program = Program::new();
    for (name, line) in [("leaf", LEAF), ("blended", BLENDED), ("forest_kernel", FOREST_KERNEL)] {
        for threads in 1..=2 {
            program.ok(&format!("fit {line} --threads {threads} --out {name}{threads}.hedgerow"));
        }
        assert!(
            program.read(&format!("{name}1.hedgerow")) == program.read(&format!("{name}2.hedgerow")),
            "{name}"
        );
        program.ok(&format!("fit {line} --frozen --out {name}.hedgerow"));
        let predictions = |model: &str| {
            program.ok(&format!("predict {model}.hedgerow {{data}}/ripley_test.csv.gz --proba"))
        };
        assert_eq!(predictions(name), predictions(&format!("{name}1")));
        assert!(program.json(&format!("info {name}.hedgerow"))["learning"].is_null());
        let message = program.refused(&format!("update {name}.hedgerow {{data}}/ripley_test.csv.gz"));
        holds(&message, &["cannot learn more"]);
        let message =
            program.refused(&format!("merge {name}1.hedgerow {name}1.hedgerow --out both.hedgerow"));
        holds(&message, &["cannot be merged", "forest"]);
        // A file that ends too soon is refused, wherever it ends.
        let whole = program.read(&format!("{name}1.hedgerow"));
        for part in [10, whole.len() / 3, whole.len() - 1] {
            std::fs::write(program.path("cut.hedgerow"), &whole[..part]).unwrap();
            holds(&program.refused("predict cut.hedgerow {data}/ripley_test.csv.gz"), &["cut.hedgerow"]);
        }
    }
}

#[test]
fn streams_are_predicted_and_learnt_and_updates_go_on() {
    let program = Program::new();
    let leaf = "--model leaf-gp --set n_trees=3 --set leaf_rows=80";
    let blended = "--model forest-ivm --set n_trees=20 --set n_active=15 --set max_rows=150";
    let forest_kernel = "--model forest-kernel --set n_trees=20 --set max_rows=300";
    program.ok("generate sea --rows 1500 --seed 3 --out s.csv");
    for (settings, by) in
        [(leaf, "by a forest with"), (blended, "by a forest with"), (forest_kernel, "by a Gaussian process")]
    {
        let result = program.json(&format!(
            "stream s.csv --target class {settings} --batches 5 --out m.hedgerow --report r.html"
        ));
        assert_eq!((&result["rows"], &result["rows_learnt"]), (&json!(1500), &json!(1500)));
        assert_eq!(result["batches"].as_array().unwrap().len(), 5);
        assert!(number(&result["prequential"]["accuracy"]) > 0.75, "{result}");
        holds(&String::from_utf8(program.read("r.html")).unwrap(), &["Learning curve", by]);
        let columns = program.json("info m.hedgerow")["schema"]["columns"].clone();
        let names: Vec<String> =
            columns.as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap().to_string()).collect();
        program.write("new.csv", format!("{},class\n5,5,1,new\n5.1,5,1,new\n5,5.1,2,new\n", names.join(",")));
        let result = program.json("update m.hedgerow new.csv --out m2.hedgerow");
        assert_eq!((&result["new_classes"], &result["rows_learnt"]), (&json!(["new"]), &json!(1503)));
        program.ok("predict m2.hedgerow s.csv --out p.csv");
    }
}

#[test]
fn limits_end_the_work_with_a_model() {
    let program = Program::new();
    for model in ["leaf-gp", "forest-ivm", "forest-kernel"] {
        let line = format!(
            "fit {{data}}/digits.csv.gz --target digit --model {model} --max-seconds 1 --out m.hedgerow"
        );
        let result = program.json(&line);
        assert!(["time", "done"].contains(&result["stop"].as_str().unwrap()), "{result}");
        program.ok("predict m.hedgerow {data}/digits.csv.gz --out p.csv");
    }
    holds(&program.refused(&format!("fit {LEAF} --max-memory 1MB")), &["needs at least", "1.0 MB"]);
}
