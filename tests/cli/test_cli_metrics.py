"""``skrank metrics``, and the help of all commands."""

import re

import pytest

from skrank.cli import COMMANDS
from skrank.metrics import registered


def test_metrics(call):
    _, out, _ = call("metrics")
    assert "\nndcg " in out
    _, out, _ = call("metrics", "P_5")
    assert out.startswith("P_5 is precision(empty=0)@5\n\nPrecision: share of relevant documents")


def test_help_names_every_command(call):
    _, out, _ = call("--help")
    assert all(re.search(rf"^ +{name}\b", out, re.MULTILINE) for name in COMMANDS)


@pytest.mark.parametrize(
    "command", [*COMMANDS, "active start", "active next", "active tell", "active estimate"]
)
def test_help_shows_examples_of_the_command_alone(call, command):
    status, out, err = call(*command.split(), "--help")
    assert (status, err) == (0, "")
    examples = re.findall(r"(?m)^  (skrank .*)$", out)
    assert all(example.startswith(f"skrank {command} ") for example in examples)
    assert bool(examples) == (command not in ("metrics", "completion"))


@pytest.mark.parametrize("name", registered())
def test_a_metric_is_described_for_a_terminal(call, name):
    status, out, _ = call("metrics", name)
    assert status == 0
    assert not re.search(r"\\|\.\. \w+::|``|:\w+:`|>>>|See `[A-Z]", out)
    assert "Parameters of all metrics" in out


def test_formulas_are_readable(call):
    lines = {
        "gap": "    GAP = 1/D sum_n 1/n sum_{m <= n} G(min(i_m, i_n)), D = sum_documents G(i)",
        "ndcg": "    nDCG@k = DCG@k/(max DCG@k)",
        "rbp": "    RBP = (1 - p) sum_r p^(r-1) gain(y_r) / gain(max grade)",
        "accuracy": "    Acc@k = 1/n (|{r <= k : y_r >= rel}| + |{r > k : y_r < rel}|)",
        "f1": "    F_beta = (1 + beta^2) P R / (beta^2 P + R)",
    }
    for name, line in lines.items():
        assert line in call("metrics", name)[1].splitlines()


def test_a_nickname_is_a_list_of_metrics(call):
    """Of trec_eval, whose map counts queries without a relevant document."""
    out = call("metrics", "official")[1].splitlines()
    assert out[0].startswith("trec_eval:num_q is num_q")
    assert out[4] == "trec_eval:map is ap(empty=0)"
    assert len(out) == 29
