"""The code of README.md and of each page runs in order and prints what is shown."""

from contextlib import nullcontext, suppress
from pathlib import Path

import pytest
import sklearn

import skrank
from skrank.metrics import registered
from tests.helpers.pages import blocks, run, write_collection

pytest.importorskip("lightgbm")
pytest.importorskip("xgboost")

DOCS = Path(__file__).resolve().parent
# pages whose code a test below runs, or one in another file
WITH_MORE_CHECKS = {
    "extending_metrics.md", "extending_objectives.md", "user_guide/boosters.md",
    "user_guide/dask.md", "user_guide/external_memory.md", "quickstart.md",
}  # fmt: skip
ALL = [
    name
    for name in sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
    if not name.startswith("_build")
]
PAGES = [name for name in ALL if name not in WITH_MORE_CHECKS and blocks(DOCS / name)]


@pytest.mark.filterwarnings(
    "ignore:.*is non-interactive:UserWarning",
    "ignore:OptunaSearchCV is experimental",
    "ignore:.*optuna.terminator",
    "ignore:Mean of empty slice|Degrees of freedom",
)
@pytest.mark.parametrize("page", PAGES)
def test_code_of_the_page_runs(page, tmp_path, monkeypatch):
    pytest.importorskip("catboost")
    monkeypatch.chdir(tmp_path)
    write_collection(tmp_path)
    cuts = page == "user_guide/scikit-learn.md"  # learning_curve does, and warns
    with (
        sklearn.config_context(),  # restores what a page that fails has set
        pytest.warns(skrank.CutQueryWarning) if cuts else nullcontext(),
    ):
        run(DOCS / page)


def test_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert blocks(DOCS.parent / "README.md")
    run(DOCS.parent / "README.md")


@pytest.mark.parametrize("page", ["extending_metrics.md", "extending_objectives.md"])
def test_pages_on_extending_leave_nothing_registered(page):
    before = registered()
    run(DOCS / page)
    assert registered() == before


def test_the_quick_start_ends_with_a_ranker_that_serves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, _ = run(DOCS / "quickstart.md")
    assert list(names["found"].to_frame()["metric"]) == ["ndcg@10", "gap"]
    assert (tmp_path / "ranker.joblib").exists()


ignored = pytest.mark.filterwarnings(
    "ignore:Parameter (n_jobs|num_threads) will be ignored:UserWarning"
)


@ignored
def test_boosters_on_one_machine():
    names, missing = run(DOCS / "user_guide" / "boosters.md")
    assert missing == []
    tried = [trial.value for trial in names["study"].trials]
    assert names["study"].best_value == max(tried) > min(tried)


@ignored
def test_boosters_on_dask():
    Client = pytest.importorskip("distributed").Client
    import dask

    timeout = dask.config.get("distributed.scheduler.no-workers-timeout", None)
    try:
        names, missing = run(DOCS / "user_guide" / "dask.md")
    finally:
        with suppress(ValueError):  # unless the page has closed it, as it does at its end
            client = Client.current()
            client.close()
            client.cluster.close()
        dask.config.set({"distributed.scheduler.no-workers-timeout": timeout})
    assert missing == []
    assert names["started"].init_factor_ > 0
    assert names["report"].mean["ndcg@10"].item() > 0.5
