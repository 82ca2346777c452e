"""Campaigns that are saved, loaded and continued; invalid files raise errors that name the file."""

import errno
import io
import json
import os
import pickle
import re
import tracemalloc

import numpy as np
import pytest

import skrank
from skrank.active import ActiveComparator, ActiveEvaluator
from tests.helpers.campaigns import answer, both, data, evaluator, run


@pytest.fixture
def saved(tmp_path):
    """A file of a campaign with three labelled queries."""
    campaign = evaluator(budget=100)
    answer(campaign, campaign.ask(4)[:3])
    path = tmp_path / "campaign.npz"
    campaign.save(path)
    return path


def contents(path):
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def refusal(path):
    """Message of the error that refuses a file, which must name the path."""
    with pytest.raises(ValueError, match=re.escape(str(path))) as error:
        ActiveEvaluator.load(path)
    return str(error.value)


@pytest.mark.parametrize("ids", ["int", "str"])
@both
def test_an_interrupted_campaign_continues_bit_for_bit(make, ids, tmp_path, monkeypatch):
    options = {"budget": 230.0, "random_state": 5}
    if ids == "str":
        options["items"] = np.array([f"doc {i}" for i in range(len(data.qid))])
        monkeypatch.setitem(data, "qid", np.array([f"q{q}" for q in data.qid], dtype=object))
    straight, campaign = make(**options), make(**options)
    expected, step = run(straight), 0
    while requests := campaign.ask(2):
        now = requests.pop(step % len(requests))  # the other requests keep waiting
        answer(campaign, [now])
        campaign.save(tmp_path / "campaign.npz")
        campaign = type(campaign).load(tmp_path / "campaign.npz")
        assert [r.query for r in campaign.waiting] == [r.query for r in requests]
        step += 1
    assert campaign.estimate() == expected
    assert campaign.sampling.equals(straight.sampling)
    assert campaign.moments.method == straight.moments.method
    assert [f.name for f in tmp_path.iterdir()] == ["campaign.npz"]


@pytest.mark.parametrize("budget", [None, np.inf])
def test_a_campaign_without_a_limit_is_loaded(budget, tmp_path):
    evaluator(budget=budget).save(tmp_path / "c.npz")
    assert ActiveEvaluator.load(tmp_path / "c.npz").budget == budget


# invalid files


def test_a_file_of_the_other_class_and_a_missing_file_are_refused(saved):
    with pytest.raises(ValueError, match=r"holds an ActiveEvaluator: use ActiveEvaluator\.load"):
        ActiveComparator.load(saved)
    with pytest.raises(FileNotFoundError):
        ActiveEvaluator.load(saved.with_name("nowhere.npz"))


class Pickled:
    """An object that fails the test if it is unpickled."""

    def __reduce__(self):
        return pytest.fail, ("a pickle was read",)


def archive(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


FOREIGN = {
    "text": b"hello",
    "nothing": b"",
    "other arrays": archive(a=np.arange(3)),
    "objects": archive(a=np.array([Pickled()])),
    "a pickle": pickle.dumps(Pickled()),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_foreign_files_are_refused(saved, kind):
    saved.write_bytes(FOREIGN[kind])
    assert "campaign" in refusal(saved)


def test_a_small_file_of_large_arrays_is_not_read(saved):
    np.savez_compressed(saved, a=np.zeros(2**28, np.uint8))
    tracemalloc.start()
    assert "campaign" in refusal(saved)
    assert tracemalloc.get_traced_memory()[1] < 2**24
    tracemalloc.stop()


def save_changed(path, arrays, **facts):
    """Write arrays, with some other facts."""
    facts = np.array(json.dumps(json.loads(str(arrays["facts"])) | facts))
    np.savez(path, **(arrays | {"facts": facts}))


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        ({"format": "skrank campaign 1"}, "skrank campaign 1"),
        ({"metric": "mine"}, "'mine'"),
        ({"names": ["a", "b"]}, "names"),
        ({"class": "ActiveComparator"}, "names"),
        ({"n_asked": 61}, "n_asked"),
        ({"n_asked": 1}, "told"),
        ({"n_rows": 10**30}, "n_rows"),
        *(
            ({name: value}, name)
            for name, value in (("seed", -1), ("method", "guess"), ("budget", 0.1))
        ),
    ],
)
def test_facts_that_contradict_the_arrays_are_refused(saved, facts, named):
    save_changed(saved, contents(saved), **facts)
    assert named in refusal(saved)


CHANGES = {
    "indptr": lambda x: np.r_[0, 2**62 + 1, -(2**62) - 2, x[3:]],  # differences overflow
    "rows": lambda x: np.repeat(x[:1], len(x)),
    "q": lambda x: x * 2,
    "costs": lambda x: -x,
    "moments": lambda x: x * np.nan,
    "labels": lambda x: x + 0.5,
    "told": lambda x: x[[0, 0, 0]],
    "scores": lambda x: x * np.nan,
    "grades": lambda x: x[..., ::-1],
    "ids": lambda x: x[..., :-1],
}


@pytest.mark.parametrize("name", CHANGES)
def test_arrays_that_contradict_each_other_are_refused(saved, name):
    """Another value, shape or type, and no array at all."""
    arrays = contents(saved)
    array = arrays.pop(name)
    for wrong in (CHANGES[name](array), np.concatenate([array, array], axis=-1)):
        save_changed(saved, arrays | {name: wrong})
        assert refusal(saved)
    save_changed(saved, arrays)
    assert refusal(saved)


def test_damaged_bytes_are_refused(saved):
    """The error is a ValueError for all errors of zlib, zipfile and NumPy."""
    whole = saved.read_bytes()
    random = np.random.default_rng(0)
    good = ActiveEvaluator.load(saved).estimate()
    for _ in range(300):
        broken = bytearray(whole)
        for position in random.integers(len(whole), size=random.integers(1, 4)):
            broken[position] ^= int(random.integers(1, 256))
        saved.write_bytes(bytes(broken))
        try:
            assert ActiveEvaluator.load(saved).estimate() == good  # bytes that are not read
        except ValueError as error:
            assert str(saved) in str(error)  # noqa: PT017
    for length in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        saved.write_bytes(whole[:length])
        assert refusal(saved)


# saving


def test_a_failed_save_keeps_the_old_file(saved, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOSPC, "disk full")

    before = saved.read_bytes()
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        evaluator(budget=50).save(saved)
    assert saved.read_bytes() == before
    assert list(saved.parent.iterdir()) == [saved]


def test_a_metric_without_a_name_is_not_saved(tmp_path):
    def share(ranked):
        return float((ranked > 0).mean())

    campaign = evaluator(budget=100, metric=skrank.metric_from_function(share, k=3))
    with pytest.raises(ValueError, match="share"):
        campaign.save(tmp_path / "campaign.npz")
    assert not [*tmp_path.iterdir()]
