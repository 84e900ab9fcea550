//! Which rows a tree sees.

use hedgerow_core::rng::Rng;
use hedgerow_core::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the rows of a tree are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum Bagging {
    /// Every row once.
    All,
    /// As many draws with replacement as there are rows: about 63 % of the rows, some several times.
    Bootstrap,
    /// Each row with this probability.
    Fraction(f64),
    /// So many different rows (all, if there are fewer).
    Amount(usize),
    /// Every so often a row, in random steps from 1 to this many: 2 n / (s + 1) rows on average.
    Stride(usize),
}

impl Bagging {
    pub(crate) fn rules(self) -> Result<()> {
        let wrong = |expected: &str| Err(Error::param("bagging", expected, String::from(self)));
        match self {
            Self::Fraction(f) if !(f > 0.0 && f <= 1.0) => wrong("a fraction above 0, at most 1"),
            Self::Amount(0) => wrong("an amount of 1 or more"),
            Self::Stride(0) => wrong("a stride of 1 or more"),
            _ => Ok(()),
        }
    }

    /// Whether a bag holds at least half of `n` rows, or about that many.
    pub(crate) fn is_most_of(self, n: usize) -> bool {
        match self {
            Self::All | Self::Bootstrap => true,
            Self::Fraction(fraction) => fraction >= 0.5,
            Self::Amount(amount) => amount.saturating_mul(2) >= n,
            Self::Stride(most) => most <= 3,
        }
    }

    /// How often each of `n` rows is in the bag of one tree.
    pub(crate) fn draw(self, n: usize, rng: &mut Rng) -> Vec<u8> {
        let mut times = vec![0_u8; n];
        match self {
            Self::All => times.fill(1),
            Self::Bootstrap => {
                for _ in 0..n {
                    let row = &mut times[rng.index(n)];
                    *row = row.saturating_add(1);
                }
            }
            Self::Fraction(fraction) => {
                for row in &mut times {
                    *row = u8::from(rng.unit() < fraction);
                }
            }
            Self::Amount(amount) => {
                // Selection sampling: row i is taken with probability (still wanted) / (still to come).
                let mut wanted = amount.min(n);
                for (i, row) in times.iter_mut().enumerate() {
                    if rng.index(n - i) < wanted {
                        *row = 1;
                        wanted -= 1;
                    }
                }
            }
            Self::Stride(most) => {
                let mut at = rng.index(most);
                while at < n {
                    times[at] = 1;
                    at += 1 + rng.index(most);
                }
            }
        }
        if n > 0 && times.iter().all(|&t| t == 0) {
            times[rng.index(n)] = 1;
        }
        times
    }
}

impl TryFrom<String> for Bagging {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_whole = |n: f64| n >= 0.0 && n.fract() == 0.0;
        let (word, number) = match text.split_once(':') {
            Some((word, number)) => (word, Some(number.parse::<f64>())),
            None => (&*text, None),
        };
        match (word, number) {
            ("all", None) => Ok(Self::All),
            ("bootstrap", None) => Ok(Self::Bootstrap),
            ("fraction", Some(Ok(f))) => Ok(Self::Fraction(f)),
            ("amount", Some(Ok(n))) if is_whole(n) => Ok(Self::Amount(n as usize)),
            ("stride", Some(Ok(n))) if is_whole(n) => Ok(Self::Stride(n as usize)),
            _ => Err("expected all, bootstrap, fraction:F, amount:N or stride:S".into()),
        }
    }
}

impl From<Bagging> for String {
    fn from(bagging: Bagging) -> Self {
        match bagging {
            Bagging::All => "all".into(),
            Bagging::Bootstrap => "bootstrap".into(),
            Bagging::Fraction(f) => format!("fraction:{f}"),
            Bagging::Amount(n) => format!("amount:{n}"),
            Bagging::Stride(n) => format!("stride:{n}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use hedgerow_core::rng::Purpose;

    use super::*;

    fn drawn(bagging: Bagging, n: usize) -> Vec<u8> {
        bagging.draw(n, &mut Rng::new(1, Purpose::Bag, 0))
    }

    #[test]
    fn bags_have_the_size_they_should() {
        let rows = |bagging| drawn(bagging, 60_000).iter().filter(|&&t| t > 0).count() as f64;
        assert_eq!(rows(Bagging::All), 60_000.0);
        assert_eq!(rows(Bagging::Amount(5_000)), 5_000.0);
        assert!((rows(Bagging::Bootstrap) / 60_000.0 - 0.632).abs() < 0.01);
        assert!((rows(Bagging::Fraction(0.8)) / 60_000.0 - 0.8).abs() < 0.01);
        // s = 120 gives about 992 rows, s = 3 about 30,000, s = 1 all.
        assert!((rows(Bagging::Stride(120)) - 992.0).abs() < 100.0);
        assert!((rows(Bagging::Stride(3)) - 30_000.0).abs() < 500.0);
        assert_eq!(rows(Bagging::Stride(1)), 60_000.0);
        assert_eq!(drawn(Bagging::Bootstrap, 1000).iter().map(|&t| u32::from(t)).sum::<u32>(), 1000);
    }

    #[test]
    fn never_empty() {
        assert_eq!(drawn(Bagging::Fraction(1e-9), 3).iter().filter(|&&t| t > 0).count(), 1);
        assert_eq!(drawn(Bagging::Stride(1000), 2).iter().filter(|&&t| t > 0).count(), 1);
        assert_eq!(drawn(Bagging::Amount(9), 3), [1, 1, 1]);
    }
}
