"""NeuralRanker in the tools of scikit-learn."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

torch = pytest.importorskip("torch", reason="torch is not installed: pip install skrank[torch]")

import skrank  # noqa: E402
from skrank.datasets import make_ranking  # noqa: E402
from skrank.torch import NeuralRanker  # noqa: E402

DATA = make_ranking(n_queries=30, n_docs=(5, 20), n_features=6, n_informative=4, random_state=0)
Y = skrank.with_groups(DATA.relevance, DATA.qid)
SMALL = {"hidden": (6,), "epochs": 6, "learning_rate": 0.02, "random_state": 0}


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def ranker(**more):
    return NeuralRanker("gap", **(SMALL | more))


def test_it_learns_and_repeats_itself():
    first = ranker(epochs=15).fit(DATA.X, Y)
    assert first.score(DATA.X, Y) > 0.7
    again = clone(first).fit(DATA.X, Y)
    np.testing.assert_array_equal(first.predict(DATA.X), again.predict(DATA.X))
    other = ranker(epochs=15, random_state=1).fit(DATA.X, Y)
    assert not np.array_equal(first.predict(DATA.X), other.predict(DATA.X))
    kept = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(first.predict(DATA.X), kept.predict(DATA.X))
    assert first.n_epochs_ == first.best_epoch_ == 15
    assert first.evals_result_ == {}
    assert first.max_grade_ == 4


def test_training_leaves_the_generator_of_the_caller_alone():
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
        # sums in another order differ in the last digits, which Adam makes much of
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
    same = clone(found).set_params(epochs=found.best_epoch_).fit(DATA.X, Y)
    np.testing.assert_array_equal(same.predict(DATA.X), found.predict(DATA.X))
    whole = clone(found).set_params(epochs=9, early_stopping_rounds=None).fit(DATA.X, Y)
    assert whole.n_epochs_ == 9


def test_early_stopping_follows_metrics_that_are_better_when_lower():
    part = DATA.qid < 20
    options = {"objective": skrank.Softmax(), "eval_metric": "error@3", "epochs": 8}
    found = NeuralRanker(**(SMALL | options))
    found.fit(DATA.X[part], Y[part], X_val=DATA.X[~part], y_val=Y[~part])
    values = found.evals_result_["validation"]["error@3"]
    assert found.best_epoch_ == int(np.argmin(values)) + 1


def test_training_is_taken_up_where_it_stopped():
    more = {"dropout": 0.3, "validation_fraction": 0.3, "early_stopping_rounds": None}
    whole = ranker(**more).fit(DATA.X, Y)
    half = ranker(**more, warm_start=True).set_params(epochs=2).fit(DATA.X, Y)
    half = pickle.loads(pickle.dumps(half)).set_params(epochs=4).fit(DATA.X, Y)
    assert half.n_epochs_ == 6
    assert half.evals_result_ == whole.evals_result_
    np.testing.assert_array_equal(half.predict(DATA.X), whole.predict(DATA.X))


def test_an_interrupted_training_can_be_taken_up(monkeypatch):
    import skrank.torch._training as training

    whole = ranker().fit(DATA.X, Y)
    found, show = ranker(warm_start=True, progress=True), training.NeuralTraining._show

    def interrupt(self, state, last):
        if state.epoch == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(training.NeuralTraining, "_show", interrupt)
    with pytest.raises(KeyboardInterrupt):
        found.fit(DATA.X, Y)
    monkeypatch.setattr(training.NeuralTraining, "_show", show)
    found.set_params(epochs=2).fit(DATA.X, Y)
    np.testing.assert_array_equal(found.predict(DATA.X), whole.predict(DATA.X))


def test_progress_is_shown(capsys):
    ranker(epochs=2, progress=True, validation_fraction=0.3).fit(DATA.X, Y)
    shown = capsys.readouterr().err
    assert "epoch 2/2  gap 0." in shown
    assert "(best 0." in shown


def test_networks_of_the_caller():
    given = torch.nn.Linear(6, 1)
    before = given.weight.detach().clone()
    found = ranker(module=given, standardize=False).fit(DATA.X, Y)
    assert torch.equal(given.weight, before)
    assert isinstance(found.module_, torch.nn.Linear)
    made = ranker(module=lambda n_features: torch.nn.Linear(n_features, 1))
    assert made.fit(DATA.X, Y).predict(DATA.X).shape == (len(Y),)


def test_a_search_over_queries():
    search = GridSearchCV(
        ranker(validation_fraction=0.2, epochs=3),
        {"hidden": [(4,), (8, 4)], "objective": ["gap", skrank.SoftRank("ndcg")]},
        scoring=skrank.scorer("ndcg@5"),
        cv=skrank.QueryKFold(3),
    ).fit(DATA.X, Y)
    again = clone(search).fit(DATA.X, Y)
    assert search.cv_results_["mean_test_score"].tolist() == (
        again.cv_results_["mean_test_score"].tolist()
    )
    assert (search.cv_results_["mean_test_score"] > 0.3).all()


def test_constant_features_are_left_out():
    X = np.column_stack([DATA.X, np.full(len(Y), 0.1)])
    found = ranker(epochs=2).fit(X, Y)
    moved = X.copy()
    moved[:, -1] = 1e6
    np.testing.assert_allclose(found.predict(moved), found.predict(X), atol=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs=0 must be at least 1"),
        ({"hidden": (0,)}, "each of hidden=0 must be at least 1"),
        ({"dropout": 1.0}, "dropout=1.0 must be below 1"),
        ({"learning_rate": 0}, "learning_rate=0 must be a number"),
        ({"validation_fraction": 1.5}, "validation_fraction=1.5"),
        ({"objective": "gpa"}, "did you mean 'gap'"),
    ],
)
def test_bad_options_are_refused(options, message):
    found = NeuralRanker(**(SMALL | options))
    with pytest.raises(ValueError, match=message):
        found.fit(DATA.X, Y)


def test_bad_data_are_refused():
    with pytest.raises(ValueError, match=r"NeuralRanker\.fit needs the query of each row"):
        ranker().fit(DATA.X, DATA.relevance)
    with pytest.raises(ValueError, match="there are X_val and validation_fraction"):
        ranker(validation_fraction=0.2).fit(DATA.X, Y, X_val=DATA.X, y_val=Y)
    with pytest.raises(ValueError, match="X_val and y_val belong together"):
        ranker().fit(DATA.X, Y, X_val=DATA.X)
    with pytest.raises(ValueError, match="contains NaN"):
        ranker().fit(np.where(DATA.X > 2, np.nan, DATA.X), Y)
    found = ranker(epochs=1).fit(DATA.X, Y)
    with pytest.raises(ValueError, match="features"):
        found.predict(DATA.X[:, :3])


def test_rows_are_not_matched_by_index():
    X, y = pd.DataFrame(DATA.X), pd.Series(DATA.relevance)
    late = y.iloc[::-1]
    with pytest.raises(ValueError, match="indexes of X and y hold the same labels in another"):
        ranker().fit(X, late, groups=DATA.qid)
    with pytest.raises(ValueError, match="indexes of X_val and y_val hold the same labels"):
        ranker().fit(X, y, groups=DATA.qid, X_val=X, y_val=late, groups_val=DATA.qid)
