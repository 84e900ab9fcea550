//! Where everything comes together.

use std::sync::Arc;
use std::time::Instant;

use hedgerow_core::{ClassId, Dataset, Error, Result, Schema};
use hedgerow_trainer::{Host, Job as _, Look, Options, Published};

use super::held::Held;
use super::jobs::EngineJob;
use super::process::{Processing, kernel_params};
use super::route::route_params;
use super::rows::{News, forest_params, ivm_params, leaf_params};
use super::search::Trials;
use super::snapshot::{Evidence, Snapshot};
use super::view::{Product, View};
use crate::params::ModelParams;

/// The share of the time that the search for a kernel may take.
const SEARCH_SHARE: f64 = 0.2;
/// A model is made when there is this much more to it.
const GROWTH: f64 = 1.15;
/// A regression begins when there are this many times as many active rows.
const MORE_ACTIVE: f64 = 1.6;
/// Active rows of a machine that a regression begins with.
const FIRST_ACTIVE: usize = 8;

/// What a job works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Rows,
    Search(usize),
    Trees(usize),
    Machine(usize),
    Route(usize),
    Process,
    Regression,
    Leaves(usize),
    Combine,
}

/// What an engine has.
pub(super) struct EngineHost {
    pub(super) view: Arc<View>,
    schema: Schema,
    n_appended: u64,
    pub(super) roles: Vec<Role>,
    pub(super) problems: Vec<Option<String>>,
    pub(super) published: Arc<Published<Snapshot>>,
    start: Instant,
    /// When the search for a kernel must be over.
    pub(super) search_until: Option<Instant>,
    /// Slices when a model was last made, and since when something is new.
    pub(super) combined_at: u64,
    pub(super) changed_at: u64,
    /// How good the trees are together; bytes of all of them and of the largest.
    pub(super) trees_accuracy: Option<f64>,
    pub(super) tree_bytes: [usize; 2],
    /// Trees that each lane has grown on the rows there are.
    pub(super) n_grown: Vec<usize>,
    /// Rows that the regression under way, or else the last one, is made of; bytes of the one under way; active rows of all machines when it began.
    pub(super) regression: [usize; 2],
    pub(super) regressed_at: usize,
    pub(super) is_regressing: bool,
    /// How the process over a forest stands, and how good it is.
    pub(super) processing: Processing,
    pub(super) process_accuracy: Option<f64>,
}

impl EngineHost {
    pub(super) fn new(
        schema: Schema,
        params: ModelParams,
        options: &Options,
        published: Arc<Published<Snapshot>>,
    ) -> Self {
        let start = Instant::now();
        let n_stems = leaf_params(&params).map_or(0, |params| params.n_trees);
        let view = View {
            params: Arc::new(params),
            lanes: options.lanes.max(1),
            stock: None,
            waiting: Arc::default(),
            judges_before: Arc::default(),
            trials: None,
            tried: Vec::new(),
            kernel: None,
            grove: None,
            parts: vec![None; schema.n_classes()],
            fit: None,
            routes: vec![None; schema.n_classes()],
            process: None,
            stems: vec![None; n_stems],
            slices: 0,
        };
        let time = options.budget.deadline.map(|end| end.saturating_duration_since(start));
        let mut host = Self {
            view: Arc::new(view),
            schema,
            n_appended: 0,
            roles: Vec::new(),
            problems: Vec::new(),
            published,
            start,
            search_until: time.map(|time| start + time.mul_f64(SEARCH_SHARE)),
            combined_at: 0,
            changed_at: 0,
            trees_accuracy: None,
            tree_bytes: [0; 2],
            n_grown: vec![0; options.lanes.max(1)],
            regression: [0; 2],
            regressed_at: 0,
            is_regressing: false,
            processing: Processing::default(),
            process_accuracy: None,
        };
        host.roles = host.first_roles();
        host.problems = vec![None; host.roles.len()];
        host
    }

    fn first_roles(&self) -> Vec<Role> {
        let (params, lanes) = (&self.view.params, self.view.lanes);
        let mut roles = vec![Role::Rows, Role::Combine];
        if forest_params(params).is_some() {
            roles.extend((0..lanes).map(Role::Trees));
        }
        if let Some(params) = ivm_params(params) {
            roles.extend((0..lanes).map(Role::Search));
            roles.extend(Some(Role::Regression).filter(|_| params.refit && !self.routes()));
            roles.extend((0..self.schema.n_classes()).map(|class| self.role_of(class)));
        }
        roles.extend(kernel_params(params).map(|_| Role::Process));
        if leaf_params(params).is_some() {
            roles.extend((0..lanes).map(Role::Search));
            roles.extend((0..self.view.n_groups()).map(Role::Leaves));
        }
        roles
    }

    /// Whether rows are sent to machines by what the forest says.
    fn routes(&self) -> bool {
        route_params(&self.view.params).is_some()
    }

    /// Who works for a class: a machine that knows it from all others, or one for all rows that the forest answers so.
    fn role_of(&self, class: usize) -> Role {
        if self.routes() { Role::Route(class) } else { Role::Machine(class) }
    }

    fn job(&self, role: Role) -> EngineJob {
        match role {
            Role::Rows => EngineJob::Rows,
            Role::Search(lane) => EngineJob::Search { lane },
            Role::Trees(lane) => EngineJob::Trees { lane, version: 0, n_grown: 0 },
            Role::Machine(class) => EngineJob::Machine { class, generation: 0, machine: None },
            Role::Route(class) => EngineJob::Route { class, route: None },
            Role::Process => EngineJob::Process { work: None },
            Role::Leaves(group) => EngineJob::Leaves { group },
            Role::Regression => EngineJob::Regression { generation: 0, regression: None },
            Role::Combine => EngineJob::Combine { published: Arc::clone(&self.published), start: self.start },
        }
    }

    /// The jobs to begin with, in the order of their places.
    pub(super) fn first_jobs(&self) -> Vec<EngineJob> {
        self.roles.iter().map(|role| self.job(*role)).collect()
    }

    /// The newest schema.
    pub(super) fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Rows that have come. They are taken up by a job. Returns the place of the first in the order in which rows come.
    pub(super) fn append(&mut self, data: Dataset) -> u64 {
        self.schema = data.schema.clone();
        let first = self.n_appended;
        if data.n_rows() > 0 {
            self.n_appended += data.n_rows() as u64;
            self.wait_for(News::Rows(Arc::new(data)));
        }
        first
    }

    /// Other labels for rows that have come, by their places. They are taken up by a job.
    pub(super) fn relabel(&mut self, schema: &Schema, labels: Vec<(u64, ClassId)>) {
        self.schema = schema.clone();
        if !labels.is_empty() {
            self.wait_for(News::Labels(Arc::new((schema.clone(), labels))));
        }
    }

    fn wait_for(&mut self, news: News) {
        Arc::make_mut(&mut Arc::make_mut(&mut self.view).waiting).push(news);
    }

    /// How many rows have come.
    pub(super) fn n_appended(&self) -> u64 {
        self.n_appended
    }

    /// Lets the first rows judge that judged an earlier engine.
    pub(super) fn let_judge(&mut self, is_judge: Vec<bool>) {
        Arc::make_mut(&mut self.view).judges_before = Arc::new(is_judge);
    }

    /// What is known of the rows now.
    pub(super) fn held(&self) -> Held {
        let View { stock, waiting, judges_before, .. } = &*self.view;
        Held { stock: stock.clone(), waiting: Arc::clone(waiting), judges_before: Arc::clone(judges_before) }
    }

    /// Makes a model of what there is now, if it is better than the published one.
    pub(super) fn combine_last(&mut self) -> Result<()> {
        if self.changed_at <= self.combined_at {
            return Ok(());
        }
        match self.job(Role::Combine).slice(&self.view) {
            Product::Combined(Err(error), _) => Err(error),
            product => {
                self.take(product);
                Ok(())
            }
        }
    }

    /// Whether a regression on all rows should begin: there are many more active rows, or no more will come.
    pub(super) fn wants_regression(&self) -> bool {
        let Some(ground) = self.view.stock.as_ref().and_then(|stock| stock.ground.as_ref()) else {
            return false;
        };
        let n_active = self.view.n_active();
        let n_machines = ground.has_machine().iter().filter(|has| **has).count();
        // A class whose machine has not begun would not be known to it.
        let wanted = || self.view.parts.iter().zip(ground.has_machine()).filter(|(_, has)| **has);
        if wanted().any(|(part, _)| part.is_none()) {
            return false;
        }
        let is_done = wanted().all(|(part, _)| part.as_ref().is_some_and(|part| part.is_done));
        let enough = if self.regressed_at == 0 {
            FIRST_ACTIVE * n_machines
        } else {
            (MORE_ACTIVE * self.regressed_at as f64) as usize
        };
        n_active > 0 && (n_active >= enough || (is_done && n_active != self.regressed_at))
    }

    /// Whether a model should be made: there is more to it, or nothing else is left to do.
    pub(super) fn wants_model(&self, is_rest_done: bool) -> bool {
        let due = GROWTH * self.combined_at as f64 + 1.0;
        self.changed_at > self.combined_at && (self.changed_at as f64 >= due || is_rest_done)
    }

    /// Begins what must begin anew with new rows.
    fn settle(&mut self, generation_before: u64) {
        let view = Arc::make_mut(&mut self.view);
        let Some(stock) = &view.stock else { return };
        view.parts.resize(stock.data.schema.n_classes(), None);
        let begins_anew = stock.generation != generation_before;
        // Leaves take new rows up, so their trees stay; those of a forest begin anew.
        if begins_anew || stock.plot.is_none() {
            let of_forest = stock.nursery.as_ref().filter(|_| stock.plot.is_none());
            view.grove = of_forest.map(|nursery| Arc::new(nursery.empty()));
            (self.trees_accuracy, self.tree_bytes) = (None, [0; 2]);
            self.n_grown.fill(0);
            view.routes = vec![None; stock.data.schema.n_classes()];
            (view.process, self.processing) = (None, Processing::default());
            // What is published does not know the new rows: a model is worth making as soon as there is a tree again, and not before.
            self.combined_at = (self.combined_at as f64 / GROWTH) as u64;
            if view.grove.is_some() {
                self.changed_at = self.combined_at;
            }
        }
        if begins_anew {
            view.parts.iter_mut().for_each(|part| *part = None);
            view.stems.iter_mut().for_each(|stem| *stem = None);
            view.tried.clear();
            view.trials = stock.trials.clone().map(Trials::Machines);
            (view.kernel, view.fit) = (None, None);
            (self.regression, self.regressed_at, self.is_regressing) = ([0; 2], 0, false);
        } else {
            // Machines learn of the new rows with their next slice; so does the regression, when it is due again.
            for part in view.parts.iter_mut().flatten() {
                Arc::make_mut(part).is_done = false;
            }
            self.regressed_at /= 2;
        }
        self.choose_kernel();
    }

    /// Takes in what came of a slice; says what went wrong.
    fn take(&mut self, product: Product) -> Option<Error> {
        let view = Arc::make_mut(&mut self.view);
        let generation = view.stock.as_ref().map_or(0, |stock| stock.generation);
        let version = view.stock.as_ref().map_or(0, |stock| stock.version);
        view.slices += 1;
        let mut is_new = false;
        match product {
            Product::Stock(Ok(stock), n_taken) => {
                Arc::make_mut(&mut view.waiting).drain(..n_taken);
                view.stock = Some(stock);
                self.settle(generation);
            }
            // With more rows it may do: others may come.
            Product::Stock(Err(error), _) => return Some(error),
            Product::Trial { generation: of, at, value } if of == generation => {
                if view.tried.len() <= at {
                    view.tried.resize(at + 1, None);
                }
                // A kernel that cannot be used at all is as bad as can be.
                view.tried[at] = Some(value.unwrap_or(f64::INFINITY));
                self.choose_kernel();
            }
            Product::Tree { version: of, lane, sapling } if of == version => {
                self.n_grown[lane] += 1;
                let bytes = sapling.bytes();
                self.tree_bytes = [self.tree_bytes[0] + bytes, self.tree_bytes[1].max(bytes)];
                if let Some(grove) = &mut view.grove {
                    Arc::make_mut(grove).add(*sapling);
                    let labels = view.stock.as_ref().map(|stock| &stock.labels[..]).unwrap_or_default();
                    let proba = grove.answers().shares.mapv(f64::from);
                    self.trees_accuracy = Some(Evidence::new(&proba, labels).macro_accuracy);
                }
                is_new = true;
            }
            Product::Machine { generation: of, kernel, part } if of == generation => match part {
                Ok(part) if view.kernel == Some(kernel) => {
                    let class = part.class;
                    view.parts[class] = Some(part);
                    is_new = true;
                }
                Ok(_) => {}
                Err(error) => return Some(error),
            },
            Product::Route { version: of, kernel, class, routed } if of == version => match routed {
                Ok(routed) if view.kernel == Some(kernel) => {
                    view.routes[class] = Some(routed);
                    is_new = true;
                }
                Ok(_) => {}
                Err(error) => return Some(error),
            },
            Product::Process { version: of, how, made } if of == version => {
                self.processing = how;
                match made {
                    Ok(None) => {}
                    Ok(Some(made)) => {
                        let labels = view.stock.as_ref().map(|stock| &stock.labels[..]).unwrap_or_default();
                        self.process_accuracy = Some(Evidence::new(&made.proba, labels).macro_accuracy);
                        (view.process, is_new) = (Some(made), true);
                        // It is worth a model at once.
                        self.combined_at = (self.combined_at as f64 / GROWTH) as u64;
                    }
                    Err(error) => return Some(error),
                }
            }
            Product::Stem { generation: of, lane, stem, trials } if of == generation => {
                let number = stem.number();
                view.trials = view.trials.take().or(trials);
                view.stems[number] = Some(stem);
                self.n_grown[lane] += 1;
                self.trees_accuracy = self.stems_accuracy();
                self.choose_kernel();
                is_new = true;
            }
            Product::Leaves { generation: of, kernel, stem } if of == generation => match stem {
                Ok(stem) if view.kernel == Some(kernel) => {
                    let number = stem.number();
                    view.stems[number] = Some(stem);
                    is_new = true;
                }
                Ok(_) => {}
                Err(error) => return Some(error),
            },
            Product::Regression { generation: of, n_active, bytes, fit } if of == generation => {
                if !self.is_regressing {
                    self.regressed_at = view.n_active();
                }
                self.regression = [n_active, bytes];
                match fit {
                    Ok(None) => self.is_regressing = true,
                    Ok(Some(fit)) => {
                        (view.fit, self.is_regressing, is_new) = (Some(fit), false, true);
                        // It is worth a model at once.
                        self.combined_at = (self.combined_at as f64 / GROWTH) as u64;
                    }
                    Err(error) => {
                        self.is_regressing = false;
                        return Some(error);
                    }
                }
            }
            Product::Combined(made, slices) => {
                self.combined_at = slices.max(self.combined_at);
                match made {
                    Ok(Some(snapshot)) => drop(self.published.set(*snapshot)),
                    Ok(None) => {}
                    Err(error) => return Some(error),
                }
            }
            _ => {}
        }
        if is_new {
            self.changed_at = self.view.slices;
        }
        None
    }
}

impl Host for EngineHost {
    type Job = EngineJob;

    fn look(&self, job: usize) -> Look {
        self.look_at(job)
    }

    fn view(&self) -> Arc<View> {
        Arc::clone(&self.view)
    }

    fn merge(&mut self, job: usize, product: Product) {
        // Rows that cannot be learnt yet are no fault of the job: more may come.
        let waits = matches!(product, Product::Stock(Err(_), _));
        let n_waiting = self.view.waiting.len();
        let problem = self.take(product);
        self.problems[job] = problem.map(|error| error.to_string());
        if waits {
            self.problems[job] = self.problems[job].take().map(|words| format!("{words} ({n_waiting})"));
        }
    }

    fn gone(&mut self, job: usize) {
        self.problems[job].get_or_insert_with(|| "cancelled".into());
        self.choose_kernel();
    }

    fn new_jobs(&mut self) -> Vec<EngineJob> {
        if ivm_params(&self.view.params).is_none() {
            return Vec::new();
        }
        let is_of_class = |role: &&Role| matches!(role, Role::Machine(_) | Role::Route(_));
        let n_known = self.roles.iter().filter(is_of_class).count();
        let new: Vec<Role> = (n_known..self.schema.n_classes()).map(|class| self.role_of(class)).collect();
        self.roles.extend(&new);
        self.problems.resize(self.roles.len(), None);
        new.into_iter().map(|role| self.job(role)).collect()
    }
}
