"""Completion of commands in shells."""

import shutil
import subprocess

import pytest

from skrank.cli import COMMANDS, main

_ASK = """
COMP_WORDS=({words}) COMP_CWORD={place} COMP_TYPE=9
_shtab_skrank
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def script(capsys):
    def script(shell):
        assert main(["completion", shell]) == 0
        return capsys.readouterr().out

    return script


def offered(script, *words, cwd=None):
    """The completions by bash of the last word."""
    quoted = " ".join(f"'{word}'" for word in words)
    ask = _ASK.format(words=quoted, place=len(words) - 1)
    done = subprocess.run(
        ["bash", "--norc", "-c", script + ask], capture_output=True, text=True, check=True, cwd=cwd
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash(script, tmp_path):
    text = script("bash")
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
def test_other_shells_read_their_script(script, shell):
    text = script(shell)
    assert "evaluate" in text
    if shutil.which(shell) is None:
        pytest.skip(f"there is no {shell}")
    before = "autoload -U compinit && compinit -D\n" * (shell == "zsh")
    done = subprocess.run([shell, "-c", before + text], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_fish_offers_commands_and_values(script):
    lines = script("fish").splitlines()
    assert any(" -a evaluate " in line for line in lines)
    option = "complete -c skrank -n '_shtab_skrank_using evaluate' -l missing "
    (missing,) = (line for line in lines if line.startswith(option))
    assert '"zero skip raise"' in missing
