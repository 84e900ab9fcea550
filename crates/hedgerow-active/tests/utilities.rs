//! Utilities of strategies, computed again as they are written down.

#![allow(clippy::unwrap_used)]

use hedgerow_active::strategy::{
    Bald, Consensus, Coverage, Density, Entropy, Epig, ErrorReduction, ExpectedChange, LeastConfidence,
    Margin, VoteEntropy,
};
use hedgerow_active::{Pool, QueryModel, RankSpace, Situation, Strategy};
use hedgerow_core::testing::blobs;
use hedgerow_core::{Dataset, Par, Result};
use ndarray::{Array2, Array3, ArrayView2, Axis};

/// Five members that each predict by a slope of their own.
struct Slopes;

fn member(number: usize, row: &[f32]) -> [f64; 3] {
    let at = |class: usize| {
        let slope = ((number * 7 + class * 3) % 5) as f64 - 2.0;
        (slope * f64::from(row[0]) + (1.0 - slope) * f64::from(row[1]) * 0.5).exp()
    };
    let [a, b, c] = [at(0), at(1), at(2)];
    let sum = a + b + c;
    [a / sum, b / sum, c / sum]
}

impl QueryModel for Slopes {
    fn n_classes(&self) -> usize {
        3
    }

    fn predict_proba(&self, x: ArrayView2<'_, f32>, par: &Par) -> Result<Array2<f64>> {
        Ok(self.predict_members(x, par)?.unwrap().mean_axis(Axis(0)).unwrap())
    }

    fn predict_members(&self, x: ArrayView2<'_, f32>, _par: &Par) -> Result<Option<Array3<f64>>> {
        Ok(Some(Array3::from_shape_fn((5, x.nrows(), 3), |(number, row, class)| {
            member(number, &x.row(row).to_vec())[class]
        })))
    }

    fn importances(&self) -> Option<Vec<f64>> {
        Some(vec![0.75, 0.25])
    }
}

fn entropy(p: &[f64]) -> f64 {
    -p.iter().filter(|p| **p > 0.0).map(|p| p * p.ln()).sum::<f64>()
}

fn sorted(p: &[f64]) -> Vec<f64> {
    let mut p = p.to_vec();
    p.sort_by(|a, b| b.total_cmp(a));
    p
}

/// A pool of 120 rows, the first of which are labelled, with all others as candidates and every second row a target.
struct Scene {
    data: Dataset,
    pool: Pool,
    candidates: Vec<usize>,
    targets: Vec<usize>,
}

impl Scene {
    fn new(n_labelled: usize) -> Self {
        let data = blobs(120, 2, 3, 4);
        let label = |row: usize| (row < n_labelled).then(|| data.labels()[row]);
        let labels = (0..120).map(label).collect();
        let pool = Pool::new(data.schema.clone(), data.features.clone(), labels).unwrap();
        Self { data, pool, candidates: (n_labelled..120).collect(), targets: (0..120).step_by(2).collect() }
    }

    fn utilities(&self, mut strategy: impl Strategy, model: Option<&dyn QueryModel>) -> Vec<f64> {
        self.with_losses(&mut strategy, model, Vec::new())
    }

    fn with_losses(
        &self,
        strategy: &mut dyn Strategy,
        model: Option<&dyn QueryModel>,
        losses: Vec<f64>,
    ) -> Vec<f64> {
        let par = Par::new(2).unwrap();
        let candidates = self.candidates.clone();
        let situation = Situation::new(&self.pool, model, candidates, &self.targets, 0, &par).unwrap();
        strategy.utilities(&situation.with_losses(losses)).unwrap()
    }

    fn proba(&self, row: usize) -> Vec<f64> {
        let x = self.data.features.to_array(row..row + 1);
        Slopes.predict_proba(x.view(), &Par::sequential()).unwrap().row(0).to_vec()
    }

    fn members(&self, row: usize) -> Vec<[f64; 3]> {
        let x = self.data.features.to_array(row..row + 1);
        (0..5).map(|number| member(number, &x.row(0).to_vec())).collect()
    }

    /// The kernel between all rows, by weighted squared distances of ranks; its bandwidth from the targets.
    fn kernel(&self, weights: [f32; 2]) -> Array2<f64> {
        let space = RankSpace::new(&self.data.schema, &self.data.features);
        let place = |rows: &[usize]| space.place(&self.data.features, rows, &Par::sequential());
        let all = place(&(0..120).collect::<Vec<_>>());
        let square = |a: usize, b: usize| {
            let (a, b) = (all.row(a), all.row(b));
            (0..2).map(|c| f64::from(weights[c]) * f64::from(a[c] - b[c]).powi(2)).sum::<f64>()
        };
        let mut tenth: Vec<f64> = self
            .targets
            .iter()
            .map(|&target| {
                let mut squares: Vec<f64> = self.targets.iter().map(|&other| square(target, other)).collect();
                squares.sort_by(f64::total_cmp);
                squares[10]
            })
            .collect();
        tenth.sort_by(f64::total_cmp);
        let bandwidth = tenth[tenth.len() / 2];
        Array2::from_shape_fn((120, 120), |(a, b)| (1.0 - square(a, b) / (16.0 * bandwidth)).max(0.0).powi(8))
    }
}

fn close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (place, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() < 1e-4 * (1.0 + b.abs()), "place {place}: {a}, not {b}");
    }
}

#[test]
fn by_probabilities() {
    let scene = Scene::new(20);
    let each = |of: &dyn Fn(&[f64]) -> f64| -> Vec<f64> {
        scene.candidates.iter().map(|&row| of(&scene.proba(row))).collect()
    };
    close(&scene.utilities(LeastConfidence, Some(&Slopes)), &each(&|p| 1.0 - sorted(p)[0]));
    close(&scene.utilities(Margin, Some(&Slopes)), &each(&|p| 1.0 - (sorted(p)[0] - sorted(p)[1])));
    close(&scene.utilities(Entropy, Some(&Slopes)), &each(&entropy));
    close(&scene.utilities(Margin, None), &vec![1.0; 100]);
}

#[test]
fn losses_move_the_threshold() {
    /// Two classes, the second one with the probability that the first column says.
    struct Column;

    impl QueryModel for Column {
        fn n_classes(&self) -> usize {
            2
        }

        fn predict_proba(&self, x: ArrayView2<'_, f32>, _par: &Par) -> Result<Array2<f64>> {
            let p = |row: usize| f64::from(x[(row, 0)]);
            Ok(Array2::from_shape_fn(
                (x.nrows(), 2),
                |(row, class)| if class == 1 { p(row) } else { 1.0 - p(row) },
            ))
        }
    }

    let x = Array2::from_shape_fn((101, 1), |(row, _)| row as f32 / 100.0);
    let mut schema = hedgerow_core::Schema::unnamed(1);
    schema.labels = vec!["a".to_string(), "b".to_string()].into();
    let pool = Pool::new(schema, hedgerow_core::Features::from_view(x.view()), vec![None; 101]).unwrap();
    let par = Par::sequential();
    let best = |strategy: &mut dyn Strategy, losses: Vec<f64>| {
        let situation = Situation::new(&pool, Some(&Column), (0..101).collect(), &[], 0, &par).unwrap();
        let utilities = strategy.utilities(&situation.with_losses(losses)).unwrap();
        (0..101).max_by(|&a, &b| utilities[a].total_cmp(&utilities[b])).unwrap()
    };
    // Taking a for b costs 1, b for a 4: the threshold is 1/(1 + 4).
    for losses in [vec![1.0, 4.0], vec![0.25, 1.0]] {
        assert_eq!(best(&mut Margin, losses.clone()), 20);
        assert_eq!(best(&mut LeastConfidence, losses), 20);
    }
    assert_eq!((best(&mut Margin, vec![]), best(&mut LeastConfidence, vec![1.0, 1.0])), (50, 50));
}

#[test]
fn committees() {
    let scene = Scene::new(20);
    let each = |of: &dyn Fn(&[[f64; 3]]) -> f64| -> Vec<f64> {
        scene.candidates.iter().map(|&row| of(&scene.members(row))).collect()
    };
    let mean = |members: &[[f64; 3]]| -> Vec<f64> {
        (0..3).map(|class| members.iter().map(|p| p[class]).sum::<f64>() / 5.0).collect()
    };
    let votes = each(&|members| {
        let mut shares = [0.0; 3];
        for p in members {
            let most = sorted(p)[0];
            shares[p.iter().position(|v| *v == most).unwrap()] += 0.2;
        }
        entropy(&shares)
    });
    close(&scene.utilities(VoteEntropy, Some(&Slopes)), &votes);
    close(&scene.utilities(Consensus, Some(&Slopes)), &each(&|members| entropy(&mean(members))));
    let bald =
        each(&|members| entropy(&mean(members)) - members.iter().map(|p| entropy(p)).sum::<f64>() / 5.0);
    close(&scene.utilities(Bald, Some(&Slopes)), &bald);
    // The information about the targets is never more than that about the members.
    let epig = scene.utilities(Epig, Some(&Slopes));
    assert!(epig.iter().zip(&bald).all(|(epig, bald)| *epig >= 0.0 && *epig <= bald + 1e-9));
    assert!(epig.iter().any(|epig| *epig > 1e-4));
}

#[test]
fn density_and_coverage() {
    let scene = Scene::new(20);
    let doubt = |row: usize| {
        let p = sorted(&scene.proba(row));
        1.0 - (p[0] - p[1])
    };
    let kernel = scene.kernel([1.0, 1.0]);
    let density = |row: usize| {
        scene.targets.iter().map(|&target| kernel[(row, target)]).sum::<f64>() / scene.targets.len() as f64
    };
    let expected: Vec<f64> = scene.candidates.iter().map(|&row| density(row) * doubt(row)).collect();
    close(&scene.utilities(Density, Some(&Slopes)), &expected);

    for (learn_after, fade_after, novelty) in [(f64::INFINITY, f64::INFINITY, 0.0), (20.0, 40.0, 0.3)] {
        for (has_model, n_labelled) in [(true, 20), (false, 20), (false, 0)] {
            let scene = Scene::new(n_labelled);
            let learnt = has_model && learn_after.is_finite();
            // Half of the weights comes from importances, at as many labels.
            let weights = if learnt { [0.5 + 0.75, 0.5 + 0.25] } else { [1.0, 1.0] };
            let kernel = scene.kernel(weights);
            let exponent = 1.0 / (1.0 + n_labelled as f64 / fade_after);
            let known = |row: usize| (0..n_labelled).map(|own| kernel[(own, row)]).fold(0.0, f64::max);
            let doubt = |row: usize| {
                let own = if has_model { doubt(row) + 1e-3 } else { 1.0 };
                own + novelty * exponent * (1.0 - known(row)) * f64::max(1.0 - own, 0.0)
            };
            let gain = |row: usize| {
                let of = |&target: &usize| doubt(target) * (kernel[(row, target)] - known(target)).max(0.0);
                scene.targets.iter().map(of).sum::<f64>()
            };
            let gains: Vec<f64> = scene.candidates.iter().map(|&row| gain(row)).collect();
            let most = gains.iter().copied().fold(0.0, f64::max);
            let value = |(&row, gain): (&usize, &f64)| doubt(row) * (gain / most).powf(exponent);
            let expected: Vec<f64> = scene.candidates.iter().zip(&gains).map(value).collect();
            let coverage = Coverage::new(learn_after, fade_after, novelty);
            let model = has_model.then_some(&Slopes as &dyn QueryModel);
            let found = scene.utilities(coverage, model);
            for (place, (a, b)) in found.iter().zip(&expected).enumerate() {
                assert!((a - b).abs() < 5e-3, "{n_labelled} labels, place {place}: {a}, not {b}");
            }
        }
    }
}

#[test]
fn only_some_candidates_are_compared() {
    let scene = Scene::new(20);
    let all = scene.utilities(Coverage::default(), Some(&Slopes));
    let mut few = Coverage::new(f64::INFINITY, f64::INFINITY, 0.0);
    few.n_compared = 30;
    let some = scene.utilities(few, Some(&Slopes));
    let margins = scene.utilities(Margin, Some(&Slopes));
    // What is covered already is worth nothing either.
    let n_compared = some.iter().filter(|utility| **utility > 0.0).count();
    assert!((25..=30).contains(&n_compared), "{n_compared}");
    let surest = (15..100).filter(|&place| some[place] > 0.0).map(|place| margins[place]).fold(1.0, f64::min);
    let left_out = (15..100).filter(|&place| some[place] == 0.0).map(|place| margins[place]);
    let more_uncertain = left_out.filter(|margin| *margin > surest).count();
    assert!(more_uncertain <= 30 - n_compared, "the most uncertain ones are compared");
    let best = (0..15).max_by(|&a, &b| all[a].total_cmp(&all[b])).unwrap();
    assert!(some[best] > 0.0, "those drawn first are compared");
}

#[test]
fn looking_ahead_by_the_kernel() {
    let scene = Scene::new(12);
    let kernel = scene.kernel([1.0, 1.0]);
    let counts = |extra: Option<(usize, usize)>, target: usize| -> Vec<f64> {
        let mut counts = [0.1; 3];
        (0..12).for_each(|row| counts[scene.data.labels()[row].index()] += kernel[(row, target)]);
        if let Some((row, class)) = extra {
            counts[class] += kernel[(row, target)];
        }
        let sum: f64 = counts.iter().sum();
        counts.iter().map(|count| count / sum).collect()
    };
    let expected = |of: &dyn Fn(&[f64], &[f64]) -> f64| -> Vec<f64> {
        let value = |&row: &usize| {
            let own = counts(None, row);
            let after = |class: usize| {
                let each = |&target: &usize| of(&counts(None, target), &counts(Some((row, class)), target));
                scene.targets.iter().map(each).sum::<f64>() / scene.targets.len() as f64
            };
            (0..3).map(|class| own[class] * after(class)).sum()
        };
        scene.candidates.iter().map(value).collect()
    };
    let sure = expected(&|_, after| sorted(after)[0]);
    close(&scene.utilities(ErrorReduction::default(), None), &sure);
    let moved =
        expected(&|before, after| 0.5 * before.iter().zip(after).map(|(a, b)| (a - b).abs()).sum::<f64>());
    close(&scene.utilities(ExpectedChange::default(), None), &moved);
}
