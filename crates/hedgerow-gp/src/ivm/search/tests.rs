//! The search against one that goes through all rows each time.

use hedgerow_core::{Budget, Par};
use ndarray::{Array2, Axis};

use super::super::columns::Base;
use super::super::site::Site;
use super::*;
use crate::kernel::Kernel;

/// The search as the formulae have it, in double precision, through all rows for every choice.
fn naive(
    x: &Array2<f64>,
    y: &[f64],
    kernel: &Kernel,
    noise: f64,
    bias: f64,
    options: &IvmParams,
) -> Vec<usize> {
    let n = y.len();
    let mut mean = vec![0.0; n];
    let mut variance: Vec<f64> = kernel.diagonal(x.view()).iter().map(|v| v + noise).collect();
    let own = variance[0] - noise;
    let mut penalty = vec![0.0; n];
    let mut m: Vec<Vec<f64>> = Vec::new();
    let mut active: Vec<usize> = Vec::new();
    let of_all = y.iter().filter(|y| **y > 0.0).count() as f64 / n as f64;
    while active.len() < options.n_active {
        let n_own = active.iter().filter(|row| y[**row] > 0.0).count() as f64;
        let wants = active.is_empty() || n_own / (active.len() as f64) < 0.5 * (of_all + 0.5) - 0.01;
        let mut best: Option<(usize, Site, f64)> = None;
        for row in (0..n).filter(|row| !active.contains(row)) {
            if options.balance && (y[row] > 0.0) != wants {
                continue;
            }
            let Some(site) = Site::new(y[row], mean[row], variance[row], bias) else { continue };
            let score = site.entropy - penalty[row];
            if best.as_ref().is_none_or(|(_, _, most)| score > *most) {
                best = Some((row, site, score));
            }
        }
        let (row, site, score) = best.unwrap();
        let cross = kernel.cross(x.view(), x.select(Axis(0), &[row]).view(), &Par::sequential());
        let root = site.shrink.sqrt();
        let mut new = vec![0.0; n];
        for i in 0..n {
            let mut s = cross[(i, 0)] + if i == row { noise } else { 0.0 };
            s -= m.iter().map(|m| m[i] * m[row]).sum::<f64>();
            mean[i] += site.gain * s;
            variance[i] -= site.shrink * s * s;
            new[i] = root * s;
            if options.suppress && y[i] == y[row] {
                penalty[i] += cross[(i, 0)] / own * score;
            }
        }
        m.push(new);
        active.push(row);
    }
    active
}

#[test]
fn choices_made_ahead_are_those_of_a_search_through_all_rows() {
    let mut rng = Rng::new(7, Purpose::Data, 0);
    let n = FEW_ROWS + 1500;
    let x = Array2::from_shape_fn((n, 3), |_| (4.0 * rng.unit() - 2.0) as f32);
    let label =
        |row: ndarray::ArrayView1<'_, f32>| if row[0] * row[1] + 0.3 * row[2] > 0.8 { 1.0 } else { -1.0 };
    let y: Vec<f64> = x.rows().into_iter().map(label).collect();
    let kernel = Kernel::rbf(0.9).scaled(9.0);
    let wide = x.mapv(f64::from);
    for (suppress, balance) in [(false, false), (true, false), (false, true)] {
        let options = IvmParams { n_active: 60, suppress, balance, ..IvmParams::default() };
        let columns = Columns::rbf(Base::rows(x.view()), 0.9, 9.0);
        let run = |par: &Par| {
            let mut search = ActiveSetSearch::new(&columns, &y, 1e-3, -1.0, &options);
            while let Some(ahead) = search.choose_ahead(par, &Budget::open()) {
                let rows: Vec<usize> = ahead.chosen.iter().map(|pick| pick.row).collect();
                search.take(ahead, &columns.of(&rows, par), par);
            }
            let rows: Vec<usize> = search.state.picks.iter().map(|pick| pick.row).collect();
            (rows, search.state.mean, search.state.variance)
        };
        let (chosen, ..) = run(&Par::sequential());
        assert_eq!(run(&Par::sequential()), run(&Par::new(3).unwrap()), "threads change nothing");
        assert_eq!(chosen, naive(&wide, &y, &kernel, 1e-3, -1.0, &options), "{suppress} {balance}");
    }
}
