"""NeuralRanker: training, early stopping, and the tools of scikit-learn and skorch."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

torch = pytest.importorskip("torch", reason="torch is not installed: pip install skrank[torch]")


from skorch.callbacks import Callback, Checkpoint, LRScheduler  # noqa: E402

import skrank  # noqa: E402
from skrank.datasets import make_ranking  # noqa: E402
from skrank.torch import NeuralRanker, QueryDataset  # noqa: E402
from tests.helpers.rankers import fit_with  # noqa: E402

DATA = make_ranking(n_queries=30, n_docs=(5, 20), n_features=6, n_informative=4, random_state=0)
Y = skrank.with_groups(DATA.relevance, DATA.qid)
PART = DATA.qid < 20
VALID = {"X_val": DATA.X[~PART], "y_val": Y[~PART]}


def ranker(**more):
    small = {"hidden": (6,), "epochs": 6, "learning_rate": 0.02, "random_state": 0}
    if "standardize" in more:
        small["options"] = {"standardize": more.pop("standardize")}
    net = {name: more.pop(name) for name in ("module", "callbacks") if name in more}
    return NeuralRanker(**{"objective": "gap", "net_params": net} | small | more)


class Failing(torch.nn.Linear):
    errors = iter(())

    def __init__(self, n_features):
        super().__init__(n_features, 1)

    def forward(self, X):
        if self.training and (error := next(self.errors, None)):
            raise error
        return super().forward(X)


def fail(monkeypatch, error, batches):
    monkeypatch.setattr(Failing, "errors", iter([*[None] * batches, error]))


def same_scores(one, other):
    np.testing.assert_array_equal(one.predict(DATA.X), other.predict(DATA.X))


class Generator(Callback):
    """Records the state of torch's generator after each batch."""

    def __init__(self, states):
        self.states = states

    def on_batch_end(self, net, **kwargs):
        self.states.append(torch.get_rng_state())


def test_training_learns_and_does_not_change_the_generator_of_torch():
    states = [torch.get_rng_state()]
    dropping = {"module__dropout": 0.5, "optimizer__weight_decay": 1e-4}
    found = ranker(epochs=2, net_params=dropping | {"callbacks": [Generator(states)]})
    found.fit(DATA.X, Y, **VALID)
    assert found.net_.optimizer_.param_groups[0]["weight_decay"] == 1e-4
    found.score(DATA.X, Y)
    states.append(torch.get_rng_state())
    assert len(states) > 5
    assert all(torch.equal(state, states[0]) for state in states)
    learned = clone(found).set_params(epochs=15, net_params=None).fit(DATA.X, Y)
    assert learned.score(DATA.X, Y) > 0.7


def dropping(n_features, width=6):
    return torch.nn.Sequential(
        torch.nn.Linear(n_features, width), torch.nn.Dropout(), torch.nn.Linear(width, 1)
    )


def in_pool(train):
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda _: train(1), range(2)))


def on_joblib(train):
    with joblib.parallel_backend("threading"):
        return [train(2)]


@pytest.mark.parametrize("in_threads", [in_pool, on_joblib])
@pytest.mark.parametrize("kind", ["network", "module", "mean"])
def test_the_same_seed_gives_the_same_network_in_threads(kind, in_threads):
    network = ranker(epochs=2, net_params={"module__dropout": 0.5})
    trained = {
        "network": network,
        "module": ranker(epochs=2, net_params={"module": dropping, "module__width": 5}),
        "mean": skrank.RankerMean([network, clone(network).set_params(random_state=1)]),
    }[kind]

    def train(n_jobs):
        folds = skrank.QueryKFold(2)
        values = cross_val_score(
            trained, DATA.X, Y, cv=folds, scoring="neg_mean_squared_error", n_jobs=n_jobs
        )
        return [*values, *clone(trained).fit(DATA.X, Y).predict(DATA.X)]

    alone = train(1)
    for found in in_threads(train):
        np.testing.assert_array_equal(found, alone)


def test_rows_may_come_in_any_order_and_sparse():
    order = np.random.default_rng(0).permutation(len(Y))
    for kind in (np.asarray, csr_matrix):
        plain = ranker(epochs=3).fit(kind(DATA.X), Y).predict(kind(DATA.X))
        mixed = ranker(epochs=3).fit(kind(DATA.X[order]), Y.iloc[order]).predict(kind(DATA.X))
        # sums in another order differ in the last digits; Adam amplifies the differences
        assert np.corrcoef(mixed, plain)[0, 1] > 0.999


def test_a_collection_of_dask_gets_the_scores_of_its_rows():
    da = pytest.importorskip("dask.array")
    model = ranker(epochs=1).fit(DATA.X, Y)
    found = model.predict(da.from_array(DATA.X, chunks=(50, -1))).compute()
    np.testing.assert_allclose(found, model.predict(DATA.X), rtol=1e-5, atol=1e-6)


def test_early_stopping_restores_the_best_epoch(capsys):
    found = ranker(
        epochs=40, learning_rate=0.2, validation_fraction=0.3, early_stopping_rounds=4,
        eval_metric=["ndcg@5", "gap"], progress=True,
    ).fit(DATA.X, Y)  # fmt: skip
    assert f" {found.n_epochs_}.00/40.0 [" in capsys.readouterr().err
    values = found.evals_result_["validation"]
    assert list(values) == ["ndcg@5", "gap"]
    assert found.best_epoch_ == int(np.argmax(values["ndcg@5"])) + 1
    assert found.n_epochs_ == len(values["gap"]) == found.best_epoch_ + 4
    same_scores(clone(found).set_params(epochs=found.best_epoch_).fit(DATA.X, Y), found)
    whole = clone(found).set_params(epochs=9, early_stopping_rounds=None).fit(DATA.X, Y)
    assert whole.n_epochs_ == 9


def test_early_stopping_without_validation_warns():
    with pytest.warns(UserWarning, match="eval_metric and early_stopping_rounds of NeuralRanker"):
        ranker(epochs=1, eval_metric="gap", early_stopping_rounds=3).fit(DATA.X, Y)


def test_early_stopping_follows_metrics_that_are_better_when_lower():
    found = ranker(epochs=8, eval_metric="error@3", objective=skrank.Softmax())
    found.fit(DATA.X[PART], Y[PART], **VALID)
    values = found.evals_result_["validation"]["error@3"]
    assert found.best_epoch_ == int(np.argmin(values)) + 1


def test_skorch_continues_the_training():
    half = ranker(epochs=4).fit(DATA.X, Y)
    again = pickle.loads(pickle.dumps(half))
    data = QueryDataset(half.scaler_.transform(DATA.X), DATA.relevance, DATA.qid)
    again.net_.set_params(max_epochs=2).partial_fit(data)
    steps = [one.net_.optimizer_.state_dict()["state"][0]["step"] for one in (half, again)]
    assert steps[1] == steps[0] * 1.5
    assert not np.array_equal(again.predict(DATA.X), half.predict(DATA.X))


def test_callbacks_of_skorch(tmp_path):
    saved = Checkpoint(monitor=None, dirname=tmp_path, sink=print)
    callbacks = [saved, ("halved", LRScheduler("StepLR", step_size=1, gamma=0.1))]
    changes = {"callbacks__halved__gamma": 0.5, "callbacks__print_log": None, "verbose": 1}
    found = ranker(epochs=3, net_params={"callbacks": callbacks} | changes).fit(DATA.X, Y)
    assert (tmp_path / "params.pt").exists()
    assert "print_log" not in dict(found.net_.callbacks_)
    np.testing.assert_allclose(found.net_.history[:, "event_lr"], [0.02, 0.01, 0.005])


def test_a_fit_that_is_refused_changes_nothing(monkeypatch):
    names = pd.DataFrame(DATA.X, columns=list("abcdef"))
    found = ranker(epochs=2, module=Failing).fit(names, Y)
    before = found.predict(names)
    fail(monkeypatch, ValueError("not in the second epoch"), batches=3)
    with pytest.raises(ValueError, match="not in the second epoch"):
        found.fit(DATA.X[:, :3], Y + 1)
    assert found.feature_names_in_.tolist() == list("abcdef")
    assert (found.n_features_in_, found.n_epochs_, found.max_grade_) == (6, 2, 4)
    np.testing.assert_array_equal(found.predict(names), before)


@pytest.mark.parametrize("more", [{}, VALID])
def test_an_interrupt_ends_the_training_after_a_whole_epoch(more, monkeypatch):
    fail(monkeypatch, KeyboardInterrupt, batches=5)  # in the third epoch
    found = ranker(module=Failing).fit(DATA.X, Y, **more)
    assert found.predict(DATA.X).shape == (len(Y),)


def test_features_beyond_single_precision_are_refused():
    found = ranker(epochs=1).fit(DATA.X, Y)
    far = DATA.X.copy()
    far[7, 2] = 1e200
    for call in (found.predict, lambda X: ranker(standardize=False).fit(csr_matrix(X), Y)):
        with pytest.raises(ValueError, match=r"feature 2 of row 7 of X is 1e\+200"):
            call(far)
    module = torch.nn.Linear(6, 1)
    torch.nn.init.ones_(module.weight)
    sums = ranker(epochs=1, module=module, standardize=False).fit(DATA.X, Y)
    with pytest.raises(ValueError, match="row 0 of X"):
        sums.predict(np.full_like(DATA.X, 1e38))


def test_networks():
    none = ranker(epochs=1, hidden=()).fit(DATA.X, Y)
    assert len(list(none.module_.parameters())) == 2
    given = torch.nn.Linear(6, 1)
    before = given.weight.detach().clone()
    found = ranker(module=given, standardize=False).fit(DATA.X, Y)
    assert torch.equal(given.weight, before)
    assert isinstance(found.module_, torch.nn.Linear)
    made = ranker(module=lambda n_features: torch.nn.Linear(n_features, 1))
    assert made.fit(DATA.X, Y).predict(DATA.X).shape == (len(Y),)


STEPS = LRScheduler("StepLR", step_size=1)


@pytest.mark.parametrize(
    ("net_params", "named"),
    [
        ([1], "net_params"),
        ({1: 2}, "net_params"),
        ({"batchsize": 2}, "net_params.*batchsize"),
        ({"callbacks": "disable"}, "callbacks='disable'.*list.*print_log"),
        ({"callbacks": STEPS}, "callbacks.*list"),
        ({"callbacks": ("steps", STEPS)}, "callbacks.*list"),
        ({"callbacks": [("steps", 3)]}, "callbacks.*list"),
        ({"callbacks": [("progress", STEPS)]}, "net_params.*'progress'"),
        ({"callbacks__progress": None}, "callbacks__progress.*progress"),
        ({"callbacks__validation__metrics": {}}, "callbacks__validation__metrics.*eval_metric"),
        ({"callbacks__early_stopping": None}, "early_stopping_rounds"),
        ({"criterion": torch.nn.MSELoss}, "objective"),
        ({"criterion__path": "native"}, "criterion__path.*objective"),
        ({"dataset": QueryDataset}, "dataset.*fit"),
        ({"dataset__length": 3}, "dataset__length.*fit"),
        ({"draws": None}, "random_state"),
        ({"lr": 0.1}, "learning_rate"),
        ({"optimizer__lr": 0.1}, "optimizer__lr.*learning_rate"),
        ({"max_epochs": 3}, "epochs"),
        ({"train_split": None}, "validation_fraction"),
        ({"warm_start": True}, "warm_start.*partial_fit"),
        ({"module": torch.nn.Linear(6, 2)}, "scores"),
        ({"module": torch.nn.Linear(6, 1), "module__bias": False}, "module__bias.*function"),
        ({"module": "linear"}, "net_params.*module='linear'"),
        ({"module__depth": 2}, "net_params.*depth"),
        ({"module__hidden": (2,)}, "net_params.*hidden"),
        ({"module__dropout": 1.5}, "dropout .* got 1.5"),
        ({"module__dropout": -0.5}, "dropout .* got -0.5"),
        ({"optimizer__speed": 2}, "net_params.*speed"),
    ],
)
def test_arguments_of_skorch_that_have_no_effect_are_refused(net_params, named):
    with pytest.raises((ValueError, TypeError), match=named):
        ranker(net_params=net_params).fit(DATA.X, Y, **VALID)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"objective": "gpa"}, "did you mean 'gap'"),
        ({"epochs": 0}, "epochs=0"),
        ({"options": {"standardise": True}}, "standardise.*standardize"),
        (VALID | {"validation_fraction": 0.2}, "X_val and validation_fraction"),
        ({"X_val": DATA.X[:, :3], "y_val": Y}, "X has 3 features"),
        ({"sample_weight": np.where(DATA.qid == 3, 1e16, 1)}, r"query 3 is 1e\+16"),
        ({"X": np.where(DATA.X > 2, np.nan, DATA.X)}, "contains NaN"),
    ],
)
def test_bad_options_and_data_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        fit_with(ranker(), DATA.X, Y, changes)
