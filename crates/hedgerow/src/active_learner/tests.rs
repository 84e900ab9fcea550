use hedgerow_core::testing::blobs;

use super::*;
use crate::kinds::Kind;

fn small(kind: Kind) -> ModelParams {
    let settings: &[(&str, &str)] = match kind.name() {
        "forest" | "forest-kernel" => &[("n_trees", "10")],
        "leaf-gp" => &[("n_trees", "3")],
        "forest-ivm" => &[("n_trees", "10"), ("n_active", "10")],
        "ivm" => &[("n_active", "10")],
        _ => &[],
    };
    ModelParams::new(kind).with_settings(settings.iter().copied()).unwrap()
}

fn learner(data: &Dataset, model: ModelParams) -> ActiveLearner {
    let schema = Schema { labels: hedgerow_core::LabelTable::default(), ..data.schema.clone() };
    let pool = Pool::new(schema, data.features.clone(), vec![None; data.n_rows()]).unwrap();
    let options = ActiveOptions { model, threads: Some(1), ..ActiveOptions::default() };
    ActiveLearner::with_options(pool, options).unwrap()
}

/// Labels what is asked, and returns the rows.
fn label_asked(learner: &mut ActiveLearner, data: &Dataset, n: usize) -> Vec<usize> {
    let rows: Vec<usize> = learner.ask(n).unwrap().into_iter().map(|query| query.row).collect();
    let labels: Vec<String> = rows.iter().map(|row| format!("class {}", data.labels()[*row])).collect();
    learner.tell(&rows, &labels).unwrap();
    rows
}

#[test]
fn every_kind_learns_from_no_label_on() {
    let data = blobs(120, 2, 3, 4);
    for &kind in Kind::ALL {
        let mut learner = learner(&data, small(kind));
        assert!(learner.model().unwrap().is_none(), "{kind}");
        for _ in 0..12 {
            label_asked(&mut learner, &data, 2);
        }
        let x = data.features.to_array(0..120);
        let predictions = learner.model().unwrap().unwrap().predict(x.view()).unwrap();
        let is_right = |(predicted, class): (&&str, &ClassId)| **predicted == format!("class {class}");
        let n_right = predictions.iter().zip(data.labels()).filter(|pair| is_right(*pair)).count();
        assert!(n_right > 100, "{kind}: {n_right} of 120 with 24 labels");
        assert_eq!(learner.pool().labelled().len(), 24, "{kind}");
    }
}

#[test]
fn labels_that_were_taken_back_leave_no_trace() {
    let data = blobs(200, 2, 3, 5);
    let mut with_undo = learner(&data, small(Kind::Forest));
    let mut straight = learner(&data, small(Kind::Forest));
    assert_eq!(with_undo.undo(), None);
    for round in 0..8 {
        let asked = with_undo.ask(3).unwrap();
        let rows: Vec<usize> = asked.iter().map(|query| query.row).collect();
        // A mistake: a class that there is not, for these rows and for the first that was ever asked.
        let first = with_undo.pool().labelled().first().copied().into_iter();
        let wrong: Vec<usize> = rows.iter().copied().chain(first).collect();
        with_undo.tell(&wrong, &vec!["mistake"; wrong.len()]).unwrap();
        with_undo.ask(1).unwrap();
        assert_eq!(with_undo.undo(), Some(wrong));
        assert_eq!(with_undo.ask(3).unwrap(), asked, "round {round}");
        assert_eq!(
            label_asked(&mut with_undo, &data, 3),
            label_asked(&mut straight, &data, 3),
            "round {round}"
        );
        assert_eq!(with_undo.pool().labelled(), straight.pool().labelled());
        assert!(!with_undo.pool().schema().labels.names().contains(&"mistake".to_string()));
    }
    assert!(with_undo.model().unwrap().unwrap() == straight.model().unwrap().unwrap());
}

#[test]
fn many_labels_are_learnt_one_by_one_and_fitted_now_and_then() {
    let labels: Vec<(usize, ClassId)> = (0..1_000).map(|row| (row, ClassId(row as u32 % 2))).collect();
    let fitted = |n: usize, at_once: bool| n_fitted(&labels[..n], at_once);
    assert_eq!([3, 400, 449, 450, 505, 506].map(|n| fitted(n, true)), [3, 400, 400, 450, 450, 506]);
    assert_eq!(fitted(999, false), 999);
    let of_one_class: Vec<(usize, ClassId)> =
        (0..500).map(|row| (row, ClassId(u32::from(row > 460)))).collect();
    assert_eq!(n_fitted(&of_one_class, true), 500, "a fit needs two classes");
    let data = blobs(600, 2, 2, 6);
    let texts: Vec<String> = data.labels().iter().map(ToString::to_string).collect();
    // Told in one go or one by one, with the model asked for in between: the same.
    let mut models = [430, 1].map(|step| {
        let mut learner = learner(&data, small(Kind::Forest));
        let rows: Vec<usize> = (0..430).collect();
        learner.tell(&rows[..400], &texts[..400]).unwrap();
        for rows in rows[400..].chunks(step) {
            learner.tell(rows, &texts[rows[0]..=rows[rows.len() - 1]]).unwrap();
            assert!(learner.model().unwrap().is_some());
        }
        learner
    });
    let [whole, steps] = &mut models;
    assert!(whole.model().unwrap().unwrap() == steps.model().unwrap().unwrap());
    assert_eq!(whole.model().unwrap().unwrap().n_seen(), Some(430));
}

#[test]
fn advice_names_a_reason_and_what_more_labels_would_gain() {
    let data = blobs(400, 2, 2, 7);
    let mut learner = learner(&data, small(Kind::Forest));
    let early = learner.should_stop().unwrap();
    assert!(!early.stop && early.n_labels == 0 && !early.reason.is_empty());
    for _ in 0..26 {
        label_asked(&mut learner, &data, 5);
    }
    let late = learner.should_stop().unwrap();
    assert!(late.stop, "{late}");
    assert!(late.gain.unwrap().mean < 0.01 && late.n_labels == 130, "{late}");
    assert!(late.to_string().contains("the next 10 labels would gain about"), "{late}");
}

#[test]
fn mistakes_of_the_caller_are_told_and_change_nothing() {
    let data = blobs(20, 2, 2, 8);
    let mut learner = learner(&data, small(Kind::Forest));
    let message = learner.tell(&[1, 20], &["a", "b"]).unwrap_err().to_string();
    assert!(message.contains("a row below 20"), "{message}");
    assert!(learner.tell(&[1, 2], &["a"]).is_err());
    assert!(learner.pool().labelled().is_empty() && learner.pool().schema().n_classes() == 0);
    assert!(learner.undo().is_none());
    let infinite = ndarray::array![[1.0], [f32::INFINITY]];
    assert!(ActiveLearner::new(infinite.view()).is_err());
}
