"""``skrank active``: start, next, tell, estimate, in CSV and JSON Lines."""

import csv
import io
import json
import subprocess
import sys

import numpy as np
import pytest

from skrank.active import ActiveComparator, Campaign
from skrank.datasets import make_ranking

DATA = make_ranking(25, n_docs=(2, 6), max_grade=2, random_state=0)
SCORES = {"old": DATA.X[:, 0], "new": DATA.X[:, 0] + DATA.X[:, 4:6].sum(axis=1)}
NAMES = [(f"q{q}", f"d{row}") for row, q in enumerate(DATA.qid)]
TRUTH = dict(zip(NAMES, DATA.relevance.tolist(), strict=True))


def pool(form="csv", rankers=("old", "new"), **more):
    rows = [
        {"query": f"q{q}", "item": f"d{row}"}
        | {name: float(SCORES[name][row]) for name in rankers}
        | {name: column[row] for name, column in more.items()}
        for row, q in enumerate(DATA.qid)
    ]
    return table(rows, form)


def table(rows, form):
    if form == "jsonl":
        return "\n".join(map(json.dumps, rows)) + "\n"
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def parsed(text, form):
    if form == "jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def call(call, tmp_path, monkeypatch):
    """Run a command in an empty folder: its status, output and errors."""
    monkeypatch.chdir(tmp_path)

    def on_files(*arguments, files=None):
        for name, text in (files or {}).items():
            (tmp_path / name).write_bytes(text.encode(errors="surrogateescape"))
        return call("active", *arguments)

    return on_files


START = ("start", "c.npz", "pool", "-m", "dcg@3", "--random-state", 1)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_people_label_in_any_tool(call, form):
    status, out, _ = call(*START, "--max-grade", 2, "--budget", 60, files={"pool": pool(form)})
    assert (status, out) == (0, "25 queries, 2 rankers: old, new\n")
    while True:
        _, out, err = call("next", "c.npz", "-n", 3, "--format", form)
        rows = parsed(out, form)
        if not rows:
            assert "nothing is left to label" in err
            break
        for row in rows:
            row["label"] = int(TRUTH[row["query"], row["item"]])
        status, out, _ = call("tell", "c.npz", "labels", files={"labels": table(rows, form)})
        assert status == 0
        assert out.endswith("queries told, 0 wait for labels\n")
    campaign = Campaign.load("c.npz")
    assert isinstance(campaign, ActiveComparator)
    assert campaign.cost <= 60
    _, out, _ = call("estimate", "c.npz", "--format", form)
    rows = parsed(out, form)
    assert [row["of"] for row in rows] == ["old", "new", "old - new"]
    found = campaign.estimate()
    assert float(rows[2]["value"]) == found.value
    assert (float(rows[2]["low"]), float(rows[2]["high"])) == found.interval
    _, out, _ = call("estimate", "c.npz", "--decision", "--format", form, "--anytime")
    assert parsed(out, form)[0]["leader"] == campaign.decision(anytime=True).leader
    _, out, _ = call("estimate", "c.npz", "--progress", "--estimator", "lure", "--format", form)
    assert len(parsed(out, form)) == campaign.estimate(estimator="lure").n_queries


def test_tables_are_read_by_people(call):
    call(*START, "--max-grade", 2, files={"pool": pool(rankers=["old"])})
    rows = parsed(call("next", "c.npz")[1], "csv")
    labels = table([row | {"label": 1} for row in rows], "csv")
    call("tell", "c.npz", "labels", files={"labels": labels})
    out = call("estimate", "c.npz")[1]
    assert out.split()[:2] == ["of", "value"]
    assert "a single draw counts" in out


def test_beliefs_costs_and_labels_that_exist_come_with_the_pool(call):
    chances = {f"p_{grade}": 0.8 * (DATA.relevance == grade) + 0.2 / 3 for grade in range(3)}
    known = [label if q < 5 else "" for q, label in zip(DATA.qid, DATA.relevance, strict=True)]
    text = pool(cost=np.full(len(DATA.qid), 2.5), label=known, **chances)
    assert call(*START, "--max-grade", 4, files={"pool": text})[0] == 0
    campaign = Campaign.load("c.npz")
    sampling = campaign.sampling
    assert (sampling.probability[:5] == 0).all()
    assert (sampling.cost[5:] == 2.5 * sampling["items"][5:]).all()
    assert np.isfinite(campaign.labels).sum() > 0


def test_labels_left_empty_wait_and_wrong_ones_change_nothing(call):
    call(*START, "--max-grade", 2, files={"pool": pool()})
    rows = parsed(call("next", "c.npz", "-n", 2)[1], "csv")
    first = rows[0]["query"]
    half = [row | {"label": 1 if row["query"] == first else ""} for row in rows]
    out = call("tell", "c.npz", "labels", files={"labels": table(half, "csv")})[1]
    assert out == "1 queries told, 1 wait for labels\n"
    before = Campaign.load("c.npz").labels
    rest = [row | {"label": 9} for row in rows if row["query"] != first]
    for wrong, message in (
        (rest, "not one of the grades"),
        (rest[:1] * 2, "occurs twice"),
        ([{"query": "q?", "item": "d0", "label": 1}], "not in the pool"),
        ([rest[0] | {"label": "good"}], "row 1: label='good' is not a number"),
        ([rest[0] | {"item": "d?", "label": 1}], "not one of the items asked"),
        ([row | {"label": 0} for row in rows if row["query"] == first], "--replace"),
    ):
        status, out, err = call("tell", "c.npz", "labels", files={"labels": table(wrong, "csv")})
        assert (status, out) == (1, "")
        assert message in err or "replace=True" in err
    np.testing.assert_array_equal(Campaign.load("c.npz").labels, before)


def test_a_campaign_is_not_overwritten_by_chance(call):
    call(*START, "--max-grade", 2, files={"pool": pool()})
    assert "--replace" in call(*START, "--max-grade", 2)[2]
    assert call(*START, "--max-grade", 2, "--replace")[0] == 0
    call(*START, "--max-grade", 2, "--replace", files={"pool": pool(rankers=["old"])})
    assert "one ranker" in call("estimate", "c.npz", "--decision")[2]


def test_processes_that_tell_at_once_lose_nothing(call, tmp_path):
    call(*START, "--max-grade", 2, files={"pool": pool()})
    rows = parsed(call("next", "c.npz", "-n", 4)[1], "csv")
    processes = []
    for number, query in enumerate(dict.fromkeys(row["query"] for row in rows)):
        labels = [row | {"label": 1} for row in rows if row["query"] == query]
        (tmp_path / f"labels{number}").write_text(table(labels, "csv"))
        command = [sys.executable, "-m", "skrank", "active", "tell", "c.npz", f"labels{number}"]
        processes.append(subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL))
    assert [process.wait() for process in processes] == [0, 0, 0, 0]
    assert Campaign.load("c.npz").waiting == []
