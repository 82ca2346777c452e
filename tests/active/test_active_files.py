"""Files of campaigns: every invalid file raises a ValueError that names the file."""

import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import tracemalloc
import zipfile
from pathlib import Path

import numpy as np
import pytest

import skrank
from skrank.active import ActiveEvaluator, _files
from tests.helpers.campaigns import answer, data, evaluator


@pytest.fixture
def saved(tmp_path):
    """A file of a campaign with three labelled queries."""
    campaign = evaluator(budget=100)
    answer(campaign, campaign.ask(4)[:3])
    path = tmp_path / "campaign.npz"
    campaign.save(path)
    return path


def contents(path):
    with np.load(path) as file:
        return {name: file[name] for name in file.files if name != "sha256"}


def refusal(path):
    """Message of the error that refuses a file, which must name the path."""
    with pytest.raises(ValueError, match=re.escape(str(path))) as error:
        ActiveEvaluator.load(path)
    return str(error.value)


def facts(arrays, **changes):
    return np.array(json.dumps(json.loads(str(arrays["facts"])) | changes))


def swap(array, i, j):
    out = array.copy()
    out[[i, j]] = out[[j, i]]
    return out


def change(array, index, value):
    out = np.array(array)
    out[index] = value
    return out


FAULTS = {
    "negative indptr": lambda a: {"indptr": change(a["indptr"], 1, -5)},
    "swapped indptr": lambda a: {"indptr": swap(a["indptr"], 1, 2)},
    "short scores": lambda a: {"scores": a["scores"][:, :-1]},
    "indptr beyond the end": lambda a: {"indptr": change(a["indptr"], -1, 10**9)},
    "q times 5": lambda a: {"q": a["q"] * 5},
    "negative costs": lambda a: {"costs": -a["costs"]},
    "NaN labels": lambda a: {"labels": a["labels"] * np.nan},
    "labels that are not grades": lambda a: {"labels": a["labels"] + 0.5},
    "too few labels": lambda a: {"labels": a["labels"][:-1]},
    "NaN scores": lambda a: {"scores": a["scores"] * np.nan},
    "scores as text": lambda a: {"scores": a["scores"].astype(str)},
    "rows twice": lambda a: {"rows": np.zeros_like(a["rows"])},
    "queries twice": lambda a: {"ids": np.zeros_like(a["ids"])},
    "no query": lambda a: {"ids": a["ids"][:0], "indptr": a["indptr"][:1]},
    "q of 0 that counts": lambda a: {"q": change(a["q"], 0, 0.0) / change(a["q"], 0, 0.0).sum()},
    "p with a sum other than 1": lambda a: {"p": a["p"] * 2},
    "infinite moments": lambda a: {"moments": a["moments"] * np.inf},
    "grades that fall": lambda a: {"grades": a["grades"][::-1]},
    "asked that was not drawn": lambda a: {"asked": (a["asked"] + 1) % 60},
    "asked in another order": lambda a: {"asked": swap(a["asked"], 0, 1)},
    "asked beyond the pool": lambda a: {"asked": change(a["asked"], 0, 10**6)},
    "told twice": lambda a: {"told": change(a["told"], 1, a["told"][0])},
    "told and not asked": lambda a: {"told": change(a["told"], 1, -1)},
    "an unknown metric": lambda a: {"facts": facts(a, metric="nonsense")},
    "a budget that is not a number": lambda a: {"facts": facts(a, budget="much")},
    "a negative budget": lambda a: {"facts": facts(a, budget=-1)},
    "a negative seed": lambda a: {"facts": facts(a, seed=-1)},
    "an unknown method": lambda a: {"facts": facts(a, method="guess")},
    "too many names": lambda a: {"facts": facts(a, names=["a", "b"])},
    "another format": lambda a: {"facts": facts(a, format="skrank campaign 1")},
    "facts that are not a mapping": lambda a: {"facts": np.array("[]")},
    "facts that are not JSON": lambda a: {"facts": np.array("{")},
    "an unknown array": lambda a: {"surplus": np.arange(3)},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_that_was_tampered_with_is_refused(saved, fault):
    """The checksum is valid, so other checks must find the fault."""
    arrays = contents(saved)
    _files.write(saved, arrays | FAULTS[fault](arrays))
    assert refusal(saved)


@pytest.mark.parametrize("name", ["scores", "q", "asked", "facts", "labels", "moments"])
def test_a_file_without_a_part_is_refused(saved, name):
    arrays = contents(saved)
    del arrays[name]
    _files.write(saved, arrays)
    assert f"lacks {name}" in refusal(saved)


def test_the_checksum_finds_what_was_changed(saved):
    arrays = contents(saved)
    with np.load(saved) as file:
        digest = file["sha256"]
    arrays["labels"] = 4 - arrays["labels"]  # valid grades
    np.savez(saved, sha256=digest, **arrays)
    assert "checksum does not match" in refusal(saved)
    np.savez(saved, **arrays)
    assert "no checksum" in refusal(saved)


def test_damaged_bytes_are_refused(saved):
    """The error is a ValueError for all errors of zlib, zipfile and NumPy."""
    whole = saved.read_bytes()
    random = np.random.default_rng(0)
    good = ActiveEvaluator.load(saved).estimate()
    for _ in range(300):
        broken = bytearray(whole)
        for position in random.integers(len(whole), size=random.integers(1, 4)):
            broken[position] ^= int(random.integers(1, 256))
        saved.write_bytes(bytes(broken))
        try:
            assert ActiveEvaluator.load(saved).estimate() == good  # bytes that are not read
        except ValueError as error:
            assert str(saved) in str(error)  # noqa: PT017
    for length in (0, 1, 100, len(whole) // 2, len(whole) - 1):
        saved.write_bytes(whole[:length])
        assert refusal(saved)


MANY = 4_000_000
BOMBS = {
    "scores": lambda a: {"scores": np.zeros((1, MANY))},
    "scores of many": lambda a: {"scores": np.zeros((MANY // len(a["rows"]), len(a["rows"])))},
    "rows": lambda a: {"rows": np.zeros(MANY, np.int8)},
    "rows that fit the others": lambda a: {
        "rows": np.zeros(MANY, np.int64), "indptr": change(a["indptr"], -1, MANY),
        "scores": np.zeros((1, MANY)), "given": np.zeros(MANY), "items": np.zeros(MANY),
    },
    "ids": lambda a: {"ids": np.zeros(MANY, np.int64), "indptr": np.zeros(MANY + 1, np.int64)},
    "texts": lambda a: {"ids": np.zeros(MANY, "U2")},
    "grades": lambda a: {"grades": np.zeros(MANY)},
    "told": lambda a: {"told": np.zeros(MANY, np.int64)},
    "labels": lambda a: {"labels": np.zeros(MANY)},
    "moments": lambda a: {"moments": np.zeros((3, MANY))},
    "facts": lambda a: {"facts": np.array(" " * (20 * MANY))},
    "surplus": lambda a: {"surplus": np.zeros(MANY)},
}  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS)
def test_small_files_of_large_arrays_are_refused_before_they_take_memory(saved, bomb):
    arrays = contents(saved)
    _files.write(saved, arrays | BOMBS[bomb](arrays))
    refusal(saved)  # imports modules, whose memory must not count
    tracemalloc.start()
    try:
        refusal(saved)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4e6


def test_many_values_that_all_differ_are_read(tmp_path):
    """The most compressible arrays of distinct values are accepted."""
    for number, values in enumerate((np.arange(10**6), np.arange(10**6) * 2.0**20)):
        path = tmp_path / f"{number}.npz"
        _files.write(path, {"rows": values})
        with _files.opened(path) as archive:
            assert archive.headers["rows"].may_be_distinct


def rewrite(path, change_entry, packing=zipfile.ZIP_DEFLATED):
    """Rewrite a file; `change_entry` maps the name and bytes of each array to new ones."""
    with zipfile.ZipFile(path) as archive:
        entries = [(member.filename, archive.read(member)) for member in archive.infolist()]
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, content in entries:
            archive.writestr(*change_entry(name, content))


def header(shape, descr="'<f8'"):
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}"
    return np.lib.format.magic(1, 0) + (len(text) + 1).to_bytes(2, "little") + f"{text}\n".encode()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (header("(100000000000,)"), "labels are of type float64 and shape (100000000000,) in 0"),
        (header("(-3,)"), "labels are of type float64 and shape (-3,)"),
        (header("(1,)", "'|O'"), "labels are pickled objects"),
        (header("(1,)", "__import__('os')"), "labels have a header that numpy does not read"),
        (header("(1,)", "[('a', '<f8')]"), "labels are of type [('a', '<f8')]"),
        (header("(1,)", "'<c16'") + bytes(16), "labels are of type complex128"),
        (np.lib.format.magic(3, 0), "labels are in another version of numpy's format"),
        (b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535, "labels have a header that numpy does not"),
        (b"", "EOF"),
    ],
    ids=map(str, range(9)),
)
def test_invalid_headers_are_refused(saved, content, reason):
    rewrite(saved, lambda name, old: (name, content if name == "labels.npy" else old))
    assert reason in refusal(saved)


def test_archives_of_other_kinds(saved):
    whole = saved.read_bytes()
    for packing in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        rewrite(saved, lambda *entry: entry, packing)
        assert "which skrank does not write" in refusal(saved)
        saved.write_bytes(whole)
    rewrite(saved, lambda name, old: (name.removesuffix(".npy"), old))
    assert "holds 'facts', which skrank does not write" in refusal(saved)
    saved.write_bytes(whole)
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("labels.npy", b"")
    assert refusal(saved)
    saved.write_bytes(whole)
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("inner.npz", whole)
    assert "holds 'inner.npz', which skrank does not write" in refusal(saved)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="/dev/zero does not exist")
def test_devices_are_refused():
    with pytest.raises(ValueError, match="/dev/zero is not a campaign: it is not a regular file"):
        ActiveEvaluator.load("/dev/zero")


def test_missing_files_raise_file_not_found(tmp_path):
    with pytest.raises(FileNotFoundError):
        ActiveEvaluator.load(tmp_path / "nowhere.npz")


# saving


def test_save_follows_symbolic_links(saved, tmp_path):
    link = tmp_path / "link.npz"
    link.symlink_to(saved)
    evaluator(budget=50).save(link)
    assert link.is_symlink()
    assert ActiveEvaluator.load(saved).budget == 50


def test_save_keeps_the_mode_of_the_file(saved):
    saved.chmod(0o600)
    evaluator(budget=50).save(saved)
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600


def test_new_files_have_the_usual_mode(saved, tmp_path):
    (tmp_path / "usual").touch()
    assert saved.stat().st_mode == (tmp_path / "usual").stat().st_mode


KILLED = """
import os, signal, sys
import numpy as np
from skrank.active import ActiveEvaluator
np.savez_compressed = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
ActiveEvaluator.load(sys.argv[1]).save(sys.argv[1])
"""


def test_the_next_save_removes_the_file_of_a_killed_save(saved):
    ours = os.environ | {"PYTHONPATH": str(Path(skrank.__file__).parents[1])}
    killed = subprocess.Popen([sys.executable, "-c", KILLED, str(saved)], env=ours)
    assert killed.wait() == -signal.SIGKILL
    (left,) = set(saved.parent.iterdir()) - {saved}  # the killed process did not remove its file
    ours = left.with_name(left.name.replace(str(killed.pid), str(os.getpid())))
    ours.touch()  # as if a thread of this process were still writing
    evaluator(budget=50).save(saved)
    assert sorted(saved.parent.iterdir()) == sorted([saved, ours])


def test_threads_may_save_to_one_file(saved):
    campaign = evaluator(budget=1000)
    faults = []

    def save():
        try:
            for _ in range(5):
                campaign.save(saved)
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=save) for _ in range(6)]
    for thread in threads:
        thread.start()
    for request in campaign.ask(40):
        campaign.tell(request, data.relevance[request.rows])
    for thread in threads:
        thread.join()
    assert faults == []
    campaign.save(saved)
    assert ActiveEvaluator.load(saved).estimate() == campaign.estimate()
    assert list(saved.parent.iterdir()) == [saved]


def test_an_item_that_occurs_twice_in_a_query_is_refused():
    """The label of one document would overwrite the label of the other."""
    items = np.array([f"d{row}" for row in range(len(data.qid))])
    first, second = np.flatnonzero(data.qid == data.qid[0])[:2]
    items[second] = items[first]
    with pytest.raises(ValueError, match=r"item 'd0' occurs more than once in query 0"):
        evaluator(items=items)
    evaluator(
        items=np.arange(len(items)) - np.searchsorted(data.qid, data.qid)
    )  # 0, 1, ... in each
