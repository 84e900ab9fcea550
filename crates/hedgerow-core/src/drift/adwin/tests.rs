use super::*;
use crate::rng::{Purpose, Rng};

/// The same detector without any thrift: it keeps every value and works everything out from them.
struct Plain {
    params: AdwinParams,
    values: Vec<f64>,
    /// The sizes of the buckets, the newest first.
    sizes: Vec<usize>,
    n_seen: u64,
    /// Try every cut and not only those between buckets.
    every_cut: bool,
}

impl Plain {
    fn new(params: &AdwinParams, every_cut: bool) -> Self {
        Self { params: params.clone(), values: Vec::new(), sizes: Vec::new(), n_seen: 0, every_cut }
    }

    fn add(&mut self, value: f64) -> Option<Change> {
        self.values.push(value);
        self.sizes.insert(0, 1);
        let mut size = 1;
        while self.sizes.iter().filter(|&&s| s == size).count() > self.params.max_buckets {
            let last = self.sizes.iter().rposition(|&s| s == size).unwrap();
            self.sizes.splice(last - 1..=last, [2 * size]);
            size *= 2;
        }
        self.n_seen += 1;
        if !self.n_seen.is_multiple_of(self.params.clock) {
            return None;
        }
        let mut first = None;
        while self.values.len() as u64 > self.params.min_window
            && let Some(cut) = self.cut()
        {
            first.get_or_insert(cut);
            let oldest = if self.every_cut { 1 } else { self.sizes.pop().unwrap() };
            self.values.drain(..oldest);
        }
        let (before, after, age) = first?;
        let direction = if after > before { Direction::Rose } else { Direction::Fell };
        Some(Change { direction, before, after, age, width: self.values.len() as u64 })
    }

    fn cut(&self) -> Option<(f64, f64, u64)> {
        let n = self.values.len();
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let center = mean(&self.values);
        let variance = self.values.iter().map(|v| (v - center).powi(2)).sum::<f64>() / n as f64;
        let mut cuts: Vec<usize> = (1..n).collect();
        if !self.every_cut {
            let end_of = |i: usize| self.sizes.iter().rev().take(i + 1).sum();
            cuts = (0..self.sizes.len()).map(end_of).collect();
        }
        let delta = self.params.delta / (n as f64).ln();
        let factor = |at: usize| {
            let (old, new) = self.values.split_at(at);
            let m = 1.0 / (1.0 / old.len() as f64 + 1.0 / new.len() as f64);
            let log_term = (2.0 / delta).ln();
            let epsilon = (2.0 / m * variance * log_term).sqrt() + 2.0 / (3.0 * m) * log_term;
            (mean(old) - mean(new)).abs() / epsilon
        };
        let allowed = cuts.into_iter().filter(|&at| at.min(n - at) as u64 >= self.params.min_part);
        let (best, at) = allowed.map(|at| (factor(at), at)).max_by(|a, b| a.0.total_cmp(&b.0))?;
        let (old, new) = self.values.split_at(at);
        (best > 1.0).then(|| (mean(old), mean(new), new.len() as u64))
    }
}

fn adwin() -> Adwin {
    Adwin::new(&AdwinParams::default().check().unwrap())
}

#[test]
fn the_default_detector_has_the_default_parameters() {
    assert_eq!(Adwin::default(), adwin());
}

fn bernoulli(rng: &mut Rng, p: f64) -> f64 {
    f64::from(u8::from(rng.unit() < p))
}

/// Rates that change from stretch to stretch, and values that are not only 0 and 1.
fn restless(seed: u64, n: usize) -> Vec<f64> {
    let mut rng = Rng::new(seed, Purpose::Data, 0);
    let mut rate = 0.5;
    (0..n)
        .map(|i| {
            if i % 400 == 0 {
                rate = rng.unit();
            }
            if seed.is_multiple_of(2) { bernoulli(&mut rng, rate) } else { 0.5 * rate + 0.5 * rng.unit() }
        })
        .collect()
}

#[test]
fn finds_what_the_plain_detector_finds() {
    let mut n_changes = 0;
    let other = AdwinParams { delta: 0.05, clock: 7, min_window: 20, min_part: 3, max_buckets: 2 };
    for params in [AdwinParams::default(), other] {
        for seed in 0..6 {
            let mut fast = Adwin::new(&params.clone().check().unwrap());
            let mut plain = Plain::new(&params, false);
            for (i, value) in restless(seed, 4_000).into_iter().enumerate() {
                let (found, wanted) = (fast.add(value), plain.add(value));
                let summary = |c: Change| (c.direction, c.age, c.width);
                assert_eq!(found.map(summary), wanted.map(summary), "value {i} of seed {seed}");
                if let (Some(found), Some(wanted)) = (found, wanted) {
                    n_changes += 1;
                    assert!((found.before - wanted.before).abs() < 1e-9);
                    assert!((found.after - wanted.after).abs() < 1e-9);
                }
                assert_eq!(fast.width(), plain.values.len() as u64);
                let mean = plain.values.iter().sum::<f64>() / plain.values.len() as f64;
                assert!((fast.mean() - mean).abs() < 1e-9);
            }
        }
    }
    assert!(n_changes > 50, "only {n_changes} changes were compared");
}

#[test]
fn cuts_between_buckets_find_changes_nearly_as_soon_as_all_cuts_do() {
    let (mut fast_delay, mut all_delay) = (0, 0);
    for seed in 0..10 {
        let mut rng = Rng::new(seed, Purpose::Data, 1);
        let values: Vec<f64> =
            (0..2_000).map(|i| bernoulli(&mut rng, if i < 1_000 { 0.2 } else { 0.5 })).collect();
        let params = AdwinParams::default();
        let (mut fast, mut all) = (adwin(), Plain::new(&params, true));
        fast_delay += values.iter().position(|&v| fast.add(v).is_some()).unwrap() - 1_000;
        all_delay += values.iter().position(|&v| all.add(v).is_some()).unwrap() - 1_000;
    }
    assert!(fast_delay >= all_delay, "{fast_delay} before {all_delay}");
    assert!(fast_delay <= all_delay + 10 * 64, "{fast_delay} against {all_delay}");
}

#[test]
fn a_constant_rate_hardly_ever_alarms() {
    let mut n_alarms = 0;
    for seed in 0..10 {
        for rate in [0.05, 0.3, 0.5] {
            let (mut rng, mut adwin) = (Rng::new(seed, Purpose::Data, 2), adwin());
            n_alarms += (0..100_000).filter(|_| adwin.add(bernoulli(&mut rng, rate)).is_some()).count();
            assert!((adwin.mean() - rate).abs() < 0.05, "{}", adwin.mean());
        }
    }
    assert!(n_alarms <= 6, "{n_alarms} alarms in 3,000,000 values");
}

#[test]
fn a_rise_and_a_fall_are_found_soon_and_the_old_values_go() {
    for seed in 0..20 {
        let (mut rng, mut adwin) = (Rng::new(seed, Purpose::Data, 3), adwin());
        assert!((0..5_000).all(|_| adwin.add(bernoulli(&mut rng, 0.1)).is_none()));
        for (rate, direction) in [(0.4, Direction::Rose), (0.1, Direction::Fell)] {
            let found = (0..5_000).find_map(|i| Some((i, adwin.add(bernoulli(&mut rng, rate))?)));
            let (delay, change) = found.unwrap();
            assert!(delay < 200, "{direction:?} found after {delay} values");
            assert_eq!(change.direction, direction);
            assert!(change.age.abs_diff(delay + 1) <= 64, "found after {delay} values: {change:?}");
            assert_eq!((change.width, change.after > change.before), (adwin.width(), rate == 0.4));
            for _ in delay..3_000 {
                adwin.add(bernoulli(&mut rng, rate));
            }
            assert!(adwin.width() < 3_300, "{}", adwin.width());
            assert!((adwin.mean() - rate).abs() < 0.05, "{} for {rate}", adwin.mean());
        }
    }
}

#[test]
fn saved_and_restored_it_goes_on_as_it_would_have() {
    let (values, mut adwin) = (restless(3, 6_000), adwin());
    for (i, &value) in values.iter().enumerate() {
        adwin.add(value);
        if i % 611 == 0 {
            let saved = serde_json::to_string(&adwin).unwrap();
            let mut restored: Adwin = serde_json::from_str(&saved).unwrap();
            assert_eq!(restored, adwin);
            let mut original = adwin.clone();
            for &value in &values[i + 1..] {
                assert_eq!(restored.add(value), original.add(value));
            }
            assert_eq!(restored, original);
        }
    }
}

#[test]
fn values_that_make_no_sense_do_no_harm() {
    let mut adwin = adwin();
    for i in 0..1_000 {
        let value = [f64::NAN, f64::INFINITY, -3.0, 1e300, 0.5][i % 5];
        adwin.add(value);
    }
    assert_eq!(adwin.width(), 800);
    assert!((adwin.mean() - 0.625).abs() < 1e-9);
    assert_eq!(Adwin::default().mean(), 0.0);
}

#[test]
fn parameters_outside_their_range_are_refused() {
    let wrong = |params: AdwinParams| params.check().unwrap_err().to_string();
    assert!(wrong(AdwinParams { delta: 0.0, ..Default::default() }).contains("delta"));
    assert!(wrong(AdwinParams { delta: f64::NAN, ..Default::default() }).contains("delta"));
    assert!(wrong(AdwinParams { clock: 0, ..Default::default() }).contains("clock"));
    assert!(wrong(AdwinParams { max_buckets: 1, ..Default::default() }).contains("max_buckets"));
}
