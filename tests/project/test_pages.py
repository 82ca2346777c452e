"""The pages and the README: their code runs in order and prints what they show."""

import re
import runpy
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest
import sklearn

import skrank
from skrank.metrics import registered
from tests.helpers.pages import blocks, run, same, write_collection

pytest.importorskip("lightgbm")
pytest.importorskip("xgboost")

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
# pages whose code a test below runs, or one in another file
WITH_MORE_CHECKS = {
    "extending_metrics.md", "extending_objectives.md", "user_guide/boosters.md",
    "user_guide/dask.md", "user_guide/external_memory.md", "quickstart.md",
}  # fmt: skip
TREES = {  # pages that print values of trees
    "index.md", "what_to_train.md",
    *(
        f"user_guide/{name}.md"
        for name in (
            "early_stopping", "judging", "large_data", "means", "objectives", "scikit-learn",
            "service", "starts", "training", "tuning",
        )
    ),
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
        _, missing = run(DOCS / page, of_trees=page in TREES)
    if missing:
        print(f"{page}: code that needs {', '.join(missing)} was left out")


@pytest.mark.parametrize("page", ["extending_metrics.md", "extending_objectives.md"])
def test_pages_on_extending_leave_nothing_registered(page):
    before = registered()
    assert len(blocks(DOCS / page)) >= 3
    run(DOCS / page)
    assert registered() == before


def test_the_quick_start_ends_with_a_ranker_that_serves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, _ = run(DOCS / "quickstart.md", of_trees=True)
    assert list(names["found"].to_frame()["metric"]) == ["ndcg@10", "gap"]
    assert (tmp_path / "ranker.joblib").exists()


ignored = pytest.mark.filterwarnings(
    "ignore:Parameter (n_jobs|num_threads) will be ignored:UserWarning"
)


@ignored
def test_boosters_on_one_machine():
    names, missing = run(DOCS / "user_guide" / "boosters.md", of_trees=True)
    assert missing == []
    assert names["rounds"] < 100
    assert 0 < names["value"] < 1
    tried = [trial.value for trial in names["study"].trials]
    assert names["study"].best_value == max(tried) > min(tried)
    assert names["per_round"].shape == (20, 20)


@ignored
def test_boosters_on_dask():
    Client = pytest.importorskip("distributed").Client
    import dask

    timeout = dask.config.get("distributed.scheduler.no-workers-timeout", None)
    try:
        names, missing = run(DOCS / "user_guide" / "dask.md", of_trees=True)
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


@pytest.mark.parametrize(
    ("shown", "printed", "accepted"),
    [
        ("gap 0.72 True", "gap   0.73 True", True),
        ("gap 0.72 True", "gap 0.7 False", False),
        ("gap 0.72", "gap 0.74", False),
        ("gap 0.715", "gap 0.713", False),
        ("0.10 -0.01", "0.1 0.00", True),
        ("12 of 0.7", "13 of 0.7", False),
        ("0.7 [...]", "0.8 [1, 2]", True),
        ("0.7", "0.7 0.7", False),
    ],
)
def test_values_of_trees_differ_in_their_last_decimal_at_most(shown, printed, accepted):
    assert same(shown, printed, of_trees=True) == accepted
    assert same(shown, printed, of_trees=False) == (shown == printed)


# texts
# ------------------------------------------------------------------------------------------------


def test_links_between_pages_lead_somewhere():
    dead = []
    for path in (DOCS / name for name in ALL):
        text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            made = target.endswith("gallery/index.rst")
            example = re.search(r"gallery/(\d_\w+/plot_\w+)\.rst$", target)
            if example:
                made = (ROOT / "examples" / "gallery" / f"{example[1]}.py").exists()
            if not made and not (path.parent / target).exists():
                dead.append(f"{path.relative_to(DOCS)}: {target}")
    assert dead == []


@pytest.mark.parametrize(
    "name", ["build.py", "objective_tables.py", "scikit_learn.py", "peer_names.py", "includes.py"]
)
def test_pages_made_from_code_are_current(name):
    built = runpy.run_path(str(DOCS / name))
    pages = built["pages"]() if "pages" in built else {built["PAGE"]: built["page"]()}
    for path, text in pages.items():
        assert path.read_text(encoding="utf-8") == text, f"run python docs/{name}"


def test_included_code_replaces_what_stands_on_the_page():
    made = runpy.run_path(str(DOCS / "includes.py"))
    assert {"extending_metrics.md", "extending_objectives.md"} <= {p.name for p in made["pages"]()}
    filled = made["filled"]
    marker = "<!-- included from examples/own_metric.py: definition -->\n```python\n"
    assert "def definition(ranked" in filled(f"{marker}x = 1\n```")
    with pytest.raises(KeyError):
        filled(f"{marker.replace('definition', 'nothing')}```")


def test_docstrings_of_metrics_tell_range_and_ties():
    for cls in registered().values():
        assert f"Range {cls.value_range}" in (cls.__doc__ or "")
        assert cls.strict == ("no closed form" in (cls.__doc__ or ""))


# README
# ------------------------------------------------------------------------------------------------


def test_the_readme_runs_and_is_short(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = blocks(ROOT / "README.md")
    assert len(shown) == 3
    assert all(block.output for block in shown)
    run(ROOT / "README.md", of_trees=True)
    install, test = re.findall(r"```bash\n(pip install .*?)```", README, re.DOTALL)
    assert README.index(install) < README.index("## Contributing") < README.index(test)
    assert README.count("\n") <= 150


def test_links_of_the_readme_work_on_a_package_index_and_lead_to_files():
    linked = re.findall(r"\]\(([^)]+)\)", README)
    assert len(linked) > 30
    for link in linked:
        place = re.match(r"https://[\w.]+/skrank/skrank/(?:blob/)?main/([^#]+)", link)
        assert place, f"{link} is relative, and dead on a package index"
        assert (ROOT / place[1]).exists(), link


def test_the_picture_of_the_gain_and_the_numbers_below_it_are_current():
    built = runpy.run_path(str(DOCS / "figures.py"))
    assert str(built["shown"]()).encode() in built["PICTURE"].read_bytes(), (
        "the contest has other numbers than its picture: run python docs/figures.py"
    )
    assert "docs/_static/gain.png" in README
    assert "_static/gain.png" in (DOCS / "index.md").read_text(encoding="utf-8")
    found = built["table"]()
    rows = ("LightGBM, GAP from linear", "LightGBM lambdarank", "CatBoost YetiRank")
    ours, light, cat = (found[row] for row in rows)
    text = README.partition("Means over the held-out queries")[2].partition("\n\n")[0]
    assert [float(number) for number in re.findall(r"\.\d{4}", text)] == [
        *ours[:2], *light[:2], *cat[:2], *ours[2:], *light[2:], *cat[2:],
    ]  # fmt: skip
