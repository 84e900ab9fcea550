"""Active learning: strategies, the learner for notebooks, streams, and the packages they go with."""

import pickle
import warnings

import numpy as np
import pytest
from conftest import ALL, fresh, name_of
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hedgerow import KnnClassifier, OnlineForestClassifier
from hedgerow.active import STRATEGIES, ActiveLearner, QueryStrategy, StreamQuerier, is_labelled, modal_query

FOREST = OnlineForestClassifier(n_estimators=10, random_state=0)


@pytest.fixture(scope="module")
def blobs():
    """Three clouds with text for labels."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 200)
    X = rng.normal(size=(200, 2)) + np.array([[0, 0], [6, 0], [0, 6]])[truth]
    return X, np.array(["ash", "elm", "oak"])[truth]


def partly(truth, rows, missing=np.nan):
    y = np.empty(len(truth), dtype=object)
    y[:] = missing
    y[rows] = truth[rows]
    return y


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_chooses_among_the_rows_without_a_label(blobs, strategy):
    X, truth = blobs
    for rows, clf in [([], None), ([5], FOREST), (np.arange(30), FOREST), (np.arange(30), None)]:
        y = partly(truth, rows)
        query = QueryStrategy(strategy, random_state=0)
        chosen, utilities = query.query(X, y, clf=clf, batch_size=4, return_utilities=True)
        assert chosen.shape == (4,) and len(set(chosen.tolist())) == 4
        assert not np.isin(chosen, rows).any()
        assert utilities.shape == (4, 200)
        assert np.isnan(utilities[:, rows]).all()
        for step in range(4):
            assert np.isnan(utilities[step, chosen[:step]]).all()
            assert utilities[step, chosen[step]] == np.nanmax(utilities[step])
        again = QueryStrategy(strategy, random_state=0, n_jobs=1).query(X, y, clf=clf, batch_size=4)
        assert chosen.tolist() == again.tolist()


@pytest.mark.parametrize("model", ALL, ids=name_of)
def test_every_classifier_can_be_asked(blobs, model):
    X, truth = blobs
    chosen = QueryStrategy("margin", random_state=0).query(X, partly(truth, np.arange(40)), clf=fresh(model), batch_size=2)
    assert len(chosen) == 2 and (chosen >= 40).all()


def test_candidates_may_be_numbers_or_rows(blobs):
    X, truth = blobs
    y = partly(truth, np.arange(30))
    strategy = QueryStrategy("margin", random_state=0)
    chosen, utilities = strategy.query(X, y, FOREST, candidates=[100, 150, 7], batch_size=3, return_utilities=True)
    assert sorted(chosen) == [7, 100, 150]
    assert np.flatnonzero(~np.isnan(utilities[0])).tolist() == [7, 100, 150]
    chosen, utilities = strategy.query(X[:60], y[:60], FOREST, candidates=X[100:110], batch_size=2, return_utilities=True)
    assert (chosen < 10).all() and utilities.shape == (2, 10)
    clf = LogisticRegression()
    both = [strategy.query(X[:60], y[:60], clf, candidates=X[100:110], batch_size=2) for _ in range(2)]
    assert both[0].tolist() == both[1].tolist()
    with pytest.warns(UserWarning, match="batch_size=9"):
        assert len(strategy.query(X, y, candidates=[50, 60], batch_size=9)) == 2


@pytest.mark.parametrize("missing", [np.nan, None, "?", -1])
def test_missing_labels_in_every_form(blobs, missing):
    X, truth = blobs
    y = partly(truth, np.arange(25), missing)
    if missing == -1:
        y = np.where([isinstance(label, str) for label in y], np.unique(truth, return_inverse=True)[1], -1)
    assert is_labelled(y, missing).tolist() == [True] * 25 + [False] * 175
    chosen = QueryStrategy(missing_label=missing, random_state=0).query(X, y, FOREST, batch_size=3)
    assert (chosen >= 25).all()


def test_any_classifier_of_scikit_learn_can_be_asked(blobs):
    X, truth = blobs
    rows = np.arange(30)
    y = partly(truth, rows)
    for clf in [LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression()), RandomForestClassifier(10, random_state=0)]:
        strategy = QueryStrategy("margin", random_state=0)
        chosen, utilities = strategy.query(X, y, clf, return_utilities=True)
        proba = np.sort(clf.fit(X[rows], truth[rows]).predict_proba(X), axis=1)
        margins = 1 - (proba[:, -1] - proba[:, -2])
        assert margins[chosen[0]] == pytest.approx(margins[30:].max(), abs=1e-5)
        assert strategy.query(X, y, clf, fit_clf=False).tolist() == chosen.tolist()


def test_tables_with_categories_and_text():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"size": rng.normal(size=120), "color": pandas.Categorical(rng.choice(["red", "blue"], 120))})
    truth = np.where((frame["size"] > 0) & (frame["color"] == "red"), "yes", "no")
    chosen = QueryStrategy(random_state=0).query(frame, partly(truth, np.arange(40)), FOREST, batch_size=3)
    assert (chosen >= 40).all()
    learner = ActiveLearner(frame, random_state=0)
    for _ in range(15):
        rows = learner.ask(4)
        learner.tell(rows, truth[rows])
    assert (learner.predict(frame) == truth).mean() > 0.9
    assert learner.should_stop().n_labels == 60


def test_what_is_raised_while_the_engine_asks_comes_back(blobs):
    X, truth = blobs

    class Broken(LogisticRegression):
        def predict_proba(self, X):
            raise ZeroDivisionError("no")

    with pytest.raises(ZeroDivisionError, match="no"):
        QueryStrategy("margin").query(X, partly(truth, np.arange(30)), Broken())


def test_mistakes_are_named(blobs):
    X, truth = blobs
    y = partly(truth, np.arange(5))
    for message, call in [
        ("strategy: expected one of", lambda: QueryStrategy("best").query(X, y)),
        ("inconsistent numbers", lambda: QueryStrategy().query(X[:9], y)),
        ("batch_size", lambda: QueryStrategy().query(X, y, batch_size=0)),
        ("a row from 0 to 199", lambda: QueryStrategy().query(X, y, candidates=[500])),
        ("diversity", lambda: QueryStrategy(diversity=3).query(X, y)),
    ]:
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("classifier", [None, KnnClassifier(random_state=0), LogisticRegression()], ids=name_of)
def test_a_learner_from_no_label_to_the_end(blobs, classifier):
    X, truth = blobs
    learner = ActiveLearner(X, classifier=classifier, random_state=0)
    assert learner.model is None and learner.n_labels == 0
    assert not learner.should_stop() and "no model" in learner.should_stop().reason
    for _ in range(25):
        rows = learner.ask(5)
        assert len(learner.reasons) == 5 and all(learner.reasons)
        assert not np.isin(rows, learner.labelled).any()
        learner.tell(rows, truth[rows])
    assert (learner.predict(X) == truth).mean() > 0.95
    advice = learner.should_stop()
    assert advice.stop == bool(advice) and advice.n_labels == 125 and advice.gain.labels == 10
    assert str(advice).startswith("labelling may stop: " if advice else "not yet: ")
    assert learner.y[learner.labelled].tolist() == truth[learner.labelled].tolist()
    assert len(learner.ask(500)) == 75


def test_labels_that_were_taken_back_leave_no_trace(blobs):
    X, truth = blobs
    learner, straight = (ActiveLearner(X, classifier=FOREST, random_state=0) for _ in range(2))
    assert learner.undo() is None
    for _ in range(6):
        rows = learner.ask(3)
        learner.tell(rows, "mistake" if len(rows) == 1 else ["mistake"] * 3)
        if learner.n_labels > 3:
            learner.tell(learner.labelled[0], "zebra")
            learner.ask()
            assert learner.undo().tolist() == learner.labelled[:1].tolist()
        assert learner.undo().tolist() == rows.tolist()
        for each in (learner, straight):
            own = each.ask(3)
            assert own.tolist() == rows.tolist()
            each.tell(own, truth[own])
    assert learner.y[learner.labelled].tolist() == straight.y[straight.labelled].tolist()
    assert np.array_equal(learner.predict_proba(X), straight.predict_proba(X))


def test_labels_that_are_there_are_taken_and_mistakes_change_nothing(blobs):
    X, truth = blobs
    learner = ActiveLearner(X, partly(truth, np.arange(50)), classifier=FOREST, random_state=0)
    assert learner.n_labels == 50 and (learner.ask(5) >= 50).all()
    for rows, labels, message in [([1, 2], ["a"], "one for each"), ([900], ["a"], "from 0 to 199"), ([3], [np.nan], "missing"), ([3], [7], "so far")]:
        with pytest.raises(ValueError, match=message):
            learner.tell(rows, labels)
    assert learner.n_labels == 50 and learner.undo() is None
    with pytest.raises(ValueError, match="rule"):
        ActiveLearner(X, stopping={"rule": "never"})


def test_many_labels_are_learnt_one_by_one(blobs):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 2))
    truth = X[:, 0] > 0
    whole, steps = (ActiveLearner(X, classifier=FOREST, random_state=0) for _ in range(2))
    whole.tell(np.arange(430), truth[:430])
    steps.tell(np.arange(400), truth[:400])
    for row in range(400, 430):
        steps.tell(row, truth[row])
        assert steps.model is not None
    assert np.array_equal(whole.predict_proba(X), steps.predict_proba(X))


def test_a_stream_is_asked_for_a_share_of_its_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    y = X[:, 0] > 0
    querier, model = StreamQuerier(budget=0.1, random_state=0), fresh(FOREST)
    for i, row in enumerate(X):
        if querier.ask(row, model):
            model.partial_fit([row], [y[i]])
        assert querier.n_queried_ <= 0.1 * (i + 1) + 1e-9
        if i == 700:
            querier = pickle.loads(pickle.dumps(querier))
    assert querier.n_seen_ == 2000 and querier.n_queried_ > 140 and 10 < querier.n_random_ < 80
    assert (model.predict(X) == y).mean() > 0.95
    # As scikit-activeml's strategies are used: the same decisions.
    one_by_one, batches = StreamQuerier(random_state=1), StreamQuerier(random_state=1)
    expected = [i for i, row in enumerate(X) if one_by_one.ask(row, model)]
    found = []
    for first in range(0, 2000, 50):
        rows = X[first : first + 50]
        queried, utilities = batches.query(rows, model, return_utilities=True)
        assert batches.query(rows, model).tolist() == queried.tolist()
        assert utilities.shape == (50,) and ((utilities >= 0) & (utilities <= 1)).all()
        batches.update(rows, queried)
        found += (first + queried).tolist()
    assert found == expected
    with pytest.raises(ValueError, match="follows"):
        batches.update(rows, queried)
    with pytest.raises(ValueError, match="rate"):
        StreamQuerier(budget=0).ask(X[0])


def pool_strategies():
    """Every pool strategy of scikit-activeml that is not made for one class of models or for regression, with what its query is given."""
    try:
        from skactiveml import pool
    except ImportError:
        return

    def with_clf(name, **arguments):
        return pytest.param(getattr(pool, name), arguments, "clf", id=name + "".join(f"-{value}" for value in arguments.values()))

    for method in ("least_confident", "margin_sampling", "entropy"):
        yield with_clf("UncertaintySampling", method=method)
    for name in ("ProbabilisticAL", "ContrastiveAL", "Badge", "DropQuery", "Falcun"):
        yield with_clf(name)
    for method in ("misclassification_loss", "log_loss"):
        yield with_clf("MonteCarloEER", method=method)
    yield with_clf("ValueOfInformationEER")
    yield pytest.param(pool.Clue, {}, "estimator", id="Clue")
    for method in ("KL_divergence", "vote_entropy", "variation_ratios"):
        yield pytest.param(pool.QueryByCommittee, {"method": method}, "ensemble", id=f"QueryByCommittee-{method}")
    for name in ("BatchBALD", "GreedyBALD"):
        yield pytest.param(getattr(pool, name), {}, "ensemble", id=name)
    yield pytest.param(pool.DiscriminativeAL, {}, "discriminator", id="DiscriminativeAL")
    for name in ("RandomSampling", "CoreSet", "TypiClust", "ProbCover", "MaxHerding"):
        yield pytest.param(getattr(pool, name), {}, None, id=name)
    yield pytest.param(pool.Quire, {"classes": ["ash", "elm", "oak"]}, None, id="Quire")
    yield pytest.param(pool.CostEmbeddingAL, {"classes": ["ash", "elm", "oak"]}, None, id="CostEmbeddingAL")


@pytest.mark.parametrize("n_labels", [0, 1, 20])
@pytest.mark.parametrize(("strategy", "arguments", "takes"), list(pool_strategies()))
def test_strategies_of_scikit_activeml_run_with_our_classifiers(blobs, strategy, arguments, takes, n_labels):
    from hedgerow.active.skactiveml import HedgerowClassifier

    X, truth = blobs[0][:60], blobs[1][:60]
    y = partly(truth, np.arange(n_labels), None)
    labels = ["ash", "elm", "oak"]
    if takes == "discriminator":
        labels = [0, 1]  # with a label, and without
    elif "method" in arguments and takes == "ensemble":
        # scikit-activeml 1.0.1 counts votes of numbers only, of its own classifiers as well.
        truth = np.unique(truth, return_inverse=True)[1]
        y, labels = partly(truth, np.arange(n_labels), None), [0, 1, 2]
    model = HedgerowClassifier(fresh(FOREST), classes=labels, missing_label=None)
    given = {} if takes is None else {takes: model}
    if takes == "ensemble":
        given = {takes: [model, HedgerowClassifier(KnnClassifier(), classes=labels, missing_label=None)]}
    query = strategy(missing_label=None, random_state=0, **arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chosen, utilities = query.query(X, y, **given, batch_size=2, return_utilities=True)
    assert len(chosen) == 2 and (np.asarray(chosen) >= n_labels).all()
    assert utilities.shape == (2, 60)


def test_class_frequencies_and_draws_as_scikit_activeml_wants_them(blobs):
    pytest.importorskip("skactiveml")
    from hedgerow.active.skactiveml import HedgerowClassifier

    X, truth = blobs
    model = HedgerowClassifier(fresh(FOREST), classes=["yew", "oak", "elm", "ash"], missing_label=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        empty = model.fit(X, partly(truth, [], None))
        assert np.allclose(empty.predict_proba(X[:3]), 0.25) and (empty.predict_freq(X[:3]) == 0).all()
    model.fit(X, partly(truth, np.arange(100), None))
    assert model.classes_.tolist() == ["ash", "elm", "oak", "yew"]
    freq = model.predict_freq(X)
    assert freq.shape == (200, 4) and (freq[:, 3] == 0).all() and (freq.sum(axis=1) > 0).all()
    assert (model.classes_[freq.argmax(axis=1)] == truth).mean() > 0.9
    draws = model.sample_proba(X[:5], n_samples=7, random_state=0)
    assert draws.shape == (7, 5, 4) and np.allclose(draws.sum(axis=2), 1)
    assert (model.predict(X) == truth).mean() > 0.95


def test_our_strategies_run_inside_scikit_activeml(blobs):
    pool = pytest.importorskip("skactiveml.pool")
    from hedgerow.active.skactiveml import HedgerowClassifier

    X, truth = blobs
    y = partly(truth, np.arange(6), None)
    model = HedgerowClassifier(fresh(FOREST), classes=["ash", "elm", "oak"], missing_label=None)
    ours = QueryStrategy("margin", missing_label=None, random_state=0)
    wrapped = pool.SubSamplingWrapper(query_strategy=ours, max_candidates=40, missing_label=None, random_state=0)
    for strategy in [ours, wrapped]:
        labels = y.copy()
        for _ in range(8):
            rows = strategy.query(X=X, y=labels, clf=model, batch_size=3)
            assert not is_labelled(labels[rows], None).any()
            labels[rows] = truth[rows]
        assert is_labelled(labels, None).sum() == 30
        assert (model.fit(X, labels).predict(X) == truth).mean() > 0.8


def test_a_loop_of_modal(blobs, monkeypatch):
    models = pytest.importorskip("modAL.models")
    # modAL 0.4.2.1 uses a name that scikit-learn 1.8 has dropped.
    check = models.learners.check_X_y
    monkeypatch.setattr(
        models.learners, "check_X_y", lambda *rows, force_all_finite, **rest: check(*rows, ensure_all_finite=force_all_finite, **rest)
    )
    X, truth = blobs
    learner = models.ActiveLearner(estimator=fresh(FOREST), query_strategy=modal_query, X_training=X[:4], y_training=truth[:4])
    pool, labels = X[4:], truth[4:]
    for _ in range(8):
        rows, chosen = learner.query(pool, n_instances=3)
        assert np.array_equal(chosen, pool[rows]) and len(set(rows.tolist())) == 3
        learner.teach(pool[rows], labels[rows])
        pool, labels = np.delete(pool, rows, axis=0), np.delete(labels, rows)
    assert learner.score(X, truth) > 0.9
    _, _, utilities = learner.query(pool, n_instances=2, return_metrics=True)
    assert utilities.shape == (2,)
