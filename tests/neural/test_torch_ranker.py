"""NeuralRanker: training, early stopping, warm starts, and the tools of scikit-learn."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone

torch = pytest.importorskip("torch", reason="torch is not installed: pip install skrank[torch]")

import skrank  # noqa: E402
from skrank.datasets import make_ranking  # noqa: E402
from skrank.torch import NeuralRanker  # noqa: E402
from tests.helpers.rankers import fit_with  # noqa: E402

DATA = make_ranking(n_queries=30, n_docs=(5, 20), n_features=6, n_informative=4, random_state=0)
Y = skrank.with_groups(DATA.relevance, DATA.qid)


def ranker(**more):
    """A small network that trains on GAP."""
    small = {"hidden": (6,), "epochs": 6, "learning_rate": 0.02, "random_state": 0}
    return NeuralRanker(**{"objective": "gap"} | small | more)


class Failing(torch.nn.Linear):
    """A linear network whose training raises the errors of a test, one item for each batch."""

    errors = iter(())

    def __init__(self, n_features):
        super().__init__(n_features, 1)

    def forward(self, X):
        if self.training and (error := next(self.errors, None)):
            raise error
        return super().forward(X)


def fail(monkeypatch, error, batches):
    """Let the training of `Failing` raise an error after some batches."""
    monkeypatch.setattr(Failing, "errors", iter([*[None] * batches, error]))


def same_scores(one, other):
    np.testing.assert_array_equal(one.predict(DATA.X), other.predict(DATA.X))


def test_training_learns_and_is_reproducible():
    first = ranker(epochs=15).fit(DATA.X, Y)
    assert first.score(DATA.X, Y) > 0.7
    other = ranker(epochs=15, random_state=1).fit(DATA.X, Y)
    assert not np.array_equal(first.predict(DATA.X), other.predict(DATA.X))
    assert first.n_epochs_ == first.best_epoch_ == 15
    assert first.evals_result_ == {}
    assert first.max_grade_ == 4


def test_training_does_not_change_the_generator_of_torch():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    ranker(epochs=2, dropout=0.5).fit(DATA.X, Y)
    assert torch.equal(torch.rand(3), expected)


def test_rows_may_come_in_any_order_and_sparse():
    order = np.random.default_rng(0).permutation(len(Y))
    plain = ranker(epochs=3).fit(DATA.X, Y).predict(DATA.X)
    for X in (DATA.X[order], csr_matrix(DATA.X[order])):
        mixed = ranker(epochs=3).fit(X, Y.iloc[order])
        # sums in another order differ in the last digits; Adam amplifies the differences
        assert np.corrcoef(mixed.predict(DATA.X), plain)[0, 1] > 0.999


def test_early_stopping_restores_the_best_epoch():
    found = ranker(
        epochs=40, learning_rate=0.2, validation_fraction=0.3, early_stopping_rounds=4,
        eval_metric=["ndcg@5", "gap"],
    ).fit(DATA.X, Y)  # fmt: skip
    values = found.evals_result_["validation"]
    assert list(values) == ["ndcg@5", "gap"]
    assert found.best_epoch_ == int(np.argmax(values["ndcg@5"])) + 1
    assert found.n_epochs_ == len(values["gap"]) == found.best_epoch_ + 4
    same_scores(clone(found).set_params(epochs=found.best_epoch_).fit(DATA.X, Y), found)
    whole = clone(found).set_params(epochs=9, early_stopping_rounds=None).fit(DATA.X, Y)
    assert whole.n_epochs_ == 9


def test_early_stopping_follows_metrics_that_are_better_when_lower():
    found = ranker(epochs=8, eval_metric="error@3", objective=skrank.Softmax())
    found.fit(DATA.X[PART], Y[PART], **VALID)
    values = found.evals_result_["validation"]["error@3"]
    assert found.best_epoch_ == int(np.argmin(values)) + 1


def test_warm_start_continues_the_training():
    more = {"dropout": 0.3, "validation_fraction": 0.3, "early_stopping_rounds": None}
    whole = ranker(**more).fit(DATA.X, Y)
    half = ranker(**more, warm_start=True).set_params(epochs=2).fit(DATA.X, Y)
    half = pickle.loads(pickle.dumps(half)).set_params(epochs=4).fit(DATA.X, Y)
    assert half.n_epochs_ == 6
    assert half.evals_result_ == whole.evals_result_
    same_scores(half, whole)


# warm starts with other data or parameters
# ------------------------------------------------------------------------------------------------

PART = DATA.qid < 20
VALID = {"X_val": DATA.X[~PART], "y_val": Y[~PART]}
WORSE = VALID | {"y_val": 4 - Y[~PART]}  # reversed labels, so that training stops early
FAST = {"epochs": 6, "learning_rate": 0.3}


def test_without_validation_the_last_weights_stay():
    found = ranker(**FAST, warm_start=True).fit(DATA.X[PART], Y[PART], **WORSE)
    assert found.best_epoch_ < 6
    found.fit(DATA.X[PART], Y[PART])
    assert found.n_epochs_ == found.best_epoch_ == 12
    same_scores(found, ranker(**(FAST | {"epochs": 12})).fit(DATA.X[PART], Y[PART]))
    values = found.evals_result_["validation"]["gap"]
    assert np.isnan(values).tolist() == [False] * 6 + [True] * 6
    found.fit(DATA.X[PART], Y[PART], **WORSE)
    assert np.isnan(found.evals_result_["validation"]["gap"]).sum() == 6
    assert found.best_epoch_ > 12


def test_the_best_epoch_depends_on_the_validation_rows_of_the_last_fit():
    """The best weights of the first fit are evaluated on the validation rows of the second."""
    first = ranker(**FAST, warm_start=True).fit(DATA.X[PART], Y[PART], **VALID)
    half = DATA.qid < 25
    other = {"X_val": DATA.X[half & ~PART], "y_val": Y[half & ~PART]}
    before = skrank.scorer("ndcg@5")(first, other["X_val"], other["y_val"])
    best = first.best_epoch_
    first.set_params(eval_metric="ndcg@5").fit(DATA.X[PART], Y[PART], **other)
    values = first.evals_result_["validation"]
    assert len(values["gap"]) == len(values["ndcg@5"]) == first.n_epochs_ == 12
    assert np.isnan(values["gap"][6:]).all()
    assert np.isnan(values["ndcg@5"][:6]).all()
    measured = {best: before} | {6 + i: value for i, value in enumerate(values["ndcg@5"][6:], 1)}
    assert measured[first.best_epoch_] == pytest.approx(max(measured.values()))
    served = skrank.scorer("ndcg@5")(first, other["X_val"], other["y_val"])
    assert served == pytest.approx(max(measured.values()))


def test_patience_starts_again_after_early_stopping():
    more = {"epochs": 40, "early_stopping_rounds": 3}
    found = ranker(**more, warm_start=True).fit(DATA.X[PART], Y[PART], **WORSE)
    stopped = found.n_epochs_
    assert stopped < 40
    found.fit(DATA.X[PART], Y[PART], **WORSE)
    assert found.n_epochs_ >= stopped + 3
    assert len(found.evals_result_["validation"]["gap"]) == found.n_epochs_
    # fits of one epoch do not restart patience
    slow = ranker(**more, warm_start=True).set_params(epochs=stopped)
    slow.fit(DATA.X[PART], Y[PART], **WORSE).set_params(epochs=1)
    for _ in range(found.n_epochs_ - stopped):
        slow.fit(DATA.X[PART], Y[PART], **WORSE)
    assert slow.evals_result_ == found.evals_result_
    assert slow.best_epoch_ == found.best_epoch_
    same_scores(slow, found)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"hidden": (8,)}, r"hidden=\(8,\) was \(6,\) in the first fit, which warm_start=True"),
        ({"dropout": 0.5}, "dropout=0.5 was 0.0 in the first fit"),
        ({"standardize": False}, "standardize=False was True in the first fit"),
        ({"random_state": None}, "random_state=None was 0 in the first fit"),
        ({"module": torch.nn.Linear(6, 1)}, "module=Linear.* was None in the first fit"),
    ],
)
def test_warm_start_refuses_another_network(changed, message):
    found = ranker(epochs=1, warm_start=True).fit(DATA.X, Y)
    before = found.predict(DATA.X)
    with pytest.raises(ValueError, match=message):
        found.set_params(**changed).fit(DATA.X, Y)
    np.testing.assert_array_equal(found.predict(DATA.X), before)
    found.set_params(warm_start=False).fit(DATA.X, Y)
    assert found.n_epochs_ == 1
    pickle.loads(pickle.dumps(found)).set_params(warm_start=True).fit(DATA.X, Y)


def test_other_parameters_may_change_in_a_warm_start():
    before = ranker(epochs=2, warm_start=True).fit(DATA.X, Y)
    slow, decayed, plain, other = (pickle.loads(pickle.dumps(before)) for _ in range(4))
    same_scores(slow.set_params(learning_rate=1e-30).fit(DATA.X, Y), before)
    decayed.set_params(weight_decay=100.0).fit(DATA.X, Y)
    assert np.ptp(decayed.predict(DATA.X)) < np.ptp(plain.fit(DATA.X, Y).predict(DATA.X))
    other.set_params(
        objective=skrank.Softmax(), batch_queries=3, epochs=3, hidden=[6],
        validation_fraction=0.3, device=torch.device("cpu"),
    ).fit(DATA.X, Y)  # fmt: skip
    assert other.n_epochs_ == 5


@pytest.mark.parametrize("warm", [False, True])
def test_a_fit_that_is_refused_changes_nothing(warm, monkeypatch):
    names = pd.DataFrame(DATA.X, columns=list("abcdef"))
    found = ranker(epochs=2, warm_start=warm, module=Failing).fit(names, Y)
    before = found.predict(names)
    X = names if warm else DATA.X[:, :3]  # a warm fit needs the same features
    fail(monkeypatch, ValueError("not in the second epoch"), batches=3)
    with pytest.raises(ValueError, match="not in the second epoch"):
        found.fit(X, Y + 1)
    assert found.feature_names_in_.tolist() == list("abcdef")
    assert found.n_features_in_ == 6
    assert found.n_epochs_ == 2
    assert found.max_grade_ == 4
    np.testing.assert_array_equal(found.predict(names), before)
    again = ranker(epochs=4 if warm else 2, module=Failing).fit(names, Y).predict(names)
    np.testing.assert_array_equal(found.fit(names, Y).predict(names), again)


@pytest.mark.parametrize("done", [2, 0])
def test_a_warm_start_continues_an_interrupted_training(done, monkeypatch):
    """Ctrl-C in the second batch of the third epoch, and of the first one."""
    found = ranker(warm_start=True, module=Failing)
    fail(monkeypatch, KeyboardInterrupt, batches=2 * done + 1)
    with pytest.raises(KeyboardInterrupt):
        found.fit(DATA.X, Y)
    assert found.n_epochs_ == found.best_epoch_ == done
    assert found.predict(DATA.X).shape == (len(Y),)
    whole = ranker(module=Failing).fit(DATA.X, Y)
    same_scores(found.set_params(epochs=6 - done).fit(DATA.X, Y), whole)


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_features_are_standardized_in_double_precision(kind):
    X = np.round(DATA.X * 2**10) / 2**10  # exact in all that follows
    plain = ranker(epochs=2).fit(kind(X), Y).predict(kind(X))
    for scale in (2.0**600, 2.0**-600):
        found = ranker(epochs=2).fit(kind(X * scale), Y).predict(kind(X * scale))
        np.testing.assert_array_equal(found, plain)
    for moved in (X + 2.0**30, (X * 2**10).astype(np.int64) + 2**40):
        found = ranker(epochs=2).fit(kind(moved), Y).predict(kind(moved))
        # means differ in the last digits; Adam amplifies the differences
        assert np.corrcoef(found, plain)[0, 1] > 0.999


def test_duplicate_entries_of_sparse_matrices_are_added():
    once = csr_matrix(DATA.X)
    data = np.repeat(once.data / 2, 2), np.repeat(once.indices, 2), 2 * once.indptr
    twice = csr_matrix(data, once.shape)
    plain, found = (ranker(epochs=1).fit(X, Y) for X in (once, twice))
    np.testing.assert_allclose(found.predict(twice), plain.predict(DATA.X), rtol=1e-5)
    assert twice.nnz == 2 * DATA.X.size


def test_features_beyond_single_precision_are_refused():
    found = ranker(epochs=1).fit(DATA.X, Y)
    far = DATA.X.copy()
    far[7, 2] = 1e200
    for X in (far, csr_matrix(far)):
        with pytest.raises(ValueError, match=r"feature 2 of row 7 of X is 1e\+200, too far"):
            found.predict(X)
        with pytest.raises(ValueError, match=r"feature 2 of row 7 of X is 1e\+200, .* up to 3\.4"):
            ranker(standardize=False).fit(X, Y)
    module = torch.nn.Linear(6, 1)
    torch.nn.init.ones_(module.weight)
    sums = ranker(epochs=1, module=module, standardize=False).fit(DATA.X, Y)
    with pytest.raises(ValueError, match="the network gives row 0 of X the score inf"):
        sums.predict(np.full_like(DATA.X, 1e38))
    far[7, 2] = -1e301
    with pytest.raises(ValueError, match=r"feature 2 of row 7 of X is -1e\+301, .* up to 1e\+300"):
        ranker().fit(far, Y)


def test_labels_between_grades_are_not_rounded():
    """0.7 rounds down in single precision, below the threshold ``rel=0.7``."""
    y = skrank.with_groups(np.where(DATA.relevance > 0, 0.7, 0.0), DATA.qid)
    names = "ap(rel=0.7)", "ap(rel=0.5)"
    same_scores(*(ranker(epochs=2, objective=one).fit(DATA.X, y) for one in names))


def test_a_saved_network_standardizes_as_before():
    found, other = ranker(epochs=2).fit(DATA.X, Y), ranker(epochs=1).fit(DATA.X + 5, Y)
    other.module_.load_state_dict(found.module_.state_dict())
    same_scores(other, found)
    X = torch.tensor(DATA.X, dtype=torch.float32)
    scores = found.module_(X)[:, 0].detach().numpy()
    np.testing.assert_allclose(scores, found.predict(DATA.X), rtol=1e-4, atol=1e-5)


def test_progress_is_shown(capsys):
    ranker(epochs=2, progress=True, validation_fraction=0.3).fit(DATA.X, Y)
    shown = capsys.readouterr().err
    assert "epoch 2/2  gap 0." in shown
    assert "(best 0." in shown


def test_the_scale_of_weights_does_not_matter():
    weights = 1.0 + DATA.qid % 3
    plain = ranker(epochs=2).fit(DATA.X, Y, sample_weight=weights).predict(DATA.X)
    for scale in (2.0**-1000, 2.0**45):
        found = ranker(epochs=2).fit(DATA.X, Y, sample_weight=weights * scale).predict(DATA.X)
        np.testing.assert_array_equal(found, plain)


def test_networks():
    same_scores(*(ranker(epochs=1, hidden=hidden).fit(DATA.X, Y) for hidden in (6, (6,))))
    none = ranker(epochs=1, hidden=()).fit(DATA.X, Y)
    assert len(list(none.module_.parameters())) == 2
    given = torch.nn.Linear(6, 1)
    before = given.weight.detach().clone()
    found = ranker(module=given, standardize=False).fit(DATA.X, Y)
    assert torch.equal(given.weight, before)
    assert isinstance(found.module_, torch.nn.Linear)
    made = ranker(module=lambda n_features: torch.nn.Linear(n_features, 1))
    assert made.fit(DATA.X, Y).predict(DATA.X).shape == (len(Y),)


def test_constant_features_are_left_out():
    X, moved = (np.column_stack([DATA.X, np.full(len(Y), value)]) for value in (0.1, 1e6))
    found = ranker(epochs=2).fit(X, Y)
    np.testing.assert_allclose(found.predict(moved), found.predict(X), atol=1e-6)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"objective": "gpa"}, "did you mean 'gap'"),
        ({"hidden": (0,)}, "each of hidden=0 must be at least 1"),
        ({"hidden": None}, "hidden=None must be the width of the hidden layer, or a sequence"),
        ({"hidden": (8.5,)}, "each of hidden=8.5 must be an integer"),
        ({"module": 3}, "module=3 must be a torch.nn.Module, or a function"),
        ({"module": lambda n: None}, "module returns a NoneType: it must return"),
        ({"module": torch.nn.Linear(6, 2)}, r"module returns \(.*, 2\) for .* rows: it must"),
        ({"epochs": 0}, "epochs=0 must be at least 1"),
        ({"learning_rate": 0}, "learning_rate=0 must be a number"),
        ({"weight_decay": None}, "weight_decay=None must be a number"),
        ({"dropout": 1.0}, "dropout=1.0 must be below 1"),
        ({"batch_queries": None}, "batch_queries=None must be an integer"),
        ({"standardize": "no"}, "standardize='no' must be True or False"),
        ({"warm_start": None}, "warm_start=None must be True or False"),
        ({"eval_metric": 3, "validation_fraction": 0.2}, "eval_metric: metrics=3 must be"),
        ({"validation_fraction": 1.5}, "validation_fraction=1.5"),
        ({"early_stopping_rounds": 0}, "early_stopping_rounds=0 must be at least 1"),
        ({"max_queries": 0}, "max_queries=0 must be at least 1"),
        ({"scoring": "dcgn"}, "scoring: unknown metric 'dcgn'"),
        ({"device": "gpu"}, "device='gpu' cannot be used: "),
        ({"random_state": "a"}, "random_state='a' is not a seed"),
        # data
        ({"y": DATA.relevance}, r"NeuralRanker\.fit needs the query of each row"),
        ({"X_val": DATA.X}, "X_val and y_val belong together"),
        ({"groups_val": DATA.qid}, "groups_val is the query of each row of X_val"),
        (VALID | {"validation_fraction": 0.2}, "X_val and validation_fraction are both given"),
        ({"y": Y[:3]}, "Found input variables with inconsistent"),
        ({"X_val": DATA.X, "y_val": Y[:3]}, "Found input variables with inconsistent"),
        ({"X_val": DATA.X[:, :3], "y_val": Y}, "X: X has 3 features"),
        ({"sample_weight": np.where(DATA.qid == 3, np.nan, 1)}, "weight of query 3 is nan"),
        ({"sample_weight": np.where(DATA.qid == 3, 1e16, 1)}, r"query 3 is 1e\+16: .* than 1e\+15"),
        ({"X": np.where(DATA.X > 2, np.nan, DATA.X)}, "contains NaN"),
        (
            {"X": pd.DataFrame(DATA.X), "y": pd.Series(DATA.relevance)[::-1], "groups": DATA.qid},
            "indexes of X and y hold the",
        ),
    ],
)
def test_bad_options_and_data_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        fit_with(ranker(), DATA.X, Y, changes)


@pytest.mark.parametrize(("limit", "threads"), [(100, {1}), (6, {2})])
def test_small_networks_are_trained_with_one_thread(limit, threads, monkeypatch):
    """A Linear layer of 6 features has 7 parameters."""
    monkeypatch.setattr("skrank.torch._training._SMALL", limit)
    module, found = torch.nn.Linear(6, 1), set()
    module.register_forward_hook(lambda *_: found.add(torch.get_num_threads()))
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        ranker(module=lambda n_features: module).fit(DATA.X, Y)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert found == threads
