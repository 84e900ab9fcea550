use hedgerow_core::testing::blobs;
use ndarray::Array2;

use super::*;

fn grown(depth: Depth, features: &Features, n_trees: usize) -> (Trees, Columns) {
    let schema = hedgerow_core::Schema::unnamed(features.n_features());
    let columns = Columns::new(&schema, features);
    let trees =
        Trees::grow(depth, (n_trees, 64, 3), features, &columns, (&Par::sequential(), &Budget::open()));
    (trees, columns)
}

/// The expected depth by recursion, and the rows that reach each node counted anew.
fn by_recursion(tree: &Tree, sample: &[&[f32]], at: usize, row: &[f32], depth: f64) -> f64 {
    let Node { column, cut, child, is_cut, .. } = tree.nodes[at];
    if is_cut == 0.0 {
        let equal = sample[0] == row;
        return depth + if equal { mean_depth(sample.len() + 1) } else { 0.0 };
    }
    let column = column as usize;
    let values = sample.iter().map(|row| f64::from(row[column]));
    let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
    let value = f64::from(row[column]);
    let outside = (low - value).max(value - high).max(0.0);
    let parted = outside / (outside + high - low);
    let is_above = row[column] > cut;
    let below: Vec<&[f32]> = sample.iter().copied().filter(|row| (row[column] > cut) == is_above).collect();
    let next = child as usize + usize::from(is_above);
    parted * depth + (1.0 - parted) * by_recursion(tree, &below, next, row, depth + 1.0)
}

#[test]
fn separation_depths_are_those_of_the_definition() {
    let data = blobs(200, 4, 3, 5);
    let (trees, columns) = grown(Depth::Separation, &data.features, 20);
    let others = blobs(50, 4, 4, 6);
    let queries = columns.gather(&others.features, &(0..50).collect::<Vec<u32>>());
    for tree in &trees.members {
        let sample = columns.gather(&data.features, &tree.made_from);
        let sample: Vec<&[f32]> = sample.chunks(4).collect();
        for row in queries.chunks(4).chain(sample.iter().copied().take(3)) {
            let expected = by_recursion(tree, &sample, 0, row, 1.0);
            let [got] = tree.separation([row]);
            assert!((expected - got).abs() < 1e-4, "{expected} {got}");
        }
    }
}

#[test]
fn isolation_trees_end_at_the_depth_of_a_balanced_tree() {
    let data = blobs(200, 4, 3, 5);
    let (trees, columns) = grown(Depth::Isolation, &data.features, 10);
    let rows = columns.gather(&data.features, &(0..200).collect::<Vec<u32>>());
    for tree in &trees.members {
        let sample = columns.gather(&data.features, &tree.made_from);
        for row in rows.chunks(4) {
            // Rows of the sample that go the same way, down to six cuts.
            let mut left: Vec<&[f32]> = sample.chunks(4).collect();
            let (mut at, mut depth) = (0, 0);
            while let Node { column, cut, child, is_cut: 1.0, .. } = tree.nodes[at] {
                let is_above = row[column as usize] > cut;
                left.retain(|other| (other[column as usize] > cut) == is_above);
                (at, depth) = (child as usize + usize::from(is_above), depth + 1);
            }
            assert!(depth <= 6);
            assert!((tree.isolation([row])[0] - (depth as f64 + mean_depth(left.len()))).abs() < 1e-6);
        }
    }
}

#[test]
fn mean_depths_are_those_of_liu_ting_and_zhou() {
    assert_eq!([0, 1, 2].map(mean_depth), [0.0, 0.0, 1.0]);
    // 2 H(255) − 2 · 255/256.
    let harmonic: f64 = (1..256).map(|i| 1.0 / f64::from(i)).sum();
    assert!((mean_depth(256) - (2.0 * harmonic - 2.0 * 255.0 / 256.0)).abs() < 5e-3);
    let (trees, _) = grown(Depth::Isolation, &blobs(200, 4, 3, 5).features, 1);
    assert!((trees.score_of(mean_depth(64)) - 0.5).abs() < 1e-12);
    assert_eq!(trees.score_of(0.0), 1.0);
}

#[test]
fn bags_hold_different_rows_in_order() {
    let mut times = vec![0; 50];
    for number in 0..2_000 {
        let rows = draw(50, 20, 1, Purpose::Bag, number);
        assert!(rows.len() == 20 && rows.windows(2).all(|pair| pair[0] < pair[1]));
        rows.iter().for_each(|&row| times[row as usize] += 1);
    }
    // 800 on average, deviation 22.
    assert!(times.iter().all(|n| (690..910).contains(n)), "{times:?}");
    assert_eq!(draw(3, 9, 1, Purpose::Bag, 0), [0, 1, 2]);
    assert_eq!([2, 3, 100, 1_000].map(|n| sample_size(256, n)), [2, 2, 50, 256]);
}

#[test]
fn equal_rows_and_neighboring_floats_end_in_leaves() {
    let twice = Array2::from_shape_fn((40, 2), |(row, _)| (row % 2) as f32);
    let next = f32::from_bits(1.0_f32.to_bits() + 1);
    let narrow = Array2::from_shape_fn((40, 1), |(row, _)| if row % 2 == 0 { 1.0 } else { next });
    for x in [twice, narrow] {
        let (trees, _) = grown(Depth::Separation, &Features::from_view(x.view()), 5);
        assert!(trees.members.iter().all(|tree| tree.nodes.len() <= 3 && tree.leaves.len() <= 2));
        assert!(trees.fits(trees.width));
    }
}
