"""The code of the pages runs, in the order of each page, and prints what they show."""

import re
from contextlib import nullcontext
from pathlib import Path

import pytest
import sklearn

import skrank
from tests.helpers.pages import blocks, run, same, write_collection

pytest.importorskip("lightgbm")
pytest.importorskip("xgboost")
pytest.importorskip("catboost")

DOCS = Path(__file__).resolve().parents[2] / "docs"
ELSEWHERE = {  # pages whose code other tests run, with more to check
    "extending_metrics.md": "test_extending_pages.py",
    "extending_objectives.md": "test_extending_pages.py",
    "user_guide/boosters.md": "test_boosters_page.py",
    "user_guide/dask.md": "test_boosters_page.py",
    "user_guide/external_memory.md": "test_external_memory.py",
    "quickstart.md": "test_pages.py",
}
TREES = {"user_guide/judging.md", "user_guide/objectives.md", "user_guide/starts.md"}
EXPLANATIONS = {  # other pages of the user guide say how to do something
    "user_guide/active_method.md",
    "user_guide/informativeness_method.md",
    "user_guide/significance.md",
    "user_guide/torch_losses.md",
}
ALL = [
    name
    for name in sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
    if not name.startswith("_build")
]
PAGES = [name for name in ALL if name not in ELSEWHERE and blocks(DOCS / name)]


def test_pages_of_other_tests_exist():
    tests = {path.name: path for path in DOCS.parent.joinpath("tests").rglob("test_*.py")}
    assert all((DOCS / page).exists() for page in ELSEWHERE)
    for name in ELSEWHERE.values():
        text = tests[name].read_text(encoding="utf-8")
        assert "from tests.helpers.pages import" in text, (
            "outputs are compared by tests.helpers.pages.run"
        )


@pytest.mark.filterwarnings(
    "ignore:.*is non-interactive:UserWarning",
    "ignore:OptunaSearchCV is experimental",
    "ignore:.*optuna.terminator",
    "ignore:Mean of empty slice|Degrees of freedom",
)
@pytest.mark.parametrize("page", PAGES)
def test_code_of_the_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_collection(tmp_path)
    cuts = page == "user_guide/recipes.md"  # learning_curve does, and warns
    with (
        sklearn.config_context(),  # restores what a page that fails has set
        pytest.warns(skrank.CutQueryWarning) if cuts else nullcontext(),
    ):
        _, missing = run(DOCS / page, of_trees=page in TREES)
    if missing:
        print(f"{page}: code that needs {', '.join(missing)} was left out")


@pytest.mark.parametrize("page", ALL)
def test_pages_are_short(page):
    """A page of how-to says what to do, and links what that is based on."""
    how_to = page.startswith("user_guide/") and page not in EXPLANATIONS
    n_words = len((DOCS / page).read_text(encoding="utf-8").split())
    assert n_words <= (1500 if how_to else 2500)


def test_the_quick_start_ends_with_a_ranker_that_serves(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names, _ = run(DOCS / "quickstart.md", of_trees=True)
    assert list(names["found"].to_frame()["metric"]) == ["gap", "ndcg@10"]
    assert (tmp_path / "ranker.joblib").exists()


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


def test_the_version_to_cite_is_that_of_the_project():
    text = (DOCS / "citing.md").read_text(encoding="utf-8")
    assert f"version = {{{skrank.__version__}}}" in text


def test_links_between_pages_lead_somewhere():
    dead = []
    for path in sorted(DOCS.rglob("*.md")):
        if "_build" in path.parts:
            continue
        text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            made = target.endswith("gallery/index.rst")
            example = re.search(r"gallery/(\d_\w+/plot_\w+)\.rst$", target)
            if example:
                made = (DOCS.parent / "examples" / "gallery" / f"{example[1]}.py").exists()
            if not made and not (path.parent / target).exists():
                dead.append(f"{path.relative_to(DOCS)}: {target}")
    assert dead == []
