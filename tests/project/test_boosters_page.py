"""The code on the page about the boosters runs, in the order of the page."""

import re
from pathlib import Path

import pytest

pytest.importorskip("distributed")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "user_guide" / "boosters.md"


@pytest.mark.filterwarnings("ignore:Parameter (n_jobs|num_threads) will be ignored:UserWarning")
def test_code_runs():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 12
    names = {}
    try:
        for block in blocks:
            exec(compile(block, str(PAGE), "exec"), names)
    finally:
        for name in ("client", "cluster"):
            if name in names:
                names[name].close()
        import dask

        dask.config.set({"distributed.scheduler.no-workers-timeout": None})
    assert names["rounds"] < 100
    assert 0 < names["value"] < 1
    tried = [trial.value for trial in names["study"].trials]
    assert names["study"].best_value == max(tried) > min(tried)
    assert names["per_round"].shape == (20, 20)
    start = names["linear"].predict(names["X"][names["valid"]])
    assert (
        names["skrank"].metric("gap")(
            names["y"][names["valid"]], names["started"], groups=names["qid"][names["valid"]]
        )
        > 0.3
    )
    assert (names["started"] != start).any()
    assert names["ranker_on_dask"].score(names["X"], names["y"], names["qid"]) > 0.5
    assert names["report"].per_query["gap@10"].mean() > 0.3
