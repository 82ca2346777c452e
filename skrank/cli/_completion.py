"""``skrank completion``: scripts by which shells complete commands, options and values."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

SHELLS = ("bash", "zsh", "fish")
_HOW = """\
Put into the file that your shell reads when it starts:
  bash   eval "$(skrank completion bash)"
  zsh    eval "$(skrank completion zsh)"
  fish   skrank completion fish | source
"""

Options = dict[str, tuple[str, ...]]  # spellings of options, and the values that they may have
Tree = dict[tuple[str, ...], Options]  # by the words of a command

_BASH = """\
_skrank() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} place= words= i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$place ${{COMP_WORDS[i]}}" in
            {places}) place="$place ${{COMP_WORDS[i]}}" ;;
        esac
    done
    case "$place,$before" in
{cases}
        *) case "$place" in
{places_of_words}
        esac ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o bashdefault -o default -F _skrank skrank
"""


def add_arguments(parser: argparse.ArgumentParser, _: str) -> None:
    """Add the arguments of the command."""
    parser.epilog = _HOW
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=", ".join(SHELLS))
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> str:
    from skrank.cli import whole_parser

    tree = dict(_commands(whole_parser()))
    if arguments.shell == "fish":
        return _fish(tree)
    script = _bash(tree)
    if arguments.shell == "zsh":
        return f"autoload -U +X bashcompinit && bashcompinit\n{script}"
    return script


def _commands(
    parser: argparse.ArgumentParser, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Options]]:
    """The commands below a parser, and what may follow each."""
    options: Options = {}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                options[name] = ()
                yield from _commands(inner, (*words, name))
        elif action.option_strings and action.help != argparse.SUPPRESS:
            values = tuple(map(str, action.choices or ()))
            if "--metric" in action.option_strings:
                values = _metrics()
            options |= dict.fromkeys(action.option_strings, values)
        elif action.choices:
            options |= dict.fromkeys(map(str, action.choices), ())
    yield words, options


def _metrics() -> tuple[str, ...]:
    """Names of metrics; where one has several, all of them."""
    from skrank.metrics import registered

    return tuple(sorted(name for cls in registered().values() for name in cls.names))


def _bash(tree: Tree) -> str:
    places = ["".join(f" {word}" for word in words) for words in tree if words]
    cases = [
        f"        {_quoted(words)},{option}) words={shlex.quote(' '.join(values))} ;;"
        for words, options in tree.items()
        for option, values in options.items()
        if values
    ]
    words_of = [
        f"            {_quoted(words)}) words={shlex.quote(' '.join(options))} ;;"
        for words, options in tree.items()
    ]
    return _BASH.format(
        places="|".join(f"'{place}'" for place in places),
        cases="\n".join(cases),
        places_of_words="\n".join(words_of),
    ).rstrip("\n")


def _quoted(words: tuple[str, ...]) -> str:
    return "'" + "".join(f" {word}" for word in words) + "'"


def _fish(tree: Tree) -> str:
    lines = []
    for words, options in tree.items():
        below = [name for name in options if not name.startswith("-")]
        inside = " && ".join(f"__fish_seen_subcommand_from {word}" for word in words)
        deeper = f"not __fish_seen_subcommand_from {' '.join(below)}" if below else ""
        when = shlex.quote(" && ".join(part for part in (inside, deeper) if part) or "true")
        lines += [f"complete -c skrank -n {when} -a {name}" for name in below]
        for option, values in options.items():
            if option.startswith("-"):
                kind = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
                given = f" -x -a {shlex.quote(' '.join(values))}" if values else ""
                lines.append(f"complete -c skrank -n {when} {kind}{given}")
    return "\n".join(lines)
