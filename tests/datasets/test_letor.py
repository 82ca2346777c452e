"""load_letor: values, and errors that name the file, the line and the remedy."""

import gzip
import lzma
import re
from unittest.mock import Mock

import numpy as np
import pytest

from skrank.datasets import LETOR, Fold, _letor, load_letor

PACKED = {".txt": bytes, ".txt.gz": gzip.compress, ".txt.xz": lzma.compress}


def write(folder, stem, text, suffix=".txt"):
    path = folder / f"{stem}{suffix}"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(PACKED[suffix](text.encode()))
    return path


def rows_of(query):
    """Two rows; the number of features grows with the query."""
    return f"2 qid:{query} 1:0.5 {query}:{query} # docid = a\n0 qid:{query} 1:-0.25\n"


def write_sets(folder, suffix=".txt"):
    for n in range(1, 6):
        write(folder, f"S{n}", rows_of(n + 1), suffix)


def write_folds(folder, suffix=".txt", valid="vali", numbers=range(1, 6)):
    for n in numbers:
        for part, query in (("train", 2), (valid, 3), ("test", 4)):
            write(folder, f"Fold{n}/{part}", rows_of(query + n), suffix)


@pytest.mark.parametrize("suffix", PACKED)
def test_sets_rotate_and_are_read_once(tmp_path, suffix, monkeypatch):
    reader = Mock(wraps=_letor.load_svmlight_file)
    monkeypatch.setattr(_letor, "load_svmlight_file", reader)
    write_sets(tmp_path, suffix)
    collection = load_letor(tmp_path)
    assert isinstance(collection, LETOR)
    assert repr(collection) == "LETOR(5 files, folds 1, 2, 3, 4, 5)"
    for n, fold in enumerate(collection.folds):
        queries = np.roll(np.arange(2, 7), -n)
        for part, expected in zip(fold, (queries[:3], queries[3:4], queries[4:]), strict=True):
            assert set(part.qid) == set(expected)
            X = np.zeros((len(part.qid), 6))
            X[:, 0] = np.tile([0.5, -0.25], len(expected))
            X[::2][np.arange(len(expected)), part.qid[::2] - 1] = part.qid[::2]
            np.testing.assert_array_equal(part.X, X)
            np.testing.assert_array_equal(part.relevance, np.tile([2, 0], len(expected)))
            assert all(part[name].flags.writeable for name in ("X", "relevance", "qid"))
    assert reader.call_count == 5


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("valid", ["vali", "valid"])
def test_fold_folders(tmp_path, suffix, valid):
    write_folds(tmp_path, suffix, valid)
    folds = list(load_letor(tmp_path).folds)
    assert [tuple(part.qid[0] for part in fold) for fold in folds] == [
        (n + 2, n + 3, n + 4) for n in range(1, 6)
    ]
    assert {part.X.shape for fold in folds for part in fold} == {(2, 9)}


@pytest.mark.parametrize("suffix", PACKED)
def test_one_folder_of_three_parts_and_one_file(tmp_path, suffix):
    for number, part in enumerate(("train", "valid", "test"), start=2):
        path = write(tmp_path, part, rows_of(number), suffix)
        (single,) = set(load_letor(path).qid)
        assert single == number
    collection = load_letor(tmp_path)
    assert [int(part.qid[0]) for part in collection.fold(1)] == [2, 3, 4]
    assert len(list(collection.folds)) == 1
    assert "is one file" in refusal(path, ValueError, fold=1)
    other = path.rename(tmp_path / f"rows.dat{suffix[4:]}")
    assert load_letor(other, dtype="float32").X.dtype == np.float32
    assert "has none of test.txt" in refusal(tmp_path, FileNotFoundError)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, "float32"])
@pytest.mark.parametrize("layout", [write_sets, write_folds])
def test_one_fold_of_any_dtype(tmp_path, layout, dtype):
    layout(tmp_path)
    fold = load_letor(str(tmp_path), fold=2, dtype=dtype)
    assert isinstance(fold, Fold)
    for part, same in zip(fold, load_letor(tmp_path).fold(2), strict=True):
        assert part.X.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(part.qid, same.qid)
        np.testing.assert_array_equal(part.X, same.X[:, : part.X.shape[1]])


def test_one_fold_reads_no_other(tmp_path):
    write_folds(tmp_path, numbers=[2, 4])
    assert list(load_letor(tmp_path).splits) == [2, 4]
    write(tmp_path, "Fold4/train", "nonsense")
    assert load_letor(tmp_path, fold=2).train.qid[0] == 4
    write_sets(tmp_path)  # read instead of the folders of folds
    assert len(load_letor(tmp_path).files) == 5


def test_comments_blank_lines_and_other_line_ends(tmp_path):
    write_sets(tmp_path)
    text = "# head\r\n\r\n1.5 qid:7 1:1#qid:8 2:2\r\n  \n-1\tqid:7  2:3 \n2 qid:9\n # 1 qid:3 1:1"
    write(tmp_path, "S4", text)
    valid = load_letor(tmp_path, fold=1).valid
    np.testing.assert_array_equal(valid.relevance, [1.5, np.nan, 2])
    assert valid.relevance.dtype == np.float64
    np.testing.assert_array_equal(valid.qid, [7, 7, 9])
    np.testing.assert_array_equal(valid.X[:, :2], [[1, 0], [0, 3], [0, 0]])


IDS = [[-3, 0], ["08", "8"], ["1_0", "10"], ["8", "8.0"], ["élan-7"], ["9" * 20], ["#1", "a#b"]]


@pytest.mark.parametrize("ids", IDS)
def test_query_ids_are_integers_unless_that_would_change_an_id(tmp_path, ids):
    """If one id of the collection is a string, all are."""
    write_sets(tmp_path)
    write(tmp_path, "S1", "".join(f"{label} qid:{qid} 1:1\n" for qid in ids for label in (1, 0)))
    files = load_letor(tmp_path).files
    assert files[tmp_path / "S1.txt"].qid.tolist() == np.repeat(np.array(ids), 2).tolist()
    assert files[tmp_path / "S2.txt"].qid.tolist() == [type(ids[0])(3)] * 2
    assert files[tmp_path / "S1.txt"].X[:, 0].tolist() == [1] * (2 * len(ids))


# errors


def refusal(folder, error, **options):
    """The message of the error."""
    with pytest.raises(error) as caught:
        load_letor(folder, **options)
    return str(caught.value)


def test_folders_that_are_not_collections(tmp_path):
    assert f"{tmp_path / 'no'} is not a folder" in refusal(tmp_path / "no", FileNotFoundError)
    assert "it holds nothing" in refusal(tmp_path, FileNotFoundError)
    write(tmp_path, "a", "")
    assert "it holds a.txt" in refusal(tmp_path, FileNotFoundError)
    for n in range(20):
        write(tmp_path, f"a{n:02}", "")
    (tmp_path / "a.txt").unlink()
    assert "a09.txt, ..." in refusal(tmp_path, FileNotFoundError)


@pytest.mark.parametrize(
    ("layout", "missing"),
    [(write_sets, "S3")] + [(write_folds, f"Fold2/{part}") for part in ("train", "vali", "test")],
)
def test_missing_files(tmp_path, layout, missing):
    layout(tmp_path)
    path = tmp_path / f"{missing}.txt"
    path.unlink()
    message = refusal(tmp_path, FileNotFoundError)
    assert f"{path.parent} has none of {path.name}, {path.name}.gz, {path.name}.xz" in message


@pytest.mark.parametrize("fold", [0, 6, "1", [1]])
def test_no_such_fold(tmp_path, fold):
    write_sets(tmp_path)
    expected = f"fold={fold!r} does not exist: the folds are 1, 2, 3, 4, 5"
    assert expected in refusal(tmp_path, ValueError, fold=fold)
    with pytest.raises(ValueError, match=re.escape(expected)):
        load_letor(tmp_path).fold(fold)
    assert "dtype='a': give a type of numbers" in refusal(tmp_path, ValueError, dtype="a")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 1:0.5 2:1", "no qid:<query> right after the label"),
        ("1 qid: 1:2", "no qid:<query>"),
        ("high qid:1 1:0.5", "could not convert string to float: b'high'"),
        ("-2 qid:1 1:0.5", "the label -2 is neither at least 0 nor -1"),
        ("nan qid:1 1:0.5", "the label nan is neither"),
        ("1 qid:1 1:abc", "could not convert string to float: b'abc'"),
        ("1 qid:1 1", "a line must be <label> qid:<query> <feature>:<value> ..."),
        ("1 qid:1 x:1", "invalid literal for int()"),
        ("1 qid:1 0:1", "Invalid index 0"),
        ("1 qid:1 2:1 1:1", "should be sorted and unique"),
        ("1_0 qid:1 1:1", "an underscore in a number"),
        ("1 qid:1 1:1_0", "an underscore in a number"),
        ("1 qid:1 99999999999:1", "value too large"),
    ],
)
def test_malformed_lines(tmp_path, line, message):
    write_sets(tmp_path, ".txt.gz")
    path = write(tmp_path, "S2", f"# head\n1 qid:7 1:1\n\n{line}\n1 qid:7 1:1\n", ".txt.gz")
    found = refusal(tmp_path, ValueError)
    assert f"{path}, line 4: " in found
    assert message in found


def test_query_ids_that_are_not_utf8_and_files_without_rows(tmp_path):
    write_sets(tmp_path)
    path = write(tmp_path, "S2", "# only a comment\n")
    assert f"{path} has no rows" in refusal(tmp_path, ValueError)
    path.write_bytes(b"1 qid:7 1:1\n1 qid:\xff 1:1\n")
    assert f"{path}, line 2: 'utf-8'" in refusal(tmp_path, ValueError)


@pytest.mark.parametrize("suffix", [".txt.gz", ".txt.xz"])
def test_damaged_files(tmp_path, suffix):
    write_sets(tmp_path, suffix)
    path = write(tmp_path, "S3", rows_of(3) * 1000, suffix)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"not compressed at all"):
        path.write_bytes(content)
        assert f"{path} is damaged" in refusal(tmp_path, ValueError)


def test_a_query_in_two_sets(tmp_path):
    write_sets(tmp_path)
    path = write(tmp_path, "S4", rows_of(2))
    message = refusal(tmp_path, ValueError)
    assert f"query 2 is in both {tmp_path / 'S1.txt'} and {path}" in message
