//! Diagnostics: what is wrong with a training run, and what to do about it.

use crate::train::Trained;

/// A share of relevant rows above which a model is not sparse.
const NOT_SPARSE: f64 = 0.5;
/// What may be added to a diagonal before the kernel is in doubt.
const MUCH_JITTER: f64 = 1e-10;
/// The ratio of precisions at which double precision ends.
const MOST_RATIO: f64 = 1e15;

/// What a user should know about a regression that all classes share. `is_cut`: the last rows still helped.
pub(crate) fn notes_of_shared(n_relevant: usize, n_rows: usize, is_cut: bool) -> Vec<String> {
    let note = format!(
        "{n_relevant} of {n_rows} rows are relevant, as many as may be, and the last ones still helped: max_relevant={} would \
         probably predict better, and take longer",
        2 * n_relevant
    );
    if is_cut { vec![note] } else { Vec::new() }
}

/// What a user should know about a run over `n_rows` rows.
pub(crate) fn notes(trained: &Trained, n_rows: usize) -> Vec<String> {
    let mut notes = Vec::new();
    let n = trained.fit.columns.len();
    let share = n as f64 / n_rows.max(1) as f64;
    let of_probe = trained.log.probe_share.filter(|share| *share > 0.9);
    if n > 20 && (share > NOT_SPARSE || of_probe.is_some()) {
        let what = match of_probe {
            Some(share) => format!("{:.0} % of the rows of a probe are relevant", 100.0 * share),
            None => format!("{n} of {n_rows} rows are relevant"),
        };
        notes.push(format!(
            "{what}: the model is not sparse. The kernel is probably too narrow or too rough for these data: try a \
             larger length_scale, or kernel=matern3"
        ));
    }
    if n == 0 {
        notes.push(
            "no row is relevant: these columns predict nothing with this kernel. Try another length_scale"
                .into(),
        );
    }
    if !trained.fit.is_converged && trained.stop != hedgerow_core::StopReason::Time {
        notes.push(format!(
            "the last solve ended after {} iterations without convergence. Compactly supported and very narrow kernels do \
             that; otherwise raise max_iterations or tolerance",
            trained.fit.n_iterations
        ));
    }
    if trained.fit.jitter > MUCH_JITTER {
        notes.push(
            "the matrix of the candidates is nearly singular: the kernel is probably too wide. Try a smaller \
             length_scale"
                .into(),
        );
    }
    let low = trained.fit.alpha.iter().copied().fold(f64::INFINITY, f64::min);
    let high = trained.fit.alpha.iter().copied().fold(0.0, f64::max);
    if n > 0 && high / low > MOST_RATIO {
        notes.push(format!(
            "precisions of weights range from {low:.1e} to {high:.1e}, more than numbers can tell apart: the kernel is \
             probably too wide. Try a smaller length_scale or alpha_max"
        ));
    }
    let partition = trained.log.partition_size;
    if partition > 0 && trained.log.most_candidates > 3 * partition {
        notes.push(format!(
            "{} candidates had to be solved together, more than three times the partition size: set \
             partition_size={}, about twice the number of relevant rows",
            trained.log.most_candidates,
            2 * n.max(1)
        ));
    }
    notes
}
