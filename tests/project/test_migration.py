"""What the tables of the pages of migration promise: each piece of code can be run."""

import ast
import inspect
import re
from pathlib import Path

import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

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


def pieces():
    """The code in the second column of each row: page, piece."""
    for page in PAGES:
        for row in re.findall(r"^\|(.+)\|$", page.read_text("utf-8"), re.MULTILINE):
            for piece in re.findall(r"`([^`]+)`", row.rpartition(" | ")[2]):
                yield pytest.param(piece, id=f"{page.stem}: {piece}")


def is_placeholder(node):
    return isinstance(node, ast.Constant) and node.value is Ellipsis


@pytest.mark.parametrize("piece", pieces())
def test_code_of_tables(piece):
    name = re.match(r"\w*", piece)[0].lower()
    if name in NAMES and re.fullmatch(r"\w+(\(.*\))?(@\d+)?", piece):
        skrank.metric(piece)
    elif re.fullmatch(r"(objective|eval_metric)=(?!.rank:).*", piece):
        parameter, _, value = piece.partition("=")
        value = eval(value, {"skrank": skrank})
        (as_objective if parameter == "objective" else skrank.metric)(value)
    elif re.fullmatch(r"\w+=.*", piece):
        assert re.match(r"\w+", piece)[0] in PARAMETERS
    elif re.match(r"(skrank\.[\w.]+|RankingLoss|MetricAccumulator)\b", piece):
        check_call(piece)


def check_call(piece):
    """The function exists and takes these arguments; metrics and objectives can be made."""
    if piece.startswith(("RankingLoss", "MetricAccumulator", "skrank.torch")):
        pytest.importorskip("torch")
        from skrank import torch

        piece = piece.removeprefix("skrank.torch.")
        namespace = vars(torch) | {name: getattr(torch, name) for name in torch.__all__}
    else:
        namespace = {}
    try:
        call = ast.parse(piece, mode="eval").body
    except SyntaxError:
        return  # a line of the command
    while isinstance(call, ast.Call) and isinstance(call.func, ast.Call):
        call = call.func  # skrank.metric("ndcg")(labels, scores): the metric
    function = call.func if isinstance(call, ast.Call) else call
    namespace |= {"skrank": skrank, "HistGradientBoostingRegressor": HistGradientBoostingRegressor}
    found = eval(ast.unparse(function), namespace)
    if not isinstance(call, ast.Call):
        return
    values = [*call.args, *(one.value for one in call.keywords)]
    if any(map(is_placeholder, values)) or not all(
        isinstance(node, (ast.Constant, ast.List, ast.Call, ast.UnaryOp)) for node in values
    ):
        known = inspect.signature(found).parameters
        for keyword in call.keywords:
            assert keyword.arg is None or keyword.arg in known or "kwargs" in str(known)
        return
    eval(ast.unparse(call), namespace)
