"""The code of the pages runs, in the order of each page, and prints what they show."""

import re
from pathlib import Path

import pytest

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
    "user_guide/mixtures.md": "test_mixture_training.py",
    "user_guide/objectives.md": "test_lambdaloss_training.py",
    "user_guide/scikit-learn.md": "test_matrix.py",
    "user_guide/starts.md": "test_ranker_pages.py",
    "user_guide/torch.md": "test_torch_example.py",
    "what_to_train.md": "test_ranker_pages.py",
}
PAGES = [
    name
    for name in sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
    if name not in {*ELSEWHERE, "quickstart.md"}
    and not name.startswith("_build")
    and blocks(DOCS / name)
]


def test_pages_of_other_tests_exist():
    tests = {path.name for path in DOCS.parent.joinpath("tests").rglob("test_*.py")}
    assert set(ELSEWHERE.values()) <= tests
    assert all((DOCS / page).exists() for page in ELSEWHERE)


@pytest.mark.filterwarnings("ignore:.*is non-interactive:UserWarning")
@pytest.mark.parametrize("page", PAGES)
def test_code_of_the_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_collection(tmp_path)
    _, missing = run(DOCS / page)
    if missing:
        print(f"{page}: code that needs {', '.join(missing)} was left out")


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
