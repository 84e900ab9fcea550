//! The peak of the posterior by Newton's method.
//!
//! With `e = ∂ log p(y|f) − a`, where `f = K a`, a step is `Δa = e − √W B⁻¹ √W K e` and `Δf = K Δa`; it promises a gain of `½ eᵀΔf`.
//! What costs is the factor of B. So the search starts from the peak for half of the rows, found in the same way, and where
//! the next step is a small one, the last factor serves as it is: a few conjugate gradients make up for what has changed.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Par, Result};
use ndarray::{Array1, Array2};

use super::factor_of_one_and;
use crate::likelihood::{Likelihood, Local};
use crate::linalg::{Cholesky, mat_vec};

/// Fewer rows than this are not halved.
const FEW: usize = 400;
/// Below this gain, the last factor is near enough to the next.
const NEAR: f64 = 3.0;
/// A step that promises less than this is the last one: what is left after it is of the order of its square.
const NEGLIGIBLE: f64 = 1e-7;

/// The peak of the posterior.
pub(super) struct Peak {
    pub(super) f: Array1<f64>,
    /// K⁻¹ f.
    pub(super) a: Array1<f64>,
    /// √W there.
    pub(super) root: Array1<f64>,
    /// Of B = I + √W K √W there.
    pub(super) factor: Cholesky,
}

impl Peak {
    pub(super) fn find(k: &Array2<f64>, likelihood: Likelihood, y: &[f64], par: &Par) -> Result<Self> {
        let search = Search { k, likelihood, y, par };
        let Climbed { a, f, memory } = search.climb(search.start()?, NEGLIGIBLE)?;
        let root = root(&search.locals(&f));
        let factor = factor_of_one_and(k, &root, memory, par)?;
        Ok(Self { f, a, root, factor })
    }
}

/// What log p(y|f) does at each row.
pub(super) fn locals(likelihood: Likelihood, y: &[f64], f: &Array1<f64>) -> Vec<Local> {
    y.iter().zip(f).map(|(&y, &f)| likelihood.at(y, f)).collect()
}

fn root(local: &[Local]) -> Array1<f64> {
    local.iter().map(|l| libm::sqrt(l.curvature.max(0.0))).collect()
}

/// Where a search ended.
struct Climbed {
    a: Array1<f64>,
    f: Array1<f64>,
    /// To be used again.
    memory: Option<Array2<f64>>,
}

struct Search<'a> {
    k: &'a Array2<f64>,
    likelihood: Likelihood,
    y: &'a [f64],
    par: &'a Par,
}

impl Search<'_> {
    fn locals(&self, f: &Array1<f64>) -> Vec<Local> {
        locals(self.likelihood, self.y, f)
    }

    fn height(&self, a: &Array1<f64>, f: &Array1<f64>) -> f64 {
        self.locals(f).iter().map(|l| l.log_p).sum::<f64>() - 0.5 * a.dot(f)
    }

    /// Where to start: the peak for half of the rows, nearly.
    fn start(&self) -> Result<Array1<f64>> {
        let n = self.y.len();
        let mut a = Array1::zeros(n);
        if n < FEW {
            return Ok(a);
        }
        let mut rows: Vec<usize> = (0..n).collect();
        Rng::new(0, Purpose::Sample, n as u64).shuffle(&mut rows);
        rows.truncate(n / 2);
        rows.sort_unstable();
        let mut k = Array2::zeros((rows.len(), rows.len()));
        for (mut to, &row) in k.rows_mut().into_iter().zip(&rows) {
            let from = self.k.row(row);
            to.iter_mut().zip(&rows).for_each(|(to, &column)| *to = from[column]);
        }
        let y: Vec<f64> = rows.iter().map(|&row| self.y[row]).collect();
        let half = Search { k: &k, likelihood: self.likelihood, y: &y, par: self.par };
        let found = half.climb(half.start()?, NEAR)?.a;
        rows.iter().zip(&found).for_each(|(&row, v)| a[row] = *v);
        Ok(a)
    }

    /// Newton's steps, each halved until it helps, until one promises less than `least`.
    fn climb(&self, mut a: Array1<f64>, least: f64) -> Result<Climbed> {
        const MOST_STEPS: usize = 100;
        let mut f = mat_vec(self.k, a.view(), self.par);
        let mut now = self.height(&a, &f);
        let mut factor: Option<Cholesky> = None;
        let mut gain = f64::INFINITY;
        for _ in 0..MOST_STEPS {
            let local = self.locals(&f);
            let root = root(&local);
            let e: Array1<f64> = local.iter().zip(&a).map(|(l, a)| l.gradient - a).collect();
            let right = &root * &mat_vec(self.k, e.view(), self.par);
            let nearly = factor.as_ref().filter(|_| gain < NEAR);
            let solved = if let Some(z) = nearly.and_then(|near| self.conjugate(near, &root, &right)) {
                z
            } else {
                let memory = factor.take().map(Cholesky::into_memory);
                factor.insert(factor_of_one_and(self.k, &root, memory, self.par)?).solve(right.view())
            };
            let direction = &e - &(&root * &solved);
            let along = mat_vec(self.k, direction.view(), self.par);
            if 0.5 * e.dot(&along) < least {
                a += &direction;
                f += &along;
                break;
            }
            let mut step = 1.0;
            gain = 0.0;
            while step > 1e-6 {
                let (next_a, next_f) = (&a + &(&direction * step), &f + &(&along * step));
                let next = self.height(&next_a, &next_f);
                if next > now {
                    gain = next - now;
                    (a, f, now) = (next_a, next_f, next);
                    break;
                }
                step /= 2.0;
            }
            if gain < 1e-12 {
                break;
            }
        }
        Ok(Climbed { a, f, memory: factor.map(Cholesky::into_memory) })
    }

    /// Solves `(I + R K R) z = right` by conjugate gradients with the factor of a matrix nearby; none if that takes long.
    fn conjugate(&self, near: &Cholesky, root: &Array1<f64>, right: &Array1<f64>) -> Option<Array1<f64>> {
        const MOST_STEPS: usize = 12;
        const TOLERANCE: f64 = 1e-4;
        let mut z = Array1::zeros(right.len());
        let mut rest = right.clone();
        let mut helped = near.solve(rest.view());
        let mut direction = helped.clone();
        let mut size = rest.dot(&helped);
        let enough = TOLERANCE * TOLERANCE * size;
        for _ in 0..MOST_STEPS {
            let image = &direction + &(root * &mat_vec(self.k, (root * &direction).view(), self.par));
            let step = size / direction.dot(&image);
            z.scaled_add(step, &direction);
            rest.scaled_add(-step, &image);
            helped = near.solve(rest.view());
            let next = rest.dot(&helped);
            if next <= enough {
                return Some(z);
            }
            direction = &helped + &(direction * (next / size));
            size = next;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;

    /// So many rows that halves and conjugate gradients take part.
    #[test]
    fn at_the_peak_nothing_pulls() {
        let n = 2 * FEW + 1;
        let mut rng = Rng::new(6, Purpose::Data, 0);
        let x = Array2::from_shape_fn((n, 2), |_| 4.0 * rng.unit() - 2.0);
        let y: Vec<f64> = x.rows().into_iter().map(|r| if r[0] * r[1] > 0.3 { 1.0 } else { -1.0 }).collect();
        let k = Kernel::rbf(0.7).scaled(6.0).matrix(x.view(), &Par::sequential());
        for likelihood in [Likelihood::Logistic, Likelihood::Probit] {
            let peak = Peak::find(&k, likelihood, &y, &Par::new(2).unwrap()).unwrap();
            let local = locals(likelihood, &y, &peak.f);
            let pull = local.iter().zip(&peak.a).map(|(l, a)| (l.gradient - a).abs());
            assert!(pull.fold(0.0, f64::max) < 1e-6, "{likelihood:?}");
            let image = mat_vec(&k, peak.a.view(), &Par::sequential());
            assert!(image.iter().zip(&peak.f).all(|(a, b)| (a - b).abs() < 1e-8));
            assert_eq!(peak.f, Peak::find(&k, likelihood, &y, &Par::sequential()).unwrap().f);
        }
    }
}
