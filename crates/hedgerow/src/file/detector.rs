//! Outlier detectors as bytes, laid out like a model file.

use hedgerow_core::{Error, Result, saved};
use hedgerow_outliers::Detector;
use serde::{Deserialize, Serialize};

use super::layout::{self, Layout};

/// What the bytes hold. The name keeps them from being taken for a model.
#[derive(Serialize)]
struct Held<'a> {
    detector: &'a Detector,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    detector: Detector,
}

/// A detector as bytes.
pub fn detector_to_bytes(detector: &Detector) -> Result<Vec<u8>> {
    let held = Held { detector };
    let layout = Layout::new(&held)?;
    let mut bytes = Vec::with_capacity(layout.len() as usize);
    layout.write(&mut bytes).map_err(|source| Error::io("memory", source))?;
    Ok(bytes)
}

/// A detector from its bytes, after checking every one of them.
pub fn detector_from_bytes(bytes: &[u8]) -> Result<Detector> {
    let (text, arrays) = layout::open(bytes)?;
    let Read { detector } = saved::read(&text, arrays)?;
    detector.complete()?;
    Ok(detector)
}
