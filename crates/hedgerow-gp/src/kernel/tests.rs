//! Values against naive loops, derivatives against differences.

use hedgerow_core::rng::{Purpose, Rng};
use ndarray::ArrayView1;

use super::*;

fn rows(n: usize, d: usize, seed: u64) -> Array2<f64> {
    let mut rng = Rng::new(seed, Purpose::Data, 0);
    Array2::from_shape_fn((n, d), |_| 4.0 * rng.unit() - 2.0)
}

fn kernels() -> Vec<Kernel> {
    let stationary = |shape, metric| Kernel::Stationary { shape, metric };
    vec![
        Kernel::rbf(1.3),
        Kernel::Stationary { shape: Shape::Rbf, metric: Metric::Each(vec![0.5, 2.0, 1.1]) },
        Kernel::matern(0.5, 0.8),
        Kernel::matern(1.5, 0.8),
        stationary(Shape::Matern { nu: 2.5 }, Metric::Each(vec![1.0, 2.0, 0.7])),
        Kernel::matern(0.9, 1.2),
        stationary(Shape::RationalQuadratic { alpha: 0.6 }, Metric::Each(vec![1.0, 0.4, 3.0])),
        stationary(Shape::Exponential, Metric::One(2.0)),
        stationary(Shape::InverseMultiquadric, Metric::One(0.5)),
        Kernel::rbf(1.0) * stationary(Shape::Compact { power: 3.0 }, Metric::One(3.0)),
        Kernel::linear(0.7),
        Kernel::Polynomial { degree: 3, offset: 1.4 },
        Kernel::Sigmoid { slope: 0.1, offset: 0.2 },
        Kernel::rbf(0.9).scaled(2.5) + Kernel::linear(0.3).scaled(0.2) + Kernel::white(0.1),
        (Kernel::rbf(0.9) + Kernel::Constant.scaled(0.4)) * Kernel::matern(2.5, 2.0).scaled(1.7),
    ]
}

/// The definition, for one pair of different rows.
fn naive(kernel: &Kernel, x: ArrayView1<'_, f64>, y: ArrayView1<'_, f64>) -> f64 {
    match kernel {
        Kernel::Stationary { shape, metric } => {
            let d: Vec<f64> = x.iter().zip(y).map(|(x, y)| x - y).collect();
            let r2 = match metric {
                Metric::One(l) => d.iter().map(|d| d * d / (l * l)).sum(),
                Metric::Each(ls) => d.iter().zip(ls).map(|(d, l)| d * d / (l * l)).sum::<f64>(),
            };
            shape.value(r2)
        }
        Kernel::Polynomial { degree, offset } => (x.dot(&y) + offset).powf(f64::from(*degree)),
        Kernel::Sigmoid { slope, offset } => (slope * x.dot(&y) + offset).tanh(),
        Kernel::Constant => 1.0,
        Kernel::White => 0.0,
        Kernel::Matches => x.iter().zip(y).filter(|(x, y)| x == y).count() as f64 / x.len() as f64,
        Kernel::Given(given) => given.matrix()[(x[0] as usize, y[0] as usize)],
        Kernel::Scaled { variance, kernel } => variance * naive(kernel, x, y),
        Kernel::Sum(kernels) => kernels.iter().map(|k| naive(k, x, y)).sum(),
        Kernel::Product(kernels) => kernels.iter().map(|k| naive(k, x, y)).product(),
    }
}

#[test]
fn values_are_those_of_the_definition() {
    let (a, b) = (rows(70, 3, 1), rows(5, 3, 2));
    for kernel in kernels() {
        kernel.check(3).unwrap();
        let cross = kernel.cross(a.view(), b.view(), &Par::new(2).unwrap());
        for (i, x) in a.rows().into_iter().enumerate() {
            for (j, y) in b.rows().into_iter().enumerate() {
                let expected = naive(&kernel, x, y);
                assert!((cross[(i, j)] - expected).abs() < 1e-12 * (1.0 + expected.abs()), "{kernel:?}");
            }
        }
        let own = kernel.cross(b.view(), b.view(), &Par::sequential());
        // Rounding of distances shows most where a kernel has a peak.
        assert!(
            kernel.diagonal(b.view()).iter().zip(own.diag()).all(|(a, b)| (a - b).abs() < 1e-6),
            "{kernel:?}"
        );
    }
}

#[test]
fn derivatives_agree_with_differences() {
    let x = rows(12, 3, 3);
    let par = Par::sequential();
    let mut rng = Rng::new(4, Purpose::Data, 0);
    let w = Array2::from_shape_fn((12, 12), |_| rng.unit() - 0.5);
    let w = &w + &w.t();
    for kernel in kernels() {
        let gradient = kernel.gradient(x.view(), &w, &par);
        let parameters = kernel.parameters();
        assert_eq!((gradient.len(), kernel.parameter_names().len()), (parameters.len(), parameters.len()));
        for (i, &derivative) in gradient.iter().enumerate() {
            let at = |value: f64| {
                let mut moved = parameters.clone();
                moved[i] = value;
                (&w * &kernel.with_parameters(&moved).matrix(x.view(), &par)).sum()
            };
            let h = 1e-5;
            let difference = (at(parameters[i] + h) - at(parameters[i] - h)) / (2.0 * h);
            let close = (difference - derivative).abs() < 1e-6 * (1.0 + difference.abs());
            assert!(close, "{kernel:?} parameter {i}: {difference} {derivative}");
        }
    }
}

#[test]
fn parameters_come_back() {
    for kernel in kernels() {
        let copy = kernel.with_parameters(&kernel.parameters());
        let off =
            copy.parameters().iter().zip(kernel.parameters()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-14, "{kernel:?}");
    }
    let names = (Kernel::rbf(1.0).scaled(2.0) + Kernel::white(0.1)).parameter_names();
    assert_eq!(names, ["signal_variance", "length_scale", "noise_variance"]);
}

#[test]
fn noise_is_for_a_row_and_itself_and_not_for_an_equal_one() {
    let x = ndarray::array![[1.0], [1.0]];
    let kernel = Kernel::rbf(1.0) + Kernel::white(0.5);
    let par = Par::sequential();
    assert_eq!(kernel.matrix(x.view(), &par), ndarray::array![[1.5, 1.0], [1.0, 1.5]]);
    assert_eq!(kernel.cross(x.view(), x.view(), &par), ndarray::array![[1.0, 1.0], [1.0, 1.0]]);
}

#[test]
fn impossible_kernels_are_refused() {
    let refused = |kernel: Kernel| kernel.check(3).unwrap_err().to_string();
    assert!(refused(Kernel::rbf(0.0)).contains("length_scale"));
    assert!(
        refused(Kernel::Stationary { shape: Shape::Rbf, metric: Metric::Each(vec![1.0]) })
            .contains("3 columns")
    );
    assert!(refused(Kernel::matern(-1.0, 1.0)).contains("nu"));
    assert!(refused(Kernel::rbf(1.0).scaled(f64::NAN)).contains("variance"));
    assert!(refused(Kernel::Sum(Vec::new())).contains("one kernel"));
}

#[test]
fn equal_columns_are_counted_and_make_a_positive_definite_kernel() {
    let par = Par::new(2).unwrap();
    let mut rng = Rng::new(5, Purpose::Data, 0);
    let nodes = Array2::from_shape_fn((90, 20), |_| f64::from(rng.below(4)));
    // Numbers that are not whole take the other path.
    for x in [nodes.clone(), nodes.mapv(|v| v + 0.25)] {
        let kernel = Kernel::Matches.scaled(2.0);
        let k = kernel.matrix(x.view(), &par);
        assert_eq!(k, kernel.matrix(x.view(), &Par::sequential()));
        for (i, a) in x.rows().into_iter().enumerate() {
            for (j, b) in x.rows().into_iter().enumerate() {
                assert!((k[(i, j)] - naive(&kernel, a, b)).abs() < 1e-15);
            }
        }
        assert!(crate::linalg::Cholesky::new(k + Array2::<f64>::eye(90) * 1e-9, &par).is_some());
        assert!(kernel.gradient(x.view(), &Array2::ones((90, 90)), &par)[0] > 0.0);
    }
    assert_eq!(
        Kernel::Matches.cross(Array2::zeros((2, 0)).view(), Array2::zeros((1, 0)).view(), &par),
        Array2::<f64>::ones((2, 1))
    );
}

#[test]
fn a_given_matrix_is_looked_up_and_rows_outside_it_are_refused() {
    let par = Par::sequential();
    let base = rows(6, 2, 9);
    let k = Kernel::rbf(1.0).matrix(base.view(), &par);
    let given = Kernel::Given(Given::new(k.clone()).unwrap());
    let numbers = ndarray::array![[4.0], [0.0], [5.0]];
    given.check_rows(numbers.view()).unwrap();
    let cross = given.cross(numbers.view(), numbers.view(), &par);
    assert_eq!(cross[(0, 2)], k[(4, 5)]);
    assert!(given.diagonal(numbers.view()).iter().all(|v| *v == 1.0));
    for wrong in [6.0, -1.0, 0.5, f64::NAN] {
        let x = ndarray::array![[0.0], [wrong]];
        let refused = (given.clone() + Kernel::white(0.1)).check_rows(x.view()).unwrap_err().to_string();
        assert!(refused.contains("below 6"), "{refused}");
        assert_eq!(given.cross(x.view(), x.view(), &par)[(0, 1)], 0.0);
    }
    assert!(given.check(2).is_err());
    assert!(Given::new(ndarray::array![[1.0, 0.2], [0.3, 1.0]]).is_err());
    assert!(Given::new(ndarray::array![[f64::NAN]]).is_err());
    assert!(Given::new(Array2::zeros((2, 3))).is_err());
}
