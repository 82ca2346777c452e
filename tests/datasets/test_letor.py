"""load_letor: values, and errors that name the file and the remedy."""

import gzip

import numpy as np
import pytest

from skrank.datasets import Fold, load_letor

PACKED = {".txt": bytes, ".txt.gz": gzip.compress}


def write(folder, stem, text, suffix=".txt"):
    path = folder / f"{stem}{suffix}"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(PACKED[suffix](text.encode()))
    return path


def rows_of(query):
    """Two rows; the number of features grows with the query."""
    return f"2 qid:{query} 1:0.5 {query}:{query} # docid = a\n0 qid:{query} 1:-0.25\n"


def write_sets(folder):
    for n in range(1, 6):
        write(folder, f"S{n}", rows_of(n + 1))


def write_folds(folder, valid="vali", numbers=range(1, 6)):
    for n in numbers:
        for part, query in (("train", 2), (valid, 3), ("test", 4)):
            write(folder, f"Fold{n}/{part}", rows_of(query + n))


def test_sets_rotate(tmp_path):
    write_sets(tmp_path)
    collection = load_letor(tmp_path)
    assert list(collection) == [1, 2, 3, 4, 5]
    for n, fold in enumerate(collection.values()):
        queries = np.roll(np.arange(2, 7), -n)
        for part, expected in zip(fold, (queries[:3], queries[3:4], queries[4:]), strict=True):
            assert set(part.qid) == set(expected)
            X = np.zeros((len(part.qid), 6))
            X[:, 0] = np.tile([0.5, -0.25], len(expected))
            X[::2][np.arange(len(expected)), part.qid[::2] - 1] = part.qid[::2]
            np.testing.assert_array_equal(part.X, X)
            np.testing.assert_array_equal(part.relevance, np.tile([2, 0], len(expected)))


@pytest.mark.parametrize("valid", ["vali", "valid"])
def test_fold_folders(tmp_path, valid):
    write_folds(tmp_path, valid)
    folds = list(load_letor(tmp_path).values())
    assert [tuple(part.qid[0] for part in fold) for fold in folds] == [
        (n + 2, n + 3, n + 4) for n in range(1, 6)
    ]
    assert {part.X.shape for fold in folds for part in fold} == {(2, 9)}


def test_one_fold_reads_no_other(tmp_path):
    write_folds(tmp_path, numbers=[2, 4])
    assert list(load_letor(tmp_path)) == [2, 4]
    write(tmp_path, "Fold4/train", "nonsense")
    fold = load_letor(str(tmp_path), fold=2, dtype="float32")
    assert isinstance(fold, Fold)
    assert (fold.train.qid[0], fold.train.X.dtype) == (4, np.float32)
    assert "fold=3" in refusal(tmp_path, ValueError, fold=3)
    write_sets(tmp_path)  # read instead of the folders of folds
    assert len(load_letor(tmp_path)) == 5


# errors


def refusal(folder, error, **options):
    """The message of the error."""
    with pytest.raises(error) as caught:
        load_letor(folder, **options)
    return str(caught.value)


@pytest.mark.parametrize(("layout", "missing"), [(write_sets, "S3"), (write_folds, "Fold2/vali")])
def test_missing_files(tmp_path, layout, missing):
    layout(tmp_path)
    path = tmp_path / f"{missing}.txt"
    path.unlink()
    message = refusal(tmp_path, FileNotFoundError)
    assert f"{path.parent} has none of {path.name}, {path.name}.gz" in message


@pytest.mark.parametrize("line", ["high qid:1 1:0.5", "1 qid:1 0:1", "1 1:0.5 2:1", "# comment"])
def test_malformed_and_damaged_files(tmp_path, line):
    write_sets(tmp_path)
    path = write(tmp_path, "S2", line)
    assert str(path) in refusal(tmp_path, ValueError)
    path.unlink()
    path = write(tmp_path, "S2", rows_of(3) * 1000, ".txt.gz")
    path.write_bytes(path.read_bytes()[:100])
    assert str(path) in refusal(tmp_path, ValueError)


def test_three_parts_in_one_folder(tmp_path):
    for number, part in enumerate(("train", "valid", "test"), start=2):
        write(tmp_path, part, rows_of(number), ".txt.gz")
    collection = load_letor(tmp_path)
    assert [int(part.qid[0]) for part in collection[1]] == [2, 3, 4]
    assert len(collection) == 1
    assert str(tmp_path / "no") in refusal(tmp_path / "no", FileNotFoundError)


def test_a_query_in_two_sets(tmp_path):
    write_sets(tmp_path)
    write(tmp_path, "S3", rows_of(2))
    assert "two training files" in refusal(tmp_path, ValueError)
