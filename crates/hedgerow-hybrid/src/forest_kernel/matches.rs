//! The kernel itself, for rows whose leaves stand side by side.

use hedgerow_core::Par;
use ndarray::Array2;

use super::leaves::Leaves;

/// The share of trees in which rows of `a` and rows of `b` share a leaf.
pub(super) fn shares(leaves: &Leaves, a: &[usize], b: &[usize], par: &Par) -> Array2<f64> {
    let (own, others) = (leaves.rows(a), leaves.rows(b));
    let width = leaves.trees.len();
    if leaves.are_short() {
        // Half the memory is twice the speed.
        let short = |numbers: Vec<u32>| numbers.into_iter().map(|n| n as u16).collect::<Vec<u16>>();
        return count(&short(own), &short(others), [a.len(), b.len(), width], par);
    }
    count(&own, &others, [a.len(), b.len(), width], par)
}

fn count<T: PartialEq + Sync>(a: &[T], b: &[T], [n, m, width]: [usize; 3], par: &Par) -> Array2<f64> {
    let mut out = Array2::ones((n, m));
    if width == 0 || m == 0 {
        return out;
    }
    let Some(table) = out.as_slice_mut() else { return out };
    par.for_chunks(table, m, |i, out| {
        let own = &a[i * width..][..width];
        for (to, other) in out.iter_mut().zip(b.chunks_exact(width)) {
            *to = f64::from(equal(own, other)) / width as f64;
        }
    });
    out
}

/// In how many places two lists are equal. Counts of few places fit two bytes, which lets more of them be counted at a time.
fn equal<T: PartialEq>(a: &[T], b: &[T]) -> u32 {
    const FEW: usize = 1 << 15;
    let few = |(a, b): (&[T], &[T])| a.iter().zip(b).map(|(a, b)| u16::from(a == b)).sum::<u16>();
    a.chunks(FEW).zip(b.chunks(FEW)).map(|pair| u32::from(few(pair))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_places_are_counted() {
        let a: Vec<u16> = (0..1000).map(|i| i % 7).collect();
        let b: Vec<u16> = (0..1000).map(|i| i % 5).collect();
        let naive = a.iter().zip(&b).filter(|(a, b)| a == b).count() as u32;
        assert_eq!(equal(&a, &b), naive);
        let long = vec![1_u32; 100_000];
        assert_eq!(equal(&long, &long), 100_000);
    }
}
