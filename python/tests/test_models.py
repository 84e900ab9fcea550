"""What a fitted model tells, its files, its limits."""

import copy
import json
import subprocess
import sys
import time

import joblib
import numpy as np
import pytest
from conftest import ALL, fresh

import hedgerow
from hedgerow import ForestIvmClassifier, ForestKernelClassifier, GpClassifier, IvmClassifier, OnlineForestClassifier, _hedgerow


def test_every_setting_of_the_engine_has_its_argument():
    for model in ALL:
        defaults = json.loads(_hedgerow.default_settings(model._kind))
        settings = dict(type(model)()._engine_settings())
        assert set(defaults) - set(settings) <= {"forest", "ivm"}, "parts have defaults of their own"
        for name, text in settings.items():
            assert name == "seed" or json.loads(text) == defaults[name], name


def test_parts_are_estimators_themselves(rings, tmp_path):
    model = ForestIvmClassifier(
        forest=OnlineForestClassifier(n_estimators=7), ivm=IvmClassifier(n_active=9), random_state=0
    )
    model.set_params(forest__max_depth=5).fit(*rings).save(tmp_path / "m")
    again = hedgerow.load(tmp_path / "m")
    assert (again.forest.n_estimators, again.forest.max_depth, again.ivm.n_active) == (7, 5, 9)


def test_what_the_models_tell(rings):
    X, y = rings
    forest = OnlineForestClassifier(random_state=0).fit(X, y)
    assert abs(forest.feature_importances_.sum() - 1) < 1e-9
    assert forest.oob_score_ > 0.85
    assert forest.oob_decision_function_.shape == (300, 3)
    ivm = IvmClassifier(n_active=15, random_state=0).fit(X, y)
    assert 15 <= len(ivm.active_rows_) <= 45
    assert set(ivm.kernel_) == {"length_scale", "signal_variance"}
    gp = GpClassifier(method="laplace", random_state=0).fit(X, y)
    assert gp.log_evidence_ < 0
    assert "length_scale" in str(gp.kernel_)


def test_wrong_arguments_name_themselves(rings):
    for arguments, message in [
        ({"n_estimators": -3}, "parameter n_estimators: "),
        ({"min_samples_leaf": 0}, "parameter min_samples_leaf: "),
        ({"max_depth": "deep"}, "parameter max_depth: "),
        ({"max_features": 7.5}, "max_features"),
        ({"splits": "clever"}, "splits"),
        ({"criterion": ["gini"]}, "criterion"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"max_seconds": -1}, "max_seconds"),
        ({"max_memory": "much"}, "max_memory"),
        ({"random_state": "seed"}, "random_state"),
        ({"class_weight": {"nowhere": 2.0}}, "nowhere"),
    ]:
        with pytest.raises(ValueError, match=message):
            OnlineForestClassifier(**arguments).fit(*rings)
    with pytest.raises(ValueError, match="parameter n_estimators: ") as caught:
        OnlineForestClassifier(n_estimators=-3).partial_fit(*rings)
    assert "n_trees" not in str(caught.value)
    with pytest.raises(ValueError, match="parameter min_samples_leaf: "):
        ForestKernelClassifier(forest=OnlineForestClassifier(min_samples_leaf=0)).fit(*rings)
    with pytest.raises(TypeError, match="n_trees"):
        OnlineForestClassifier(n_trees=10)


def test_seeds_and_threads(any_model, rings):
    def predictions(**arguments):
        return fresh(any_model).set_params(**arguments).fit(*rings).to_bytes()

    assert predictions(n_jobs=1) == predictions(n_jobs=2) == predictions(n_jobs=None)
    assert predictions(random_state=np.random.RandomState(3)) == predictions(random_state=np.random.RandomState(3))
    np.random.seed(5)
    first = predictions(random_state=None)
    np.random.seed(5)
    assert first == predictions(random_state=None)
    if isinstance(any_model, OnlineForestClassifier):
        assert predictions(random_state=1) != predictions(random_state=np.random.default_rng(2))


def test_files_pickles_and_copies_are_the_same_model(any_model, rings, tmp_path):
    X, y = rings
    model = any_model.fit(X, y)
    expected = model.predict_proba(X)
    path = tmp_path / "model.hedgerow"
    assert model.save(path) == path.stat().st_size
    joblib.dump(model, tmp_path / "model.joblib")
    copies = [
        hedgerow.load(path),
        type(model).load(str(path)),
        type(model).from_bytes(model.to_bytes()),
        joblib.load(tmp_path / "model.joblib"),
        copy.deepcopy(model),
        copy.copy(model),
    ]
    for other in copies:
        assert type(other) is type(model)
        np.testing.assert_array_equal(other.predict_proba(X), expected)
        assert other.classes_.tolist() == model.classes_.tolist()
        for name, value in model.get_params().items():
            if name.rpartition("__")[2] not in ("forest", "ivm", "random_state", "n_jobs"):
                assert other.get_params()[name] == value, name
        assert other.random_state == 0
    other_class = GpClassifier if not isinstance(model, GpClassifier) else IvmClassifier
    with pytest.raises(ValueError, match=f"use {type(model).__name__}.load"):
        other_class.load(path)


def test_broken_files(rings, tmp_path):
    model = OnlineForestClassifier(n_estimators=5).fit(*rings)
    data = model.to_bytes()
    with pytest.raises(FileNotFoundError, match="nowhere"):
        hedgerow.load(tmp_path / "nowhere")
    for wrong in [b"", data[:-10], data[:100], b"x" * 500, bytes([data[0] ^ 1]) + data[1:]]:
        (tmp_path / "broken").write_bytes(wrong)
        with pytest.raises(ValueError, match="broken"):
            hedgerow.load(tmp_path / "broken")
    with pytest.raises(FileNotFoundError):
        model.save(tmp_path / "no" / "folder")


def test_the_command_line_reads_our_files_and_we_read_its(rings, tmp_path):
    X, y = rings
    table = np.column_stack([X.astype(str), y])
    np.savetxt(tmp_path / "rings.csv", table, fmt="%s", delimiter=",", header="a,b,ring", comments="")
    script = [sys.executable, "-m", "hedgerow"]
    subprocess.run(
        [*script, "fit", "rings.csv", "--target", "ring", "--out", "m.hedgerow", "--set", "n_trees=15"],
        cwd=tmp_path, check=True, capture_output=True,
    )
    model = hedgerow.load(tmp_path / "m.hedgerow")
    assert isinstance(model, OnlineForestClassifier) and model.n_estimators == 15
    assert model.feature_names_in_.tolist() == ["a", "b"] and model.classes_.tolist() == ["inner", "middle", "outer"]
    with pytest.warns(UserWarning, match="valid feature names"):
        assert model.score(X, y) > 0.9
        model.partial_fit(X, y).save(tmp_path / "more.hedgerow")
    result = subprocess.run([*script, "evaluate", "more.hedgerow", "rings.csv", "--json"], cwd=tmp_path, check=True, capture_output=True)
    assert json.loads(result.stdout)["metrics"]["accuracy"] > 0.95
    wrong = subprocess.run([*script, "fit", "nowhere.csv"], cwd=tmp_path, capture_output=True, text=True)
    assert wrong.returncode == 2 and "nowhere.csv" in wrong.stderr


def test_limits_are_kept():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 20)).astype("f4")
    y = rng.integers(0, 5, 20_000)
    start = time.monotonic()
    model = OnlineForestClassifier(n_estimators=100_000, max_seconds=1.0, random_state=0).fit(X, y)
    assert time.monotonic() - start < 5.0
    assert 0 < model._model.n_trees < 100_000
    model = OnlineForestClassifier(n_estimators=100_000, max_memory="60MB", random_state=0).fit(X, y)
    assert model._model.n_bytes < 60e6
    with pytest.raises(MemoryError, match="max_memory"):
        OnlineForestClassifier(max_memory=1000).fit(X, y)


def test_verbose_shows_progress(rings, capsys):
    OnlineForestClassifier(n_estimators=200, verbose=1, random_state=0).fit(*rings)
    assert "growing trees" in capsys.readouterr().err


def test_it_works_without_scikit_learn(tmp_path):
    program = """
import sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("sklearn", "scipy", "joblib", "pandas", "river", "tqdm"):
            raise ImportError(name)
sys.meta_path.insert(0, Nothing())
import numpy as np, pickle
from hedgerow import OnlineForestClassifier, GpClassifier
X = np.random.default_rng(0).normal(size=(100, 2)); y = X[:, 0] > 0
for model in (OnlineForestClassifier(n_estimators=10, random_state=0), GpClassifier(random_state=0)):
    assert model.fit(X, y).score(X, y) > 0.9
    assert pickle.loads(pickle.dumps(model)).score(X, y) > 0.9
print(OnlineForestClassifier(n_estimators=10).set_params(max_depth=3))
OnlineForestClassifier(verbose=1, random_state=0).fit(X, y)
try:
    model.set_params(nothing=1)
except ValueError as error:
    assert "nothing" in str(error)
"""
    result = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert result.stdout.strip() == "OnlineForestClassifier(max_depth=3, n_estimators=10)"
    assert "growing trees: 100 of 100" in result.stderr
