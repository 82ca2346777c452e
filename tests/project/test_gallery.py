"""The examples of the gallery run, are in the form of sphinx-gallery, and draw something."""

import re
import runpy
from pathlib import Path

import pytest

pytest.importorskip("lightgbm")
matplotlib = pytest.importorskip("matplotlib")

GALLERY = Path(__file__).resolve().parents[2] / "examples" / "gallery"
EXAMPLES = sorted(GALLERY.glob("*/plot_*.py"))


def test_there_are_enough():
    assert len(EXAMPLES) >= 15
    folders = {path.parent for path in EXAMPLES}
    assert all((folder / "GALLERY_HEADER.rst").exists() for folder in (GALLERY, *folders))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore:.*is non-interactive:UserWarning")
def test_it_runs_and_draws(path, monkeypatch):
    title, line = re.match(r'"""\n(.+)\n(=+)\n', path.read_text(encoding="utf-8")).groups()
    assert len(title) == len(line)
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    plt.close("all")
    try:
        runpy.run_path(str(path), run_name="__main__")
        drawn = [plt.figure(number) for number in plt.get_fignums()]
        assert drawn
        for figure in drawn:
            figure.canvas.draw()
            assert any(axes.has_data() for axes in figure.axes)
    finally:
        plt.close("all")
