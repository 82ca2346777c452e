"""The code on the pages about the boosters' own APIs runs, in the order of each page."""

from contextlib import suppress
from pathlib import Path

import pytest

from tests.helpers.pages import run

pytest.importorskip("distributed")

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "user_guide"
ignored = pytest.mark.filterwarnings(
    "ignore:Parameter (n_jobs|num_threads) will be ignored:UserWarning"
)


@ignored
def test_code_of_one_machine_runs():
    names, missing = run(GUIDE / "boosters.md")
    assert missing == []
    assert names["rounds"] < 100
    assert 0 < names["value"] < 1
    tried = [trial.value for trial in names["study"].trials]
    assert names["study"].best_value == max(tried) > min(tried)
    assert names["per_round"].shape == (20, 20)


@ignored
def test_code_of_dask_runs():
    import dask
    from distributed import Client

    timeout = dask.config.get("distributed.scheduler.no-workers-timeout", None)
    try:
        names, missing = run(GUIDE / "dask.md")
    finally:
        with suppress(ValueError):  # unless the page has closed it, as it does at its end
            client = Client.current()
            client.close()
            client.cluster.close()
        dask.config.set({"distributed.scheduler.no-workers-timeout": timeout})
    assert missing == []
    assert names["started"].init_factor_ > 0
    assert [params["init"] for _, params, _ in names["tried"]].count("linear") == 2
    assert names["report"].per_query["gap@10"].mean() > 0.3
