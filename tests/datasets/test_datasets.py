"""make_ranking: documented properties, and equal results from equal seeds."""

import numpy as np
import pytest

from skrank.datasets import make_ranking


def max_grades(data):
    return np.maximum.reduceat(data.relevance, np.flatnonzero(np.diff(data.qid, prepend=-1)))


def test_data_depend_on_the_seed_only():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    first, same, other = (make_ranking(20, random_state=seed) for seed in (3, 3, 4))
    for again in (same, make_ranking(20, random_state=np.random.RandomState(3))):
        for name in ("X", "relevance", "qid"):
            assert first[name].tobytes() == again[name].tobytes()
    assert first.X.tobytes() != other.X.tobytes()
    np.testing.assert_array_equal(before, np.random.get_state()[1])  # noqa: NPY002


@pytest.mark.parametrize(
    ("max_grade", "expected"),
    [
        (1, [0.52, 0.48]),
        (4, [0.52, 0.32, 0.13, 0.02, 0.01]),  # as in MSLR-WEB
        (6, [0.52, 0.32, 0.13, 0.02, 0.005, 0.0025, 0.0025]),
    ],
)
def test_shares_of_grades(max_grade, expected):
    grades = make_ranking(500, max_grade=max_grade, empty_fraction=0, random_state=0).relevance
    shares = np.bincount(grades) / grades.size
    np.testing.assert_allclose(shares, expected, atol=2 / grades.size, rtol=0.01)


@pytest.mark.parametrize("empty_fraction", [0.0, 0.05, 0.5, 1.0])
def test_empty_queries(empty_fraction):
    data = make_ranking(100, n_docs=(30, 60), empty_fraction=empty_fraction, random_state=0)
    assert np.mean(max_grades(data) == 0) == empty_fraction


def test_kinds_of_features():
    data = make_ranking(60, n_features=20, n_informative=8, random_state=0)
    kinds = np.array([name.split("_")[0] for name in data.feature_names])
    counts = {kind: int(np.sum(kinds == kind)) for kind in sorted(set(kinds))}
    assert counts == {"informative": 8, "noise": 4, "noisy": 4, "query": 4}
    first = np.flatnonzero(np.diff(data.qid, prepend=-1))
    constant = (data.X[first][data.qid] == data.X).all(axis=0)
    np.testing.assert_array_equal(constant, kinds == "query")
    assert np.isfinite(data.X).all()
    for n in range(3, 8):
        few = make_ranking(5, n_features=n, n_informative=3, random_state=0)
        assert few.X.shape[1] == len(set(few.feature_names)) == n


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_queries", 0),
        ("n_docs", (9, 3)),
        ("n_informative", 2),
        ("noise", -1),
        ("max_grade", 2000),
    ],
)
def test_bad_parameters(name, value):
    with pytest.raises(ValueError, match=f"{name}="):
        make_ranking(**{name: value})
