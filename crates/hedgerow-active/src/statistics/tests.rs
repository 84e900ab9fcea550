//! Reference values: `SciPy` 1.17.1, scikit-posthocs 0.17.1 (Nemenyi), statsmodels 0.15.0 (Holm); table 4.2 of Röder, 2013, Active
//! learning: new approaches, and industrial applications.

use ndarray::{Array2, array};

use super::distributions::{chi_square_above, f_above};
use super::*;

/// Areas of DEAL, uncertainty sampling and random sampling on 32 data sets.
const TABLE_4_2: [[f64; 3]; 32] = [
    [0.924, 0.88, 0.898],
    [0.753, 0.726, 0.736],
    [0.704, 0.672, 0.675],
    [0.733, 0.73, 0.734],
    [0.649, 0.662, 0.652],
    [0.963, 0.958, 0.952],
    [0.987, 0.985, 0.973],
    [0.708, 0.696, 0.699],
    [0.886, 0.87, 0.875],
    [0.723, 0.715, 0.686],
    [0.757, 0.759, 0.733],
    [0.826, 0.818, 0.828],
    [0.928, 0.92, 0.913],
    [0.903, 0.882, 0.884],
    [0.99, 0.982, 0.981],
    [0.689, 0.674, 0.689],
    [0.679, 0.655, 0.658],
    [0.556, 0.544, 0.542],
    [0.71, 0.732, 0.702],
    [0.941, 0.907, 0.913],
    [0.927, 0.903, 0.88],
    [0.67, 0.674, 0.659],
    [0.951, 0.957, 0.919],
    [0.874, 0.774, 0.845],
    [0.776, 0.765, 0.773],
    [0.902, 0.899, 0.884],
    [0.8, 0.79, 0.781],
    [0.882, 0.877, 0.874],
    [0.753, 0.604, 0.725],
    [0.874, 0.875, 0.864],
    [0.948, 0.942, 0.935],
    [0.727, 0.723, 0.718],
];

fn table_4_2() -> Array2<f64> {
    Array2::from_shape_fn((32, 3), |(i, j)| TABLE_4_2[i][j])
}

/// Scores with ties.
fn tied() -> Array2<f64> {
    array![
        [0.1, 0.2, 0.2, 0.4, 0.3],
        [0.5, 0.5, 0.5, 0.1, 0.9],
        [0.3, 0.1, 0.7, 0.7, 0.2],
        [0.6, 0.2, 0.3, 0.9, 0.4]
    ]
}

#[track_caller]
fn close(got: f64, want: f64) {
    assert!((got - want).abs() <= 1e-9 * (1.0 + want.abs()), "got {got:e}, want {want:e}");
}

/// To nine digits, for small p-values.
#[track_caller]
fn same_digits(got: f64, want: f64) {
    assert!((got - want).abs() <= 1e-9 * want.abs(), "got {got:e}, want {want:e}");
}

#[test]
fn friedman_with_and_without_ties() {
    let got = friedman(table_4_2().view()).unwrap();
    same_digits(got.chi_square, 24.582_677_165_354_33);
    same_digits(got.p_value, 4.591_340_251_709_808_5e-6);
    same_digits(got.f, 19.333_200_159_808_23);
    same_digits(got.f_p_value, 2.983_469_897_697_402e-7);
    let got = friedman(tied().view()).unwrap();
    same_digits(got.chi_square, 4.054_054_054_054_053_5);
    same_digits(got.p_value, 0.398_739_854_536_205_2);
    same_digits(got.f, 1.018_099_547_511_312);
    same_digits(got.f_p_value, 0.436_566_585_621_017_24);
}

#[test]
fn friedman_of_the_printed_ranks() {
    // The printed table ranks DEAL before random sampling on Led24, where three digits tie: chi-square 25.6, p 2.8e-6.
    let mut scores = table_4_2();
    scores[(15, 0)] += 1e-4;
    let got = friedman(scores.view()).unwrap();
    assert_eq!(format!("{:.1} {:.1e}", got.chi_square, got.p_value), "25.6 2.8e-6");
}

#[test]
fn friedman_of_nothing_but_ties_and_of_full_agreement() {
    let none = friedman(Array2::ones((5, 3)).view()).unwrap();
    assert_eq!((none.chi_square, none.p_value, none.f, none.f_p_value), (0.0, 1.0, 0.0, 1.0));
    let all = friedman(Array2::from_shape_fn((6, 3), |(_, j)| j as f64).view()).unwrap();
    same_digits(all.chi_square, 12.0);
    assert_eq!((all.f, all.f_p_value), (f64::INFINITY, 0.0));
}

#[test]
fn the_studentized_range() {
    let quantiles = [
        (2, [2.326_174_307_353_347_6, 2.771_807_648_699_355, 3.642_772_735_436_894, 4.653_507_531_026_965]),
        (3, [2.902_380_213_428_251_5, 3.314_493_155_398_122, 4.120_303_206_460_12, 5.063_452_578_036_243]),
        (5, [3.478_280_550_703_068, 3.857_655_510_378_623, 4.602_821_042_201_571, 5.483_753_686_172_636]),
        (10, [4.129_346_398_236_873, 4.474_124_221_725_907, 5.156_634_960_089_622, 5.973_306_526_399_561]),
        (
            20,
            [4.694_104_409_490_512, 5.011_688_794_118_442_5, 5.645_214_697_985_851_5, 6.411_187_358_406_609],
        ),
        (50, [5.356_686_875_267_444, 5.646_026_026_380_527, 6.228_392_608_582_205, 6.940_584_992_131_754]),
    ];
    for (k, want) in quantiles {
        for (alpha, want) in [0.1, 0.05, 0.01, 0.001].into_iter().zip(want) {
            close(studentized_range_quantile(alpha, k).unwrap(), want);
        }
    }
    let tails = [
        (0.5, 3, 0.933_421_945_135_287),
        (3.3, 3, 0.051_310_906_418_189_92),
        (4.5, 8, 0.031_634_836_216_077_43),
        (6.0, 4, 1.298_172_453_267_909_5e-4),
        (9.0, 10, 8.835_407_627_749_703e-9),
    ];
    for (q, k, want) in tails {
        close(studentized_range_above(q, k).unwrap(), want);
    }
    // Two variables: their difference is normal with variance 2.
    for q in [0.1, 1.0, 3.0, 8.0, 12.0] {
        same_digits(studentized_range_above(q, 2).unwrap(), libm::erfc(0.5 * q));
    }
    assert_eq!(studentized_range_above(0.0, 7).unwrap(), 1.0);
}

#[test]
fn nemenyi_and_its_critical_difference() {
    // Table 4.2's own: 0.728 at 0.01, 0.513 at 0.1.
    for (alpha, want) in [(0.01, "0.728"), (0.05, "0.586"), (0.1, "0.513")] {
        assert_eq!(format!("{:.3}", critical_difference(alpha, 3, 32).unwrap()), want);
    }
    let got = nemenyi(table_4_2().view()).unwrap();
    close(got[(0, 1)], 4.043_051_289_850_385_6e-4);
    close(got[(0, 2)], 1.117_510_555_770_362_4e-5);
    close(got[(1, 2)], 0.695_266_808_594_788);
    let got = nemenyi(tied().view()).unwrap();
    let want = [
        [
            1.0,
            0.935_723_854_834_740_6,
            0.999_446_636_758_903_8,
            0.852_637_237_965_773_1,
            0.962_682_416_348_298_3,
        ],
        [
            0.935_723_854_834_740_6,
            1.0,
            0.852_637_237_965_773_1,
            0.380_024_655_892_729_7,
            0.592_900_623_705_371_1,
        ],
        [
            0.999_446_636_758_903_8,
            0.852_637_237_965_773_1,
            1.0,
            0.935_723_854_834_740_6,
            0.991_739_461_067_745_1,
        ],
        [
            0.852_637_237_965_773_1,
            0.380_024_655_892_729_7,
            0.935_723_854_834_740_6,
            1.0,
            0.997_278_653_137_281_6,
        ],
        [
            0.962_682_416_348_298_3,
            0.592_900_623_705_371_1,
            0.991_739_461_067_745_1,
            0.997_278_653_137_281_6,
            1.0,
        ],
    ];
    for ((a, b), got) in got.indexed_iter() {
        close(*got, want[a][b]);
    }
}

#[test]
fn tails_of_chi_square_and_f() {
    let chi_square = [
        (0.3, 1, 0.583_882_420_770_365),
        (5.5, 2, 0.063_927_861_206_707_57),
        (12.3, 5, 0.030_900_464_635_460_92),
        (40.0, 7, 1.258_790_387_371_308e-6),
        (3.0, 12, 0.995_544_019_224_752_1),
        (200.0, 9, 3.312_992_393_909_567e-38),
    ];
    for (x, degrees, want) in chi_square {
        same_digits(chi_square_above(x, degrees), want);
    }
    let f = [
        (0.3, 2.0, 10.0, 0.747_258_172_866_057_2),
        (5.5, 3.0, 57.0, 0.002_177_197_561_979_109_6),
        (1.1, 7.0, 63.0, 0.374_246_263_538_886_5),
        (20.0, 2.0, 62.0, 1.983_978_903_607_412_2e-7),
    ];
    for (x, numerator, denominator, want) in f {
        same_digits(f_above(x, numerator, denominator), want);
    }
}

#[test]
fn signs() {
    let counts = [
        (21, 3, 2.771_615_982_055_664e-4),
        (18, 6, 0.022_655_844_688_415_527),
        (10, 13, 0.677_639_484_405_517_6),
        (0, 5, 0.0625),
        (1, 99, 1.593_499_028_546_443_8e-28),
        (450, 550, 0.001_730_536_084_976_302_7),
        (4, 4, 1.0),
        (0, 0, 1.0),
    ];
    for (wins, losses, want) in counts {
        same_digits(sign_test(wins, losses, 0).p_value, want);
        assert_eq!(
            sign_test(wins, losses, 0).p_value,
            sign_test(losses, wins, 1).p_value,
            "an odd tie is left out"
        );
    }
    assert_eq!(sign_test(19, 1, 4).p_value, sign_test(21, 3, 0).p_value, "ties are split");
    // Counted out.
    let choose = |n: u64, k: u64| (0..k).fold(1.0, |all, i| all * (n - i) as f64 / (i + 1) as f64);
    for (wins, losses) in [(2, 9), (7, 8), (12, 1)] {
        let n = wins + losses;
        let tail: f64 = (0..=wins.min(losses)).map(|i| choose(n, i)).sum();
        let want = (2.0 * tail / libm::exp2(n as f64)).min(1.0);
        same_digits(sign_test(wins as usize, losses as usize, 0).p_value, want);
    }
}

#[test]
fn signed_ranks() {
    let difference: Vec<f64> = TABLE_4_2.iter().map(|row| row[0] - row[1]).collect();
    let sixty = [
        2.340_919, -2.255_665, 0.718_099, -0.26777, -0.152_649, 0.084_403, -1.719_986, 0.068_068, -0.565_213,
        3.623, 0.525_787, -0.052_631, 0.018_713, -0.368_046, -0.755_151, -0.090_801, 0.781_945, 0.061_446,
        1.257_759, 0.100_198, 0.32426, 1.845_821, 0.845_106, -0.205_229, 0.117_161, 0.840_525, 2.235_088,
        0.03038, 0.056_441, 1.302_314, -0.58646, 0.00828, 1.182_539, 0.88035, 0.391_517, 0.970_104,
        -2.528_162, 1.321_307, -0.659_645, -1.36862, 0.576_446, 1.000_545, -0.144_767, -0.776_406, 0.326_125,
        0.247_253, 1.705_598, 1.047_408, 0.493_816, 1.411_633, 0.094_477, -0.6259, 0.884_058, 0.882_538,
        0.085_171, -0.482_809, 0.529_154, -2.193_894, 0.990_125, 0.791_368,
    ];
    let fifty = [
        -1.338_857, 0.361_354, -0.6641, 1.057_221, -1.734_167, -0.614_495, 1.00958, 1.456_401, -1.858_005,
        -0.19804, 0.62802, -0.309_216, 1.89064, -0.891_227, 0.654_532, -0.748_406, 1.705_963, 0.278_349,
        -0.072_251, -1.418_185, 1.981_826, 1.052_779, 1.053_564, 1.437_881, 0.649_227, -0.339_247,
        -0.500_241, -0.5002, 1.670_072, -1.160_381, -0.29637, -0.021_244, 0.524_619, 0.875_349, -0.949_097,
        -1.430_013, 0.295_586, 1.513_564, 1.057_058, 0.515_651, -0.017_156, 0.593_234, 0.056_665, 1.117_207,
        -0.494_447, 0.43424, 0.18922, 0.843_359, 0.524_639, 2.850_035,
    ];
    let tied_and_long = [0.5, 0.5, 0.5, -0.5, 1.5, 0.0, 2.0, 2.5, -1.0, 1.0, 1.5, 0.0, 3.0, 3.5];
    let darwin = [6.0, 8.0, 14.0, 16.0, 23.0, 24.0, 28.0, 29.0, 41.0, -48.0, 49.0, 56.0, 60.0, -67.0, 75.0];
    let cases: [(&[f64], f64, f64, bool); 9] = [
        (&[1.5, -0.2, 0.3, 2.2, -0.9, 0.7, 1.1, 0.05], 7.0, 0.148_437_5, true),
        (&[1.0, 1.0, -2.0, 3.0, 0.0, 0.0, -1.0, 4.0, 2.0], 6.5, 0.265_625, true),
        (&tied_and_long, 8.0, 0.014_559_996_690_942_713, false),
        (&darwin, 24.0, 0.041_259_765_625, true),
        (&difference, 64.5, 1.900_974_484_614_141_3e-4, false),
        (&sixty, 579.0, 0.013_379_732_514_095_138, false),
        (&fifty, 466.0, 0.099_085_924_548_424_13, true),
        (&[1.0], 0.0, 1.0, true),
        (&[2.0, 2.0], 0.0, 0.5, true),
    ];
    for (differences, statistic, p_value, is_exact) in cases {
        let got = wilcoxon(differences).unwrap();
        assert_eq!((got.statistic, got.is_exact), (statistic, is_exact));
        same_digits(got.p_value, p_value);
        let turned: Vec<f64> = differences.iter().map(|d| -d).collect();
        assert_eq!(wilcoxon(&turned).unwrap(), got);
    }
    assert_eq!(wilcoxon(&[0.0; 20]).unwrap().p_value, 1.0);
}

#[test]
fn exact_signed_ranks_count_every_choice_of_signs() {
    for sizes in [vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], vec![1.0, 1.0, 2.0, 2.0, 2.0, 7.0, 8.0]] {
        let ranks = average_ranks(&sizes);
        let n = sizes.len();
        let sum = |signs: u32| (0..n).filter(|i| signs >> i & 1 == 1).map(|i| ranks[i]).sum::<f64>();
        for chosen in [0_u32, 5, 9, 17, 30] {
            let differences: Vec<f64> =
                (0..n).map(|i| if chosen >> i & 1 == 1 { sizes[i] } else { -sizes[i] }).collect();
            let got = wilcoxon(&differences).unwrap();
            let as_small = (0..1_u32 << n).filter(|&signs| sum(signs) <= got.statistic).count();
            let want = (2.0 * as_small as f64 / f64::from(1_u32 << n)).min(1.0);
            same_digits(got.p_value, want);
        }
    }
}

#[test]
fn holm_steps_down() {
    let got = holm(&[0.2, 0.9, 0.5, 0.001, 0.001, 0.04, 1.0, 0.0]).unwrap();
    let want = [0.8, 1.0, 1.0, 0.007, 0.007, 0.2, 1.0, 0.0];
    got.iter().zip(want).for_each(|(got, want)| close(*got, want));
    let got = holm(&[0.01, 0.04, 0.03, 0.005]).unwrap();
    got.iter().zip([0.03, 0.06, 0.06, 0.02]).for_each(|(got, want)| close(*got, want));
    assert!(holm(&[]).unwrap().is_empty());
    assert!(holm(&[0.5, f64::NAN]).unwrap_err().to_string().contains("p_values[1]"));
}

fn ranks_table(scores: &Array2<f64>) -> RanksTable {
    let names = |n: usize, prefix: &str| (0..n).map(|i| format!("{prefix}{i}")).collect();
    let (n, k) = scores.dim();
    RanksTable::new(names(k, "s"), names(n, "d"), scores.view(), 0.05).unwrap()
}

#[test]
fn a_table_of_ranks() {
    let mut scores = table_4_2();
    scores[(15, 0)] += 1e-4;
    let table = ranks_table(&scores);
    let mean_ranks: Vec<String> = table.mean_ranks.iter().map(|rank| format!("{rank:.3}")).collect();
    assert_eq!(mean_ranks, ["1.281", "2.250", "2.469"], "as printed");
    let firsts = |j: usize| table.ranks.iter().filter(|row| row[j] == 1.0).count();
    assert_eq!([0, 1, 2].map(firsts), [24, 6, 2]);
    assert_eq!(table.pairs.iter().map(|pair| pair.differs).collect::<Vec<_>>(), [true, true, false]);
    assert_eq!(table.groups(), [vec![1, 2]]);
    let pair = &table.pairs[0];
    assert_eq!((pair.sign.wins, pair.sign.losses), (26, 6));
    assert!(pair.adjusted >= pair.wilcoxon.p_value && pair.adjusted < 0.001);
    assert_eq!(table.strategy("s2").unwrap(), 2);
    assert!(table.strategy("margin").unwrap_err().to_string().contains("s0, s1, s2"));
}

#[test]
fn groups_join_what_is_near_and_none_lies_within_another() {
    // Mean ranks 1 to 6 in steps, over more and more data sets.
    let by_column = |n: usize| ranks_table(&Array2::from_shape_fn((n, 6), |(_, j)| -(j as f64)));
    assert_eq!(by_column(1).groups(), [vec![0, 1, 2, 3, 4, 5]]);
    let table = by_column(8);
    assert!(table.critical_difference > 2.0 && table.critical_difference < 3.0);
    assert_eq!(table.groups(), [vec![0, 1, 2], vec![1, 2, 3], vec![2, 3, 4], vec![3, 4, 5]]);
    assert!(by_column(200).groups().is_empty());
}

#[test]
fn one_data_set_has_ranks_and_no_friedman_test() {
    let table = ranks_table(&array![[0.3, 0.5]]);
    assert_eq!((table.friedman, table.ranks), (None, vec![vec![2.0, 1.0]]));
}

#[test]
fn bad_input_says_what_was_wanted() {
    let says = |error: hedgerow_core::Error, words: &[&str]| {
        let text = error.to_string();
        words.iter().for_each(|word| assert!(text.contains(word), "{text}"));
    };
    says(friedman(Array2::ones((1, 3)).view()).unwrap_err(), &["data sets", "2 or more", "got 1"]);
    says(friedman(Array2::ones((4, 1)).view()).unwrap_err(), &["strategies", "2 or more", "got 1"]);
    says(
        nemenyi(array![[0.1, f64::NAN], [0.1, 0.2]].view()).unwrap_err(),
        &["strategy 1", "data set 0", "NaN"],
    );
    says(wilcoxon(&[]).unwrap_err(), &["differences", "none"]);
    says(wilcoxon(&[1.0, f64::INFINITY]).unwrap_err(), &["differences[1]", "inf"]);
    says(critical_difference(1.0, 3, 5).unwrap_err(), &["alpha", "between 0 and 1"]);
    says(critical_difference(0.05, 101, 5).unwrap_err(), &["2 to 100", "101"]);
    says(critical_difference(0.05, 3, 0).unwrap_err(), &["data sets", "1 or more"]);
    let names = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>();
    says(
        RanksTable::new(names(2), names(4), Array2::ones((4, 3)).view(), 0.05).unwrap_err(),
        &["strategies", "expected 3, got 2"],
    );
}
