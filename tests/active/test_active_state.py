"""Campaigns that are saved, loaded and continued."""

import numpy as np
import pytest

from skrank.active import ActiveComparator, ActiveEvaluator
from tests.helpers.campaigns import answer, both, data, evaluator, run


@pytest.mark.parametrize("ids", ["int", "str"])
@both
def test_an_interrupted_campaign_continues_bit_for_bit(make, ids, tmp_path, monkeypatch):
    items = np.array([f"doc {i}" for i in range(len(data.qid))]) if ids == "str" else None
    if ids == "str":
        monkeypatch.setitem(data, "qid", np.array([f"q{q}" for q in data.qid], dtype=object))
    options = {"budget": 230.0, "items": items, "random_state": 5}
    straight = make(**options)
    expected = run(straight)
    campaign = make(**options)
    step = 0
    while (requests := campaign.ask(2)) and step < 1000:
        now = requests[step % len(requests)]  # the other requests keep waiting
        answer(campaign, [now])
        campaign.save(tmp_path / "campaign.npz")
        campaign = type(campaign).load(tmp_path / "campaign.npz")
        left = [r.query for r in requests if r is not now]
        assert [r.query for r in campaign.waiting] == left
        step += 1
    assert campaign.estimate() == expected
    assert campaign.sampling.equals(straight.sampling)
    assert campaign.predicted_cost_ratio == straight.predicted_cost_ratio
    assert campaign.method == straight.method
    assert [f.name for f in tmp_path.iterdir()] == ["campaign.npz"]


def test_files_need_no_pickle_and_other_files_are_refused(tmp_path):
    campaign = evaluator(budget=50)
    path = tmp_path / "c.npz"
    campaign.save(path)
    with np.load(path, allow_pickle=False) as file:
        assert all(file[name].dtype.kind != "O" for name in file.files)
    with pytest.raises(ValueError, match=r"use ActiveEvaluator\.load"):
        ActiveComparator.load(path)
    (tmp_path / "text").write_text("hello")
    np.savez(tmp_path / "other.npz", a=np.arange(3))
    for name in ("text", "other.npz"):
        with pytest.raises(ValueError, match="cannot be read as a campaign"):
            ActiveEvaluator.load(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        ActiveEvaluator.load(tmp_path / "nowhere.npz")


def test_a_failed_save_keeps_the_old_file(tmp_path, monkeypatch):
    campaign = evaluator(budget=50)
    path = tmp_path / "c.npz"
    campaign.save(path)
    before = path.read_bytes()

    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match="disk full"):
        campaign.save(path)
    assert path.read_bytes() == before
    assert [f.name for f in tmp_path.iterdir()] == ["c.npz"]


def test_a_campaign_without_a_limit_is_loaded(tmp_path):
    for budget in (None, np.inf):
        evaluator(budget=budget).save(tmp_path / "c.npz")
        assert ActiveEvaluator.load(tmp_path / "c.npz").budget == budget
