"""Help and completion of all commands, and ``skrank metrics``."""

import re
import shutil
import subprocess

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


def offered(script, *words, cwd=None):
    """The completions by bash of the last word."""
    quoted = " ".join(f"'{word}'" for word in words)
    script += f"""
        COMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1} COMP_TYPE=9
        _shtab_skrank
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "--norc", "-c", script], capture_output=True, text=True, check=True, cwd=cwd
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_completion_by_bash(call, tmp_path):
    text = call("completion", "bash")[1]
    assert set(COMMANDS) == set(offered(text, "skrank", ""))
    assert offered(text, "skrank", "ev") == ["evaluate"]
    assert "--per-query" in offered(text, "skrank", "evaluate", "qrels", "--")
    assert "--per-query" not in offered(text, "skrank", "compare", "--")
    assert offered(text, "skrank", "evaluate", "--missing", "") == ["zero", "skip", "raise"]
    assert offered(text, "skrank", "evaluate", "q", "r", "-m", "ndc") == ["ndcg"]
    assert {"start", "next", "tell", "estimate"} <= set(offered(text, "skrank", "active", ""))
    assert "--budget" in offered(text, "skrank", "active", "start", "--b")
    assert offered(text, "skrank", "completion", "f") == ["fish"]
    (tmp_path / "qrels.txt").touch()
    for words in (["evaluate", "qre"], ["evaluate", "q", "qre"], ["active", "next", "qre"]):
        assert offered(text, "skrank", *words, cwd=tmp_path) == ["qrels.txt"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_read_their_script(call, shell):
    text = call("completion", shell)[1]
    assert "evaluate" in text
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    before = "autoload -U compinit && compinit -D\n" * (shell == "zsh")
    done = subprocess.run([shell, "-c", before + text], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_fish_offers_commands_and_values(call):
    lines = call("completion", "fish")[1].splitlines()
    assert any(" -a evaluate " in line for line in lines)
    option = "complete -c skrank -n '_shtab_skrank_using evaluate' -l missing "
    (missing,) = (line for line in lines if line.startswith(option))
    assert '"zero skip raise"' in missing
