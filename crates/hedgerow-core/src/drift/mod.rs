//! Noticing that a stream is no longer what it was.
//!
//! ```
//! use hedgerow_core::Params as _;
//! use hedgerow_core::drift::{Adwin, AdwinParams, Direction};
//!
//! let mut errors = Adwin::new(&AdwinParams::default().check()?);
//! assert!((0..1_000).all(|i| errors.add(f64::from(u8::from(i % 10 == 0))).is_none()));
//! let change = (0..1_000).find_map(|i| errors.add(f64::from(u8::from(i % 2 == 0))));
//! assert_eq!(change.map(|change| change.direction), Some(Direction::Rose));
//! assert!(errors.width() < 1_000);
//! # Ok::<(), hedgerow_core::Error>(())
//! ```

mod adwin;
mod histogram;
mod history;

pub use adwin::{Adwin, AdwinParams, Change, Direction};
pub use history::{ConceptChange, Pace, StreamHistory, StreamSummary};
