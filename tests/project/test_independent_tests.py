"""What a test sees does not depend on which tests ran before it."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
FILES = sorted(TESTS.rglob("*.py"))
GENERATORS = ("default_rng", "RandomState", "check_random_state", "Generator", "Random")


def drawn_from(tree: ast.Module) -> list[str]:
    """Functions that draw from a generator that all functions of a module share."""
    shared = {
        target.id
        for one in tree.body
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)
        for target in one.targets
        if isinstance(target, ast.Name) and ast.unparse(one.value.func).endswith(GENERATORS)
    }
    return [
        one.name
        for one in ast.walk(tree)
        if isinstance(one, ast.FunctionDef)
        and shared & {name.id for name in ast.walk(one) if isinstance(name, ast.Name)}
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TESTS)))
def test_no_test_draws_from_a_generator_of_its_module(path):
    """What it draws would depend on the tests before; the fixture `random` is made for each."""
    assert drawn_from(ast.parse(path.read_text(encoding="utf-8"))) == []


def test_a_shared_generator_is_noticed():
    code = (
        "import numpy as np\nR = np.random.default_rng(0)\nX = R.random(3)\ndef test_x():\n    {}"
    )
    assert drawn_from(ast.parse(code.format("R.random()"))) == ["test_x"]
    assert drawn_from(ast.parse(code.format("print(X)"))) == []
