"""Help of all commands, and ``skrank metrics``."""

import re

import pytest

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


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_examples_of_the_command_alone(call, command):
    status, out, err = call(command, "--help")
    assert (status, err) == (0, "")
    examples = re.findall(r"(?m)^  (skrank .*)$", out)
    assert all(example.startswith(f"skrank {command} ") for example in examples)
    assert bool(examples) == (command != "metrics")
