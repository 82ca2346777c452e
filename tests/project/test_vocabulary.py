"""One name for one thing, and arguments in one order: judgments before runs."""

import ast
import inspect
import re
from collections import Counter
from pathlib import Path

import pytest

import skrank
from skrank import incompleteness, informativeness, trec

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(Path(skrank.__file__).resolve().parent.rglob("*.py"))
TREES = [ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES]


def twice(names):
    return sorted(name for name, times in Counter(names).items() if times > 1)


def test_no_class_name_stands_for_two_classes():
    names = [
        node.name
        for path, tree in zip(SOURCES, TREES, strict=True)
        for node in ast.walk(tree)
        if type(node) is ast.ClassDef and node.name[0] != "_" and path.parent.name != "_kernels"
    ]
    assert len(names) > 100
    assert twice(names) == []


def test_checks_and_defaults_stand_once():
    functions = [node.name for tree in TREES for node in tree.body if type(node) is ast.FunctionDef]
    assert "check_share" in functions
    assert [name for name in twice(functions) if name.startswith("check_")] == []
    constants = [
        target.id
        for tree in TREES
        for node in tree.body
        if type(node) is ast.Assign
        for target in node.targets
        if isinstance(target, ast.Name) and target.id.endswith("_METRICS")
    ]
    assert "DEFAULT_METRICS" in constants
    assert twice(constants) == []


def test_a_query_is_not_called_a_topic():
    """But for the title of an article, and a column that the files of others have."""
    names = re.compile(r'Topic Set Size Design|"topic"')
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for folder in ("skrank", "docs", "examples")
        for path in (ROOT / folder).rglob("*.*")
        if path.suffix in (".py", ".md")
        and path.name
        not in ("glossary.md", "names.md", "peer_names.py", "_columns.py", "rerank_texts.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if re.search(r"\btopics?\b", names.sub("", line), re.IGNORECASE)
    ]
    assert found == []


JUDGED = (
    trec.evaluate,
    incompleteness.robustness,
    informativeness.study,
    informativeness.select_thresholds,
)


@pytest.mark.parametrize("function", JUDGED)
def test_judgments_come_before_runs(function):
    assert list(inspect.signature(function).parameters)[:2] == ["qrels", "runs"]
    qrels = trec.Qrels.from_arrays(["q"], ["d"], [1])
    run = trec.Run.from_arrays(["q"], ["d"], [1], name="bm25")
    for runs in (run, [run, run]):
        swapped = "qrels is the run 'bm25'" if runs is run else "judgments come first"
        with pytest.raises(ValueError, match=swapped):
            function(runs, qrels)
    with pytest.raises(ValueError, match=r"runs holds judgments: judgments .* come first"):
        function(qrels, qrels)


@pytest.mark.parametrize("function", [incompleteness.robustness, incompleteness.reduce_judgments])
def test_the_seed_is_called_random_state(function):
    assert "random_state" in inspect.signature(function).parameters
    assert "seed" not in inspect.signature(function).parameters
