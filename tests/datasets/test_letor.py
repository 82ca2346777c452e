"""load_letor: values, and errors that name the file, the line and the remedy."""

import gzip
import lzma

import numpy as np
import pytest

from skrank.datasets import LETOR, Fold, load_letor

WRITERS = {
    ".txt": lambda path, text: path.write_bytes(text.encode()),
    ".txt.gz": lambda path, text: path.write_bytes(gzip.compress(text.encode())),
    ".txt.xz": lambda path, text: path.write_bytes(lzma.compress(text.encode())),
}


def write(folder, stem, text, suffix=".txt"):
    path = folder / f"{stem}{suffix}"
    path.parent.mkdir(exist_ok=True)
    WRITERS[suffix](path, text)
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


suffixes = pytest.mark.parametrize("suffix", list(WRITERS))


class TestLoadLetor:
    @suffixes
    def test_sets(self, tmp_path, suffix):
        write_sets(tmp_path, suffix)
        collection = load_letor(tmp_path)
        assert isinstance(collection, LETOR)
        assert repr(collection) == "LETOR(5 files, folds 1, 2, 3, 4, 5)"
        train, valid, test = collection.fold(1)
        np.testing.assert_array_equal(train.qid, [2, 2, 3, 3, 4, 4])
        np.testing.assert_array_equal(train.relevance, [2, 0, 2, 0, 2, 0])
        np.testing.assert_array_equal(
            train.X,
            [
                [0.5, 2, 0, 0, 0, 0],
                [-0.25, 0, 0, 0, 0, 0],
                [0.5, 0, 3, 0, 0, 0],
                [-0.25, 0, 0, 0, 0, 0],
                [0.5, 0, 0, 4, 0, 0],
                [-0.25, 0, 0, 0, 0, 0],
            ],
        )
        np.testing.assert_array_equal(valid.X[0], [0.5, 0, 0, 0, 5, 0])
        np.testing.assert_array_equal(test.X[0], [0.5, 0, 0, 0, 0, 6])

    def test_folds_rotate(self, tmp_path):
        write_sets(tmp_path)
        queries = [
            tuple(np.unique(part.qid - 1).tolist() for part in fold)
            for fold in load_letor(tmp_path).folds
        ]
        assert queries == [
            ([1, 2, 3], [4], [5]),
            ([2, 3, 4], [5], [1]),
            ([3, 4, 5], [1], [2]),
            ([1, 4, 5], [2], [3]),
            ([1, 2, 5], [3], [4]),
        ]

    @suffixes
    @pytest.mark.parametrize("valid", ["vali", "valid"])
    def test_fold_folders(self, tmp_path, suffix, valid):
        write_folds(tmp_path, suffix, valid)
        folds = list(load_letor(tmp_path).folds)
        assert [tuple(part.qid[0] for part in fold) for fold in folds] == [
            (n + 2, n + 3, n + 4) for n in range(1, 6)
        ]
        assert {part.X.shape for fold in folds for part in fold} == {(2, 9)}

    @pytest.mark.parametrize("layout", [write_sets, write_folds])
    def test_one_fold(self, tmp_path, layout):
        layout(tmp_path)
        fold = load_letor(str(tmp_path), fold=2)
        assert isinstance(fold, Fold)
        for part, same in zip(fold, load_letor(tmp_path).fold(2), strict=True):
            np.testing.assert_array_equal(part.qid, same.qid)
            np.testing.assert_array_equal(part.X, same.X[:, : part.X.shape[1]])

    def test_one_fold_reads_no_other(self, tmp_path):
        write_folds(tmp_path)
        write(tmp_path, "Fold3/train", "nonsense")
        assert load_letor(tmp_path, fold=2).train.qid[0] == 4

    def test_some_fold_folders(self, tmp_path):
        write_folds(tmp_path, numbers=[2, 4])
        assert list(load_letor(tmp_path).splits) == [2, 4]

    def test_files_are_read_once(self, tmp_path, monkeypatch):
        from skrank.datasets import _letor

        read = []
        original = _letor.load_svmlight_file
        monkeypatch.setattr(
            _letor,
            "load_svmlight_file",
            lambda lines, **options: read.append(lines) or original(lines, **options),
        )
        write_sets(tmp_path)
        assert len(list(load_letor(tmp_path).folds)) == 5
        assert len(read) == 5

    def test_sets_come_before_fold_folders(self, tmp_path):
        write_folds(tmp_path)
        write_sets(tmp_path)
        assert len(load_letor(tmp_path).files) == 5

    @pytest.mark.parametrize("dtype", [np.float64, np.float32, "float32"])
    def test_dtype(self, tmp_path, dtype):
        write_sets(tmp_path)
        train, valid, _ = load_letor(tmp_path, fold=1, dtype=dtype)
        assert train.X.dtype == valid.X.dtype == np.dtype(dtype)
        assert train.X[0, 0] == 0.5

    def test_labels_and_queries_have_one_type(self, tmp_path):
        write_sets(tmp_path)
        write(tmp_path, "S4", "1.5 qid:7 1:1\n-1 qid:7 1:2\n")
        valid = load_letor(tmp_path, fold=1).valid
        np.testing.assert_array_equal(valid.relevance, [1.5, np.nan])
        assert valid.relevance.dtype == np.float64
        assert valid.qid.dtype == np.int64

    def test_queries_that_are_not_integers(self, tmp_path):
        write_sets(tmp_path)
        write(tmp_path, "S4", "1 qid:élan-7 1:1\n")
        train, valid, _ = load_letor(tmp_path, fold=1)
        assert valid.qid.tolist() == ["élan-7"]
        assert train.qid.tolist() == ["2", "2", "3", "3", "4", "4"]

    def test_query_ids_above_int64_are_strings(self, tmp_path):
        write_sets(tmp_path)
        write(tmp_path, "S4", "1 qid:99999999999999999999 1:1\n")
        assert load_letor(tmp_path, fold=1).valid.qid.tolist() == ["99999999999999999999"]

    def test_comments_blank_lines_and_other_line_ends(self, tmp_path):
        write_sets(tmp_path)
        write(tmp_path, "S4", "# head\r\n\r\n1 qid:7 1:1#qid:8 2:2\r\n  \n0\tqid:7  2:3 \n2 qid:9")
        valid = load_letor(tmp_path, fold=1).valid
        np.testing.assert_array_equal(valid.relevance, [1, 0, 2])
        np.testing.assert_array_equal(valid.qid, [7, 7, 9])
        np.testing.assert_array_equal(valid.X[:, :2], [[1, 0], [0, 3], [0, 0]])

    def test_parts_are_writable(self, tmp_path):
        write_sets(tmp_path)
        for part in load_letor(tmp_path, fold=1):
            assert part.X.flags.writeable
            assert part.relevance.flags.writeable
            assert part.qid.flags.writeable


class TestLoadLetorErrors:
    def refusal(self, folder, error, **options):
        """The message of the error."""
        with pytest.raises(error) as caught:
            load_letor(folder, **options)
        return str(caught.value)

    def test_missing_folder(self, tmp_path):
        assert f"{tmp_path / 'no'} is not a folder" in self.refusal(
            tmp_path / "no", FileNotFoundError
        )

    def test_file_instead_of_folder(self, tmp_path):
        path = write(tmp_path, "S1", rows_of(1))
        assert f"{path} is not a folder" in self.refusal(path, FileNotFoundError)

    def test_no_layout(self, tmp_path):
        write(tmp_path, "train", rows_of(1))
        told = self.refusal(tmp_path, FileNotFoundError)
        assert "files S1 to S5 (.txt, .txt.gz, .txt.xz)" in told
        assert "folders Fold1 to Fold5" in told
        assert "it holds train.txt" in told

    def test_no_layout_in_an_empty_or_a_full_folder(self, tmp_path):
        assert "it holds nothing" in self.refusal(tmp_path, FileNotFoundError)
        for n in range(20):
            write(tmp_path, f"x{n:02}", "")
        assert "x09.txt, ..." in self.refusal(tmp_path, FileNotFoundError)

    def test_missing_set(self, tmp_path):
        write_sets(tmp_path)
        (tmp_path / "S3.txt").unlink()
        assert f"{tmp_path} has none of S3.txt, S3.txt.gz, S3.txt.xz" in self.refusal(
            tmp_path, FileNotFoundError
        )

    @pytest.mark.parametrize(
        ("part", "looked_for"), [("train", "train.txt"), ("vali", "vali.txt"), ("test", "test.txt")]
    )
    def test_missing_part_of_a_fold(self, tmp_path, part, looked_for):
        write_folds(tmp_path)
        (tmp_path / "Fold2" / f"{part}.txt").unlink()
        assert f"{tmp_path / 'Fold2'} has none of {looked_for}" in self.refusal(
            tmp_path, FileNotFoundError
        )

    @pytest.mark.parametrize("fold", [0, 6])
    def test_no_such_fold(self, tmp_path, fold):
        write_sets(tmp_path)
        told = self.refusal(tmp_path, ValueError, fold=fold)
        assert f"fold={fold}" in told
        assert "the folds are 1, 2, 3, 4, 5" in told
        with pytest.raises(ValueError, match=f"fold={fold} does not exist: .* 1, 2, 3, 4, 5"):
            load_letor(tmp_path).fold(fold)

    @suffixes
    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("1 1:0.5 2:1", "no qid:<query> right after the label"),
            ("1", "no qid:<query>"),
            ("1 qid: 1:2", "no qid:<query>"),
            ("1 qid 1:2", "no qid:<query>"),
            ("high qid:1 1:0.5", "could not convert string to float: b'high'"),
            ("-2 qid:1 1:0.5", "the label -2 is neither at least 0 nor -1"),
            ("nan qid:1 1:0.5", "the label nan is neither"),
            ("inf qid:1 1:0.5", "the label inf is neither"),
            ("1 qid:1 1:abc", "could not convert string to float: b'abc'"),
            ("1 qid:1 1", "a line must be <label> qid:<query> <feature>:<value> ..."),
            ("1 qid:1 x:1", "invalid literal for int()"),
            ("1 qid:1 0:1", "Invalid index 0"),
            ("1 qid:1 2:1 1:1", "should be sorted and unique"),
            ("1_0 qid:1 1:1", "an underscore in a number"),
            ("1 qid:1 1_0:1", "an underscore in a number"),
            ("1 qid:1 1:1_0", "an underscore in a number"),
            ("\uff11 qid:1 1:1", "could not convert string to float"),
            ("1 qid:1 \uff11:1", "invalid literal for int()"),
            ("1 qid:1 1:\uff11", "could not convert string to float"),
            ("1 qid:1 99999999999:1", "value too large"),
        ],
    )
    def test_malformed_line(self, tmp_path, suffix, line, message):
        write_sets(tmp_path, suffix)
        path = write(tmp_path, "S2", f"# head\n1 qid:7 1:1\n\n{line}\n1 qid:7 1:1\n", suffix)
        told = self.refusal(tmp_path, ValueError)
        assert f"{path}, line 4: " in told
        assert message in told

    def test_queries_that_are_not_utf8(self, tmp_path):
        write_sets(tmp_path)
        (tmp_path / "S2.txt").write_bytes(b"1 qid:7 1:1\n1 qid:\xff 1:1\n")
        told = self.refusal(tmp_path, ValueError)
        assert f"{tmp_path / 'S2.txt'}, line 2: " in told
        assert "utf-8" in told

    @suffixes
    @pytest.mark.parametrize("text", ["", "# only a comment\n"])
    def test_empty_file(self, tmp_path, suffix, text):
        write_sets(tmp_path, suffix)
        path = write(tmp_path, "S5", text, suffix)
        assert f"{path} has no rows" in self.refusal(tmp_path, ValueError)

    @pytest.mark.parametrize("suffix", [".txt.gz", ".txt.xz"])
    def test_damaged_file(self, tmp_path, suffix):
        write_sets(tmp_path, suffix)
        path = write(tmp_path, "S3", rows_of(3) * 1000, suffix)
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        assert f"{path} is damaged" in self.refusal(tmp_path, ValueError)
        path.write_bytes(b"not compressed at all")
        assert f"{path} is damaged" in self.refusal(tmp_path, ValueError)

    def test_query_in_two_sets(self, tmp_path):
        write_sets(tmp_path)
        write(tmp_path, "S4", rows_of(2))
        assert (
            f"query 2 is in both {tmp_path / 'S1.txt'} and {tmp_path / 'S4.txt'}"
            in self.refusal(tmp_path, ValueError)
        )


@pytest.mark.parametrize("ids", [("03", "3"), ("1_0", "10"), ("+7", "7"), ("3", "3.0")])
def test_different_query_ids_of_equal_value_stay_different(tmp_path, ids):
    text = "".join(f"{label} qid:{qid} 1:1\n" for qid in ids for label in (1, 0))
    for n in range(1, 6):
        write(tmp_path, f"S{n}", rows_of(n).replace("qid:", "qid:9"))
    write(tmp_path, "S1", text)
    part = load_letor(tmp_path).files[tmp_path / "S1.txt"]
    assert part.qid.tolist() == [ids[0], ids[0], ids[1], ids[1]]


def test_query_ids_may_contain_a_number_sign(tmp_path):
    write_sets(tmp_path)
    text = "1 qid:#1 1:1 # a\n0 qid:a#b 2:3#c\n1 qid:a 1:2\n#1 qid:2 1:1\n # 1 qid:3 1:1\n"
    path = write(tmp_path, "S1", text)
    part = load_letor(tmp_path).files[path]
    assert part.qid.tolist() == ["#1", "a#b", "a"]
    assert part.X[:, :2].tolist() == [[1, 0], [0, 3], [2, 0]]


def test_query_ids_that_are_integers_are_integers(tmp_path):
    write_sets(tmp_path)
    write(tmp_path, "S1", "1 qid:-3 1:1\n0 qid:0 1:1\n")
    assert load_letor(tmp_path).files[tmp_path / "S1.txt"].qid.tolist() == [-3, 0]
