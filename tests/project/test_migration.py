"""What the tables of the pages of migration promise: each piece of code can be run."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import skrank
from skrank.evaluation import Report
from skrank.metrics import registered
from skrank.objectives import as_objective

PAGES = sorted((Path(__file__).parents[2] / "docs" / "migration").glob("*.md"))
NAMES = {name for cls in registered().values() for name in cls.names}
FUNCTIONS = (
    skrank.GroupedRanker, skrank.GroupedRanker.fit, skrank.trec.evaluate, skrank.tune,
    Report.compare, *registered().values(),
)  # fmt: skip
PARAMETERS = {name for function in FUNCTIONS for name in inspect.signature(function).parameters}
PARAMETERS |= {"X_val", "y_val", "groups_val", "mask"}  # of **arguments, and of a loss


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_of_tables(page):
    """The code in the second column of each row."""
    for row in re.findall(r"^\|(.+)\|$", page.read_text("utf-8"), re.MULTILINE):
        for piece in re.findall(r"`([^`]+)`", row.rpartition(" | ")[2]):
            check_piece(piece)


def check_piece(piece):
    name = re.match(r"\w*", piece)[0].lower()
    if name in NAMES and re.fullmatch(r"\w+(\(.*\))?(@\d+)?", piece):
        skrank.metric(piece)
    elif re.fullmatch(r"(objective|eval_metric)=(?!.rank:).*", piece):
        parameter, _, value = piece.partition("=")
        value = eval(value, {"skrank": skrank})
        (as_objective if parameter == "objective" else skrank.metric)(value)
    elif re.fullmatch(r"\w+=.*", piece):
        assert re.match(r"\w+", piece)[0] in PARAMETERS
    elif re.match(r"(skrank\.[\w.]+|RankingLoss)\b", piece):
        check_call(piece)


def check_call(piece):
    """The function exists, and takes the arguments that are named."""
    try:
        call = ast.parse(piece, mode="eval").body
    except SyntaxError:
        return  # a line of the command
    while isinstance(call, ast.Call) and isinstance(call.func, ast.Call):
        call = call.func  # skrank.metric("ndcg")(labels, scores): the metric
    function, keywords = (call.func, call.keywords) if isinstance(call, ast.Call) else (call, [])
    name = ast.unparse(function)
    if name.startswith(("RankingLoss", "skrank.torch")):
        pytest.importorskip("torch")
        name = f"skrank.torch.{name.removeprefix('skrank.torch.')}"
    known = str(inspect.signature(eval(name, {"skrank": skrank})))
    for keyword in keywords:
        assert keyword.arg is None or keyword.arg in known or "**" in known
