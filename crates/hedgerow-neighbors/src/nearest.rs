//! The nearest of many rows.

/// A row with its distance as measured.
pub(crate) type Neighbor = (f32, u32);

/// The `k` nearest rows by their distances, in order, and all that are as far away as the last of them. Infinite distances do not count.
pub(crate) fn nearest(distances: &[f32], k: usize) -> Vec<Neighbor> {
    let by_distance = |a: &Neighbor, b: &Neighbor| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
    let mut kept: Vec<Neighbor> = Vec::new();
    let (mut bound, mut room) = (f32::MAX, 4 * k + 16);
    for (row, &distance) in distances.iter().enumerate() {
        if distance <= bound {
            kept.push((distance, row as u32));
            if kept.len() == room {
                bound = cut(&mut kept, k);
                room = room.max(2 * kept.len());
            }
        }
    }
    cut(&mut kept, k);
    kept.sort_unstable_by(by_distance);
    kept
}

/// Drops what is farther away than the last of the `k` nearest; returns its distance.
fn cut(kept: &mut Vec<Neighbor>, k: usize) -> f32 {
    if k == 0 || kept.len() <= k {
        kept.truncate(if k == 0 { 0 } else { kept.len() });
        return f32::MAX;
    }
    let (_, last, _) = kept.select_nth_unstable_by(k - 1, |a, b| a.0.total_cmp(&b.0));
    let bound = last.0;
    kept.retain(|neighbor| neighbor.0 <= bound);
    bound
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::{Purpose, Rng};

    use super::*;

    #[test]
    fn like_sorting_all() {
        let mut rng = Rng::new(3, Purpose::Data, 0);
        for n in [0, 1, 7, 100, 3000] {
            for levels in [3, 50, 1_000_000] {
                let mut distances: Vec<f32> = (0..n).map(|_| rng.index(levels) as f32).collect();
                if let Some(first) = distances.first_mut() {
                    *first = f32::INFINITY;
                }
                for k in [0, 1, 5, 64] {
                    let mut all: Vec<Neighbor> = distances
                        .iter()
                        .enumerate()
                        .filter(|(_, d)| d.is_finite())
                        .map(|(i, d)| (*d, i as u32))
                        .collect();
                    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                    let last = all.get(k.min(all.len()).wrapping_sub(1)).map_or(-1.0, |neighbor| neighbor.0);
                    all.retain(|neighbor| neighbor.0 <= last);
                    assert_eq!(nearest(&distances, k), all, "{n} {levels} {k}");
                }
            }
        }
    }
}
