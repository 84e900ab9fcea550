//! Whether the short memories are worth their time.
//!
//! They are at work while the mixture with them predicts better than the forest alone does. Once it does not, they rest: nothing is kept but
//! their rows. They are woken when the loss of the forest rises, and now and then to see whether they would help, less often each time
//! they did not.
//!
//! Rows may be sorted by their label, or come in runs of one label. Short memories then predict the next row well, and say nothing about others.
//! So they must also do better than the frequencies of the newest labels, alone and with the forest: what these explain is the order of the rows,
//! not drift.

use hedgerow_core::saved::array;
use hedgerow_core::{Mixed, brier};
use serde::{Deserialize, Serialize};

/// Rows between two decisions while the short memories rest, and while they are at work.
pub(super) const PAUSES: [u64; 2] = [32, 256];
/// Rows after which the short memories are tried for the first time.
const FIRST_TRIAL: u64 = 64;
/// Rows for which they are at work at least, and after which they count as useful.
const TRIAL: u64 = 256;
const USEFUL: u64 = 1024;
/// Rows between two trials, the least and the most.
const BETWEEN_TRIALS: [u64; 2] = [1024, 16_384];
/// What they must lower the log-loss by, on average.
const LEAST_GAIN: f64 = 0.004;
/// Rows at work before they are trusted.
const LEAST_SHOWN: u64 = 16;
/// What classes have without any label, beside the forest and alone.
const LABEL_PRIORS: [f64; 2] = [0.05, 0.005];
/// What the mixture is compared with: the forest, and what knows the newest labels.
const N_RIVALS: usize = 3;
/// Smallest probability that counts.
const LEAST: f64 = 1e-6;
/// How much a row counts one row later: in the mean gain, the recent loss, and the usual loss.
const GAIN_DISCOUNT: f64 = 0.995;
const RECENT_DISCOUNT: f64 = 0.93;
const USUAL_DISCOUNT: f64 = 0.998;
/// Standard deviations of the recent mean loss above the usual one that are an alarm, and the least rise that is one.
const ALARM: f64 = 4.0;
const LEAST_RISE: f64 = 0.03;

/// What to do at a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// All stays as it is.
    Stay,
    /// The short memories begin to work, because the forest has become worse.
    Wake,
    /// They begin to work to see whether they help.
    Try,
    /// They rest.
    Rest,
}

/// What speaks for the short memories and against them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Activity {
    pub(super) is_awake: bool,
    /// Rows learnt at which they are tried next, and how many rows came between the last two trials.
    next_trial: u64,
    between: u64,
    /// By how much the mixture has lowered the log-loss of the forest, of the frequencies of the newest labels, and of both together.
    #[serde(with = "array")]
    gains: Vec<f64>,
    /// Rows that they have predicted since they were last woken.
    n_awake: u64,
    /// The mean loss of the forest over the newest rows, and over more of them, with its variance.
    recent: f64,
    usual: f64,
    variance: f64,
}

impl Default for Activity {
    fn default() -> Self {
        Self {
            is_awake: false,
            next_trial: FIRST_TRIAL,
            between: BETWEEN_TRIALS[0],
            gains: vec![0.0; N_RIVALS],
            n_awake: 0,
            recent: 0.5,
            usual: 0.5,
            variance: 0.25,
        }
    }
}

impl Activity {
    /// Notes what was predicted of a row, and its label.
    pub(super) fn note(&mut self, made: &Mixed, label: usize) {
        let (forest, mixed) = (&made.first, &made.proba);
        // A class that was not known yet was not predicted.
        if label >= forest.len() {
            return;
        }
        let follow = |mean: &mut f64, value: f64, discount: f64| *mean += (1.0 - discount) * (value - *mean);
        let newest = |class: usize| made.labels.get(class).copied().unwrap_or(0.0);
        let share = |of: &dyn Fn(usize) -> f64| of(label) / (0..forest.len()).map(of).sum::<f64>();
        let rivals = [
            forest[label],
            share(&|class| forest[class] * (newest(class) + LABEL_PRIORS[0])),
            share(&|class| newest(class) + LABEL_PRIORS[1]),
        ];
        let log = |p: f64| libm::log(p.max(LEAST));
        let gains = rivals.map(|rival| log(mixed[label]) - log(rival));
        let loss = brier(forest.iter().copied(), label);
        let deviation = loss - self.usual;
        follow(&mut self.variance, deviation * deviation, USUAL_DISCOUNT);
        follow(&mut self.usual, loss, USUAL_DISCOUNT);
        follow(&mut self.recent, loss, RECENT_DISCOUNT);
        // Rows from before they were woken say nothing about them.
        if self.is_awake && made.n_members() > 1 {
            self.n_awake += 1;
            // A mean of all rows at first.
            let discount = GAIN_DISCOUNT.min(1.0 - 1.0 / self.n_awake as f64);
            self.gains.iter_mut().zip(gains).for_each(|(mean, gain)| follow(mean, gain, discount));
        }
    }

    /// Whether the short memories have shown that they are better.
    pub(super) fn is_trusted(&self) -> bool {
        self.is_awake && self.n_awake >= LEAST_SHOWN && self.gains.iter().all(|gain| *gain >= LEAST_GAIN)
    }

    /// Rows between two decisions at present.
    pub(super) fn pause(&self) -> u64 {
        PAUSES[usize::from(self.is_awake)]
    }

    /// Decides after so many rows.
    pub(super) fn decide(&mut self, n_seen: u64) -> Decision {
        if !self.is_awake {
            let is_alarm = self.is_alarm();
            if !is_alarm && n_seen < self.next_trial {
                return Decision::Stay;
            }
            (self.is_awake, self.n_awake) = (true, 0);
            self.gains.fill(0.0);
            return if is_alarm { Decision::Wake } else { Decision::Try };
        }
        if self.n_awake < TRIAL || self.is_trusted() {
            return Decision::Stay;
        }
        let between = if self.n_awake >= USEFUL { BETWEEN_TRIALS[0] } else { 2 * self.between };
        self.between = between.min(BETWEEN_TRIALS[1]);
        (self.is_awake, self.next_trial) = (false, n_seen + self.between);
        Decision::Rest
    }

    /// Whether the loss of the newest rows is higher than chance explains.
    fn is_alarm(&self) -> bool {
        let of_mean = self.variance * (1.0 - RECENT_DISCOUNT) / (1.0 + RECENT_DISCOUNT);
        self.recent - self.usual > LEAST_RISE.max(ALARM * libm::sqrt(of_mean))
    }

    /// Whether what was read is possible after so many rows.
    pub(super) fn is_valid(&self, n_seen: u64) -> bool {
        self.next_trial < 1 << 62
            && (1..=BETWEEN_TRIALS[1]).contains(&self.between)
            && [self.recent, self.usual].iter().all(|loss| (0.0..=2.0).contains(loss))
            && (0.0..=4.0).contains(&self.variance)
            && self.gains.len() == N_RIVALS
            && self.gains.iter().all(|gain| gain.abs() <= 40.0)
            && self.n_awake <= n_seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds rows of one loss and gain, decides where it is due, and returns the decisions that change something.
    fn feed(activity: &mut Activity, n: &mut u64, rows: u64, loss: f64, gain: f64) -> Vec<(u64, Decision)> {
        let mut decisions = Vec::new();
        for _ in 0..rows {
            *n += 1;
            // Two predictions with that loss and that gain for a label that is as frequent as the others.
            let forest = 1.0 - libm::sqrt(loss / 2.0);
            let mixed = (forest * libm::exp(gain)).min(1.0);
            let label = *n as usize % 2;
            let with = |p: f64| if label == 0 { [p, 1.0 - p] } else { [1.0 - p, p] };
            activity.note(&Mixed::of_two(with(forest).to_vec(), with(mixed).to_vec()), label);
            if n.is_multiple_of(PAUSES[0]) {
                let decision = activity.decide(*n);
                decisions.extend((decision != Decision::Stay).then_some((*n, decision)));
            }
        }
        assert!(activity.is_valid(*n));
        decisions
    }

    #[test]
    fn memories_that_gain_nothing_rest_and_are_tried_less_and_less_often() {
        let (mut activity, mut n) = (Activity::default(), 0);
        let decisions = feed(&mut activity, &mut n, 100_000, 0.1, 0.0);
        let trials: Vec<u64> = decisions.iter().filter(|d| d.1 == Decision::Try).map(|d| d.0).collect();
        assert_eq!(trials[0], 64);
        assert!(trials.windows(2).all(|pair| pair[1] - pair[0] <= 2 * BETWEEN_TRIALS[1]));
        assert!((6..=12).contains(&trials.len()), "{trials:?}");
        assert!(decisions.iter().all(|d| d.1 != Decision::Wake), "{decisions:?}");
    }

    #[test]
    fn a_rise_of_the_loss_wakes_them_at_the_next_decision() {
        let (mut activity, mut n) = (Activity::default(), 0);
        feed(&mut activity, &mut n, 4_000, 0.1, 0.0);
        let before = n;
        let decisions = feed(&mut activity, &mut n, 64, 0.9, 0.0);
        assert_eq!(
            decisions,
            [(before + before.next_multiple_of(PAUSES[0]) - before + PAUSES[0], Decision::Wake)]
        );
        // They stay while they gain something, and rest when they do not any more.
        assert!(feed(&mut activity, &mut n, 10_000, 0.9, 0.5).is_empty());
        assert_eq!(feed(&mut activity, &mut n, 2_000, 0.1, 0.0).first().map(|d| d.1), Some(Decision::Rest));
    }
}
