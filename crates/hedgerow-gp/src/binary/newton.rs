//! The peak of the posterior by Newton's method.
//!
//! With `e = ∂ log p(y|f) − a`, where `f = K a`, a step is `Δa = e − √W B⁻¹ √W K e` and `Δf = K Δa`; it promises a gain of `½ eᵀΔf`.
//! What costs is the factor of B. So the search starts from the peak for half of the rows, found in the same way, and B⁻¹ is
//! a few conjugate gradients, no more than the step is worth. They are helped along by a factor in single precision, made
//! once and not for every step. The only factor in double precision is that at the peak.

use hedgerow_core::rng::{Purpose, Rng};
use hedgerow_core::{Par, Result};
use ndarray::{Array1, Array2};

use super::factor_of_one_and;
use crate::likelihood::{Likelihood, Local};
use crate::linalg::{Cholesky, Rough, lower_part, mirror, on_rows, rough_vec, symmetric_vec};
use crate::optimize::halved;

/// Rows that a thread works on at a time.
const ROWS: usize = 64;
/// Fewer rows than this are not halved, and their steps are exact.
const FEW: usize = 400;
/// A search on half of the rows ends with a step that promises less than this.
const NEAR: f64 = 3.0;
/// A step that promises less than this is the last one: what is left after it is of the order of its square.
const NEGLIGIBLE: f64 = 1e-7;
/// A gain so small that it may be missed by any step.
const NOTHING: f64 = 1e-14;
/// A factor that needs more conjugate gradients than this is replaced by a new one.
const SLOW: usize = 12;

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
    /// Only the lower half of K is read.
    pub(super) fn find(k: &Array2<f64>, likelihood: Likelihood, y: &[f64], par: &Par) -> Result<Self> {
        let search = ModeSearch { k, likelihood, y, par };
        par.within(|| {
            let (a, f) = search.climb(search.start()?, search.solver(), NEGLIGIBLE)?;
            let root = root(&search.locals(&f));
            let factor = factor_of_one_and(k, &root, par)?;
            Ok(Self { f, a, root, factor })
        })
    }
}

/// What log p(y|f) does at each row.
pub(super) fn locals(likelihood: Likelihood, y: &[f64], f: &Array1<f64>) -> Vec<Local> {
    y.iter().zip(f).map(|(&y, &f)| likelihood.at(y, f)).collect()
}

fn root(local: &[Local]) -> Array1<f64> {
    local.iter().map(|l| libm::sqrt(l.curvature.max(0.0))).collect()
}

struct ModeSearch<'a> {
    k: &'a Array2<f64>,
    likelihood: Likelihood,
    y: &'a [f64],
    par: &'a Par,
}

/// How systems of equations are solved.
enum Solver {
    /// By a factor of their own.
    Exact,
    /// By conjugate gradients, with K in single precision and a factor of a matrix nearby, once there is one.
    Near(Array2<f32>, Option<Near>),
}

/// The factor of a matrix nearby.
struct Near {
    factor: Rough,
    /// √W there.
    root: Array1<f64>,
    /// Steps that it took to solve the last system with it.
    steps: usize,
}

/// A system of equations `(I + R K R) z = right`, R being the diagonal matrix of `root`, and how well it is to be solved.
struct System<'a> {
    root: &'a Array1<f64>,
    right: &'a Array1<f64>,
    /// `eᵀKe`; less `rightᵀz`, it is twice the gain that the step promises.
    pull: f64,
    /// Of the gain, this share may be missed.
    share: f64,
}

impl System<'_> {
    /// Whether the gain that a solution promises is, in double precision, what single precision makes of it.
    fn agrees(&self, z: &Array1<f64>, promised: f64) -> bool {
        let expected = 0.5 * (self.pull - self.right.dot(z));
        promised >= 0.0 && (promised - expected).abs() <= 0.1 * promised.max(NEGLIGIBLE)
    }

    /// Whether a solution is good enough. As `(B − I)B ≤ B²`, what is missed of the gain is at most half the square of what is left on
    /// the right-hand side.
    fn is_solved(&self, z: &Array1<f64>, rest: &Array1<f64>) -> bool {
        rest.dot(rest) <= (self.share * (self.pull - self.right.dot(z))).max(NOTHING)
    }
}

impl ModeSearch<'_> {
    fn locals(&self, f: &Array1<f64>) -> Vec<Local> {
        locals(self.likelihood, self.y, f)
    }

    fn height(&self, a: &Array1<f64>, f: &Array1<f64>) -> f64 {
        self.locals(f).iter().map(|l| l.log_p).sum::<f64>() - 0.5 * a.dot(f)
    }

    /// `K v`.
    fn image(&self, v: &Array1<f64>) -> Array1<f64> {
        symmetric_vec(self.k, v.view(), self.par)
    }

    /// Where to start: the peak for half of the rows, nearly.
    fn start(&self) -> Result<Array1<f64>> {
        let n = self.y.len();
        let mut a = Array1::zeros(n);
        let drawn = Rng::new(0, Purpose::Sample, n as u64).sample(n, n / 2);
        let Some(rows) = drawn.filter(|_| n >= FEW) else { return Ok(a) };
        let k = lower_part(self.k, &rows, self.par);
        let y: Vec<f64> = rows.iter().map(|&row| self.y[row]).collect();
        let half = ModeSearch { k: &k, likelihood: self.likelihood, y: &y, par: self.par };
        let (found, _) = half.climb(half.start()?, half.solver(), NEAR)?;
        rows.iter().zip(&found).for_each(|(&row, v)| a[row] = *v);
        Ok(a)
    }

    fn solver(&self) -> Solver {
        if self.y.len() < FEW { Solver::Exact } else { Solver::Near(self.rough(), None) }
    }

    /// Newton's steps, each halved until it helps, until one promises less than `least`: a and f = K a.
    fn climb(
        &self,
        mut a: Array1<f64>,
        mut solver: Solver,
        least: f64,
    ) -> Result<(Array1<f64>, Array1<f64>)> {
        const MOST_STEPS: usize = 100;
        let mut f = self.image(&a);
        let mut now = self.height(&a, &f);
        let zero = Array1::zeros(a.len());
        let at_zero = self.height(&zero, &zero);
        // What suits half of the rows may be sure of the wrong class for the others, and nothing pulls where all is sure.
        if now.is_nan() || now < at_zero {
            (a, f, now) = (zero.clone(), zero, at_zero);
        }
        let mut gain = f64::INFINITY;
        for _ in 0..MOST_STEPS {
            let local = self.locals(&f);
            let root = root(&local);
            let e: Array1<f64> = local.iter().zip(&a).map(|(l, a)| l.gradient - a).collect();
            let pull = match &solver {
                Solver::Exact => self.image(&e),
                Solver::Near(k, _) => rough_vec(k, e.view(), self.par),
            };
            let right = &root * &pull;
            // As much may be missed as the step is expected to leave.
            let share = (0.1 * gain).clamp(1e-8, 1e-2);
            let system = System { root: &root, right: &right, pull: e.dot(&pull), share };
            let solved = self.solve(&system, &mut solver)?;
            let direction = &e - &(&root * &solved);
            let along = self.image(&direction);
            let promised = 0.5 * e.dot(&along);
            if let Solver::Near(..) = solver
                && !system.agrees(&solved, promised)
            {
                solver = Solver::Exact;
                continue;
            }
            if promised < least {
                let (next_a, next_f) = (&a + &direction, &f + &along);
                // Down by more than rounding explains: the numbers are too large for the promise to mean anything.
                if self.height(&next_a, &next_f) > now - 1e-6 * (1.0 + now.abs()) {
                    (a, f) = (next_a, next_f);
                }
                break;
            }
            gain = 0.0;
            let next = halved([&a, &f], [&direction, &along], now, |a, f| self.height(a, f));
            if let Some(([next_a, next_f], next)) = next {
                gain = next - now;
                (a, f, now) = (next_a, next_f, next);
            }
            if gain < 1e-12 {
                match solver {
                    Solver::Exact => break,
                    Solver::Near(..) => solver = Solver::Exact,
                }
            }
        }
        Ok((a, f))
    }

    fn solve(&self, system: &System<'_>, solver: &mut Solver) -> Result<Array1<f64>> {
        if let Solver::Near(k, near) = solver {
            let is_quick = near.as_ref().is_some_and(|near| near.steps <= SLOW);
            if let Some(z) =
                near.as_mut().filter(|_| is_quick).and_then(|near| self.conjugate(k, near, system))
            {
                return Ok(z);
            }
            *near = self.near(system.root, near.take());
            if let Some(z) = near.as_mut().and_then(|near| self.conjugate(k, near, system)) {
                return Ok(z);
            }
            // Too much for single precision.
            *solver = Solver::Exact;
        }
        Ok(factor_of_one_and(self.k, system.root, self.par)?.solve(system.right.view()))
    }

    /// K in single precision, both halves: products with it are what conjugate gradients wait for.
    fn rough(&self) -> Array2<f32> {
        let n = self.y.len();
        let mut k = Array2::zeros((n, n));
        on_rows(&mut k, ROWS, self.par, |first, mut rows| {
            for (i, mut to) in rows.rows_mut().into_iter().enumerate() {
                let below = to.iter_mut().zip(self.k.row(first + i)).take(first + i + 1);
                below.for_each(|(to, from)| *to = *from as f32);
            }
        });
        mirror(&mut k, self.par);
        k
    }

    /// A factor in single precision, in the memory of another.
    fn near(&self, root: &Array1<f64>, before: Option<Near>) -> Option<Near> {
        let roots = root.to_vec();
        let factor = Rough::new(roots.len(), before.map(|near| near.factor), self.par, |i, row| {
            let (own, from) = (roots[i], self.k.row(i));
            row.iter_mut().zip(from.iter().zip(&roots)).for_each(|(b, (k, r))| *b = (own * k * r) as f32);
            row[i] += 1.0;
        })?;
        Some(Near { factor, root: root.clone(), steps: 0 })
    }

    /// Solves a system by conjugate gradients with the factor of a matrix nearby; none if that takes long.
    fn conjugate(&self, k: &Array2<f32>, near: &mut Near, system: &System<'_>) -> Option<Array1<f64>> {
        const MOST_STEPS: usize = 20;
        // Where K is large, `I + D R K R D` is nearly `D (I + R K R) D`; where it is small, D had better be 1.
        const MOST: f64 = 1.7;
        let System { root, right, .. } = *system;
        let ratio =
            |(now, then): (&f64, &f64)| if *then > 0.0 { (now / then).clamp(1.0 / MOST, MOST) } else { 1.0 };
        let scale: Array1<f64> = root.iter().zip(&near.root).map(ratio).collect();
        let help = |rest: &Array1<f64>| near.factor.solve((rest / &scale).view(), self.par) / &scale;
        let mut z = Array1::zeros(right.len());
        let mut rest = right.clone();
        if rest.dot(&rest) <= NOTHING {
            return Some(z);
        }
        let mut helped = help(&rest);
        let mut direction = helped.clone();
        let mut size = rest.dot(&helped);
        for step in 1..=MOST_STEPS {
            let image = &direction + &(root * &rough_vec(k, (root * &direction).view(), self.par));
            let length = size / direction.dot(&image);
            z.scaled_add(length, &direction);
            rest.scaled_add(-length, &image);
            if system.is_solved(&z, &rest) {
                near.steps = step;
                return Some(z);
            }
            helped = help(&rest);
            let next = rest.dot(&helped);
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
    fn saddle(n: usize, kernel: &Kernel) -> (Array2<f64>, Vec<f64>) {
        let mut rng = Rng::new(6, Purpose::Data, 0);
        let x = Array2::from_shape_fn((n, 2), |_| 4.0 * rng.unit() - 2.0);
        let y = x.rows().into_iter().map(|r| if r[0] * r[1] > 0.3 { 1.0 } else { -1.0 }).collect();
        (kernel.matrix(x.view(), &Par::sequential()), y)
    }

    #[test]
    fn at_the_peak_nothing_pulls() {
        let (k, y) = saddle(2 * FEW + 1, &Kernel::rbf(0.7).scaled(6.0));
        for likelihood in [Likelihood::Logistic, Likelihood::Probit] {
            let peak = Peak::find(&k, likelihood, &y, &Par::new(2).unwrap()).unwrap();
            let local = locals(likelihood, &y, &peak.f);
            let pull = local.iter().zip(&peak.a).map(|(l, a)| (l.gradient - a).abs());
            assert!(pull.fold(0.0, f64::max) < 1e-6, "{likelihood:?}");
            let image = k.dot(&peak.a);
            assert!(image.iter().zip(&peak.f).all(|(a, b)| (a - b).abs() < 1e-8));
            assert_eq!(peak.f, Peak::find(&k, likelihood, &y, &Par::sequential()).unwrap().f);
        }
    }

    /// Also for a kernel that is too much for single precision.
    #[test]
    fn conjugate_gradients_find_what_exact_steps_find() {
        let par = Par::sequential();
        for (kernel, far) in [
            (Kernel::rbf(0.7).scaled(6.0) + Kernel::white(1e-3), 1e-5),
            (Kernel::rbf(0.2).scaled(100.0), 1e-5),
            // So flat a peak that only its height tells.
            (Kernel::rbf(2.0).scaled(1e6), f64::INFINITY),
        ] {
            let (k, y) = saddle(FEW + 1, &kernel);
            for likelihood in [Likelihood::Logistic, Likelihood::Probit] {
                let search = ModeSearch { k: &k, likelihood, y: &y, par: &par };
                let (a, f) = search.climb(Array1::zeros(y.len()), Solver::Exact, NEGLIGIBLE).unwrap();
                let peak = Peak::find(&k, likelihood, &y, &par).unwrap();
                let furthest = f.iter().zip(&peak.f).map(|(a, b)| (a - b).abs() / (1.0 + b.abs()));
                assert!(furthest.fold(0.0, f64::max) < far, "{kernel:?} {likelihood:?}");
                let heights = [search.height(&a, &f), search.height(&peak.a, &peak.f)];
                assert!((heights[0] - heights[1]).abs() < 1e-4, "{kernel:?} {likelihood:?} {heights:?}");
            }
        }
    }
}
