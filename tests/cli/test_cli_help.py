"""Help of all commands, and ``skrank metrics``."""

import re

import pytest

import skrank
from skrank import trec
from skrank.cli import COMMANDS
from skrank.metrics import registered


def test_metrics(call):
    _, out, _ = call("metrics")
    assert [line.split()[0] for line in out.splitlines()] == sorted(registered())
    for name in registered():
        status, out, err = call("metrics", name)
        assert (status, err) == (0, "")
        assert "Parameters\n---" in out
        assert ">>>" not in out
    assert call("metrics", "trec_eval:P_5")[1].startswith(
        "trec_eval:P_5 is precision(empty=0)@5\n\nPrecision: share of relevant documents"
    )


def test_a_nickname_is_a_list_of_metrics(call):
    """Of trec_eval, whose map counts queries without a relevant document."""
    out = call("metrics", "trec_eval:official")[1].splitlines()
    assert out[0].startswith("trec_eval:num_q is num_q")
    assert out[4] == "trec_eval:map is ap(empty=0)"
    assert len(out) == 29


def test_help_names_every_command(call):
    _, out, _ = call("--help")
    assert all(re.search(rf"^ +{name}\b", out, re.MULTILINE) for name in COMMANDS)


QRELS, RUNS = {"1": {"a": 1}}, {"x": {"1": {"a": 1.0}}, "y": {"1": {"b": 2.0, "a": 1.0}}}


@pytest.mark.parametrize(
    ("option", "refused"),
    [
        ("names", lambda: skrank.metric("x:a")),
        ("missing", lambda: trec.evaluate(QRELS, RUNS, missing="?")),
        ("test", lambda: trec.evaluate(QRELS, RUNS, "ap").compare(test="?")),
        ("correction", lambda: trec.evaluate(QRELS, RUNS, "ap").compare(correction="?")),
        ("method", lambda: trec.fuse(RUNS, "?")),
        ("norm", lambda: trec.fuse(RUNS, norm="?")),
    ],
)
def test_choices_in_the_text_of_help_are_those_of_the_library(call, option, refused):
    """An error of the library lists them."""
    text = " ".join(call(command, "--help")[1] for command in ("compare", "fuse"))
    (shown,) = set(re.findall(rf"--{option} {{(.*?)}}", text))
    with pytest.raises(ValueError, match="use one of") as error:
        refused()
    known = str(error.value).partition(" one of ")[2].removesuffix(" or none.")
    expected = {word.strip("':.") for word in known.replace("None", "none").split(", ")}
    assert expected == set(shown.split(",")) - {"linear"}  # weighted_sum by a LinearRanker
