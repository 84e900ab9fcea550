//! Machines for single answers of the forest (`combine=route`): each learns the rows that trees which had not learnt them answer with one class, and is asked about rows
//! that the whole forest answers so.

use std::sync::Arc;

use hedgerow_core::traits::largest;
use hedgerow_core::{Classifier as _, Par, Result};
use hedgerow_gp::IvmParams;
use hedgerow_gp::ivm::sliced::{Fit, Ground, Machine, Part, Regression};
use hedgerow_hybrid::forest_ivm::{MachineRows, Trained};
use hedgerow_hybrid::{Combine, ForestIvmParams};
use hedgerow_trainer::{Look, State};
use ndarray::{Array2, ArrayView2, Axis};

use super::combine::{Helpers, best_of};
use super::host::{EngineHost, Role};
use super::jobs::ROWS_A_SLICE;
use super::rows::{Stock, ivm_params};
use super::search::Kernel;
use super::view::{Product, View};
use crate::params::ModelParams;

/// Trees that have to be there before rows are sent anywhere, where trees have no end.
const ENOUGH_TREES: usize = 50;

/// How far the machine for one answer has come. It tells all classes apart.
#[derive(Clone)]
pub(super) struct Routed {
    /// The answer.
    class: usize,
    /// Its rows and the judges among them; none if the forest needs no help with such rows.
    place: Option<Arc<Place>>,
    parts: Vec<Option<Arc<Part>>>,
    fit: Option<Arc<Fit>>,
    is_done: bool,
    bytes: usize,
}

/// The rows that the forest answers with one class.
struct Place {
    ground: Ground,
    /// By their places among all rows, in order.
    rows: Vec<usize>,
    /// Those of them that judge, by their places among the rows that judge, in order.
    judges: Vec<usize>,
}

/// The work on it.
pub(super) struct Route {
    version: u64,
    kernel: [f64; 2],
    routed: Routed,
    machines: Vec<Machine>,
    regression: Option<Box<Regression>>,
}

/// The parameters, if rows are sent to machines by what the forest says.
pub(super) fn route_params(params: &ModelParams) -> Option<&ForestIvmParams> {
    if let ModelParams::ForestIvm(params) = params {
        Some(&**params).filter(|params| params.combine == Combine::Route)
    } else {
        None
    }
}

/// Sends rows to the machine of an answer, or lets it learn some of them.
pub(super) fn train_route(view: &View, stock: &Stock, class: usize, own: &mut Option<Box<Route>>) -> Product {
    let (Some(kernel), Some(params)) = (view.machine_kernel(), ivm_params(&view.params)) else {
        return Product::Nothing;
    };
    let is_current = |route: &Route| route.version == stock.version && route.kernel == kernel;
    let product =
        |routed| Product::Route { version: stock.version, kernel: Kernel::Machines(kernel), class, routed };
    if let Some(route) = own.as_mut().filter(|route| is_current(route)) {
        return product(route.slice(&params).map(|()| Arc::new(route.routed.clone())));
    }
    let Some(route) = Route::new(view, stock, class, kernel) else { return Product::Nothing };
    let routed = Arc::new(route.routed.clone());
    *own = Some(Box::new(route));
    product(Ok(routed))
}

impl Route {
    /// Sees which rows there are, and whether the forest needs help with them.
    fn new(view: &View, stock: &Stock, class: usize, kernel: [f64; 2]) -> Option<Self> {
        let (params, ivm) = (route_params(&view.params)?, ivm_params(&view.params)?);
        let grove = view.grove.as_ref()?;
        let of_judges = grove.answers().said();
        let mut said = grove.left_out()?.said();
        let all_judges = (0..stock.data.n_rows()).filter(|row| stock.is_judge[*row]);
        let mut judges = Vec::new();
        for (place, row) in all_judges.enumerate() {
            said[row] = of_judges[place];
            if said[row] == Some(class) {
                judges.push(place);
            }
        }
        let rows: Vec<usize> = (0..said.len()).filter(|row| said[*row] == Some(class)).collect();
        let learnt = || rows.iter().filter(|row| !stock.is_judge[**row]);
        let n_wrong = learnt().filter(|row| stock.data.labels[**row].index() != class).count();
        let (mut place, mut machines) = (None, Vec::new());
        if params.needs_machine(learnt().count(), n_wrong) && !judges.is_empty() {
            let is_judge = rows.iter().map(|row| stock.is_judge[*row]).collect();
            let ground = Ground::new(&stock.data.select(&rows), is_judge);
            let wanted = ground.has_machine().iter().enumerate().filter(|(_, has)| **has);
            machines = wanted.map(|(class, _)| Machine::new(class, kernel, &ivm)).collect();
            place = Some(Arc::new(Place { ground, rows, judges }));
        }
        let parts = vec![None; stock.data.schema.n_classes()];
        let is_done = machines.is_empty();
        let bytes = place.as_ref().map_or(0, |place| place.ground.bytes());
        let routed = Routed { class, place, parts, fit: None, is_done, bytes };
        Some(Self { version: stock.version, kernel, routed, machines, regression: None })
    }

    /// Some active rows more for the class that has fewest; when no class wants more, the regression on all rows, if there is to be one.
    fn slice(&mut self, params: &IvmParams) -> Result<()> {
        let par = Par::sequential();
        let Some(place) = self.routed.place.clone() else { return Ok(()) };
        let parts = &mut self.routed.parts;
        let n_active = |parts: &[Option<Arc<Part>>], class: usize| {
            parts[class].as_ref().map(|part| (part.active.len(), part.is_done))
        };
        let is_open = |class: usize| n_active(parts, class).is_none_or(|(_, is_done)| !is_done);
        let classes = place.ground.has_machine().iter().enumerate().filter(|(_, has)| **has);
        let classes: Vec<usize> = classes.map(|(class, _)| class).collect();
        let next = (0..classes.len())
            .filter(|at| is_open(classes[*at]))
            .min_by_key(|at| n_active(parts, classes[*at]).map_or(0, |(n, _)| n));
        if let Some(at) = next {
            let part = self.machines[at].slice(&place.ground, ROWS_A_SLICE, &par)?;
            parts[classes[at]] = Some(Arc::new(part));
        } else if let Some(mut own) = self.regression.take() {
            if own.slice(&place.ground, &par) {
                self.routed.fit = Some(Arc::new(own.finish(&place.ground, &par)?));
            } else {
                self.regression = Some(own);
            }
        } else {
            let own = Regression::new(&place.ground, parts.clone(), self.kernel[0], &par)?;
            self.regression = Some(Box::new(own));
        }
        let are_done =
            classes.iter().all(|class| self.routed.parts[*class].as_ref().is_some_and(|part| part.is_done));
        self.routed.is_done = are_done && (!params.refit || self.routed.fit.is_some());
        let of_parts: usize = self.routed.parts.iter().flatten().map(|part| part.bytes).sum();
        let of_regression = self.regression.as_ref().map_or(0, |own| own.bytes());
        self.routed.bytes = place.ground.bytes() + of_parts + of_regression;
        Ok(())
    }
}

/// All machines that are ready, with what they say about the rows that judge, by what the forest says about these.
pub(super) fn routed(view: &View, stock: &Stock, of_forest: ArrayView2<'_, f64>) -> Result<Helpers> {
    let mut helpers = Helpers::default();
    let (Some(kernel), Some(params)) = (view.machine_kernel(), ivm_params(&view.params)) else {
        return Ok(helpers);
    };
    let said: Vec<Option<usize>> = of_forest.rows().into_iter().map(largest).collect();
    let mut answers = Array2::from_elem(of_forest.dim(), f64::NAN);
    for routed in view.routes.iter().flatten() {
        let Some(place) = &routed.place else { continue };
        let made = best_of(&place.ground, &params, kernel, &routed.parts, routed.fit.as_deref())?;
        let Some(made) = made else { continue };
        let mut strangers = Vec::new();
        for judge in (0..said.len()).filter(|judge| said[*judge] == Some(routed.class)) {
            match place.judges.binary_search(&judge) {
                Ok(own) => answers.row_mut(judge).assign(&made.proba.row(own)),
                // The forest has changed its mind, by calibration or by more trees.
                Err(_) => strangers.push(judge),
            }
        }
        if !strangers.is_empty() {
            let x = stock.judges.select(Axis(0), &strangers);
            let proba = made.classifier.predict_proba(x.view(), &Par::sequential())?;
            strangers.iter().zip(proba.rows()).for_each(|(judge, row)| answers.row_mut(*judge).assign(&row));
        }
        let ratings = made.ratings.iter().map(|(row, rating)| (place.rows[*row], *rating)).collect();
        // Rows that judge are remembered too, as those of all other models are.
        helpers.rows.push(MachineRows { rows: Some(place.rows.clone()), ratings });
        helpers.machines.push(Trained { class: Some(routed.class), ivm: made.classifier });
    }
    helpers.answers = (!helpers.machines.is_empty()).then_some(answers);
    Ok(helpers)
}

impl EngineHost {
    /// How the machine for an answer stands.
    pub(super) fn look_at_route(&self, class: usize) -> Look {
        let view = &self.view;
        let name = self.schema().labels.names().get(class).cloned().unwrap_or_default();
        let base = Look { kind: "route", name, state: State::Waiting, ..Look::default() };
        let (Some(stock), true) = (&view.stock, view.kernel.is_some() && self.is_forest_there()) else {
            return base;
        };
        if class >= stock.data.schema.n_classes() {
            return base;
        }
        let n_active = ivm_params(&view.params).map_or(0, |params| params.n_active);
        let Some(routed) = view.routes.get(class).and_then(Option::as_ref) else {
            // Of all rows, at worst.
            let next_bytes = Machine::bytes_on(stock.data.n_rows(), n_active) as u64;
            return Look { state: State::Ready, next_bytes, ..base };
        };
        let parts = || routed.parts.iter().flatten();
        let accuracy = parts().map(|part| part.accuracy).sum::<f64>() / parts().count().max(1) as f64;
        let n_machines = routed
            .place
            .as_ref()
            .map_or(0, |place| place.ground.has_machine().iter().filter(|has| **has).count());
        Look {
            state: if routed.is_done { State::Done } else { State::Ready },
            accuracy: parts().next().map(|_| accuracy),
            points: parts().map(|part| part.active.len()).sum(),
            goal: n_machines * n_active,
            bytes: routed.bytes as u64,
            ..base
        }
    }

    /// Whether the forest can say where rows belong: all its trees are there, or enough of those without end.
    pub(super) fn is_forest_there(&self) -> bool {
        let n_trees = self.view.grove.as_ref().map_or(0, |grove| grove.n_trees());
        let mut trees = (0..self.roles.len()).filter(|job| matches!(self.roles[*job], Role::Trees(_)));
        n_trees > 0
            && (n_trees >= ENOUGH_TREES && self.has_endless_trees()
                || trees.all(|job| self.look_at(job).state != State::Ready))
    }
}
