"""Columns are said, or named by one convention; everything else is an error that names them."""

import io
import re
import warnings
from datetime import date
from functools import partial
from itertools import permutations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skrank import trec
from skrank._validation import CONVENTIONS

COLUMNS = {"qid": ["1", "1", "2"], "docid": ["a", "b", "a"], "number": [3, 2, 1]}
QRELS = {"1": {"a": 2, "b": 1}, "2": {"a": 1}}
FORMS = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "csv": lambda table: io.StringIO(pd.DataFrame(table).to_csv(index=False)),
    "tsv": lambda table: io.StringIO(pd.DataFrame(table).to_csv(index=False, sep="\t")),
    "jsonl": lambda table: io.StringIO(pd.DataFrame(table).to_json(orient="records", lines=True)),
    "parquet": lambda table: io.BytesIO(_parquet(pl.DataFrame(table))),
}


def _parquet(frame):
    frame.write_parquet(file := io.BytesIO())
    return file.getvalue()


def named(names, **changes):
    """The columns under other names, in order."""
    return dict(zip(names, (COLUMNS | changes).values(), strict=True))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("convention", CONVENTIONS)
def test_conventions(form, convention):
    names = CONVENTIONS[convention]
    run = named([names["qid"], names["docid"].upper(), "score"])
    for order in permutations(run):
        read = trec.read_run(FORMS[form]({name: run[name] for name in order}))
        assert read.to_dict() == {"1": {"a": 3, "b": 2}, "2": {"a": 1}}
    qrels = FORMS[form](named([names["qid"], names["docid"], names["label"]]))
    assert trec.read_qrels(qrels).to_dict() == {"1": {"a": 3, "b": 2}, "2": {"a": 1}}


FIELDS = {"label": [3, 2, 1], "score": [3, 2, 1], "rank": [1, 2, 1], "distance": [0.1, 0.3, 0.2]}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("field", FIELDS)
def test_any_names_and_every_field(form, field):
    columns = {"qid": "user", "docid": "item", field: "value"}
    table = FORMS[form](named(["user", "item", "value"], number=FIELDS[field]))
    if field == "label":
        assert trec.read_qrels(table, columns=columns).to_dict()["1"] == {"a": 3, "b": 2}
    else:
        assert trec.read_run(table, columns=columns).documents.to_list() == ["a", "b", "a"]


SCORED = named(["qid", "docid", "score"])
# tables that are not unambiguous, and the columns that the error shows
AMBIGUOUS = [
    (named(["user", "item", "prediction"]), "'user', 'docid': 'item', 'score': 'prediction'"),
    (named(["topic", "passage", "sim"]), "'topic', 'docid': 'passage', 'score': 'sim'"),
    (named(["qid", "docid", "distance"]), "'docid', 'distance': 'distance'"),
    (named(["qid", "pid", "position"]), "'pid', 'rank': 'position'"),
    (named(["query", "x", "y"]), r"'query', 'docid': '\.\.\.', 'score': '\.\.\.'"),
    (named(["qid", "docno", "rank"]), "'docno', 'rank': 'rank'"),
    (SCORED | {"query_id": [1, 2, 3]}, "query_id"),
    (SCORED | {"doc_id": [1, 2, 3]}, "doc_id"),
    (SCORED | {"Score": [1, 2, 3]}, "Score"),
    ({"qid": ["1"], "doc_id": ["A"], "pid": ["A#7"], "score": [1]}, "pid"),
    ({"topic_id": [31], "query": ["31_1"], "docid": ["b"], "score": [1]}, "topic_id"),
    ({"qid": ["1"], "score": [1]}, "docid"),
    ({"docid": ["1"], "rank": [1]}, "qid"),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("table", "shown"), AMBIGUOUS)
def test_ambiguous_tables_are_errors_that_show_the_columns(form, table, shown):
    with pytest.raises(ValueError, match="columns=") as error:
        trec.read_run(FORMS[form](table))
    assert re.search(shown, str(error.value))
    assert all(name in str(error.value) for name in table)


def test_other_columns_do_not_matter():
    frame = pd.DataFrame({"qid": ["1", "1"], "docno": ["a", "b"], "score": [2.0, 1.0]})
    more = {
        "docid": [17, 4],
        "query": ["words", "words"],
        "rank": [0, 1],
        "topic_id": 3,
        "tag": "x",
    }
    assert trec.read_run(frame.assign(**more)).to_dict() == {"1": {"a": 2, "b": 1}}
    turns = pd.DataFrame({"topic_id": [31, 31], "qid": ["31_1", "31_2"], "docid": list("ab")})
    assert list(trec.read_run(turns.assign(score=1.0)).to_dict()) == ["31_1", "31_2"]
    ranked = pd.DataFrame(SCORED).assign(rank=["x", 1, 2])
    assert trec.read_run(ranked).to_dict()["1"] == {"a": 3, "b": 2}


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ({"query": "qid"}, "query"), ("qid", "columns"), ({"qid": "x"}, "'x'"),
        ({"qid": "qid", "docid": "qid"}, "'qid'"), (["qid", "qid", "score"], "'qid'"),
        ({"score": "score", "distance": "docid"}, "distance"), (["qid", "docid", "sim"], "sim"),
    ],
)  # fmt: skip
def test_wrong_columns(columns, named):
    with pytest.raises(ValueError, match=named):
        trec.read_run(pd.DataFrame(SCORED), columns=columns)


@pytest.mark.parametrize("read", [
    trec.read_qrels, trec.read_run, trec.read_runs, partial(trec.evaluate, QRELS, metrics="rr"),
])  # fmt: skip
@pytest.mark.parametrize("columns", [{"qid": "user"}, ["qid", "docid", "rank"]])
def test_columns_that_apply_to_no_source(read, columns):
    with pytest.raises(ValueError, match="columns="):
        read(QRELS, columns=columns)


# ranks and duplicates -----------------------------------------------------------------------------

RANKS = ["1 a 1\n1 b 2\n1 c 3\n2 x 1\n2 y 2\n", "1 a 0\n1 b 1\n1 c 2\n2 x 0\n2 y 1\n",
         "1 a 1\n1 b 2\n1 c 4\n2 y 2\n2 x 1\n", "1 b 12\n1 a 11\n2 x 11\n2 y 12\n"]  # fmt: skip


@pytest.mark.parametrize("text", RANKS)
def test_ranks_are_read_when_they_are_called_so(text):
    for line in (text, text.replace(" ", "\t"), text.replace(" ", ",")):
        with pytest.raises(ValueError, match=r"line 1: .*'rank'") as error:
            trec.read_run(io.StringIO(line))
        assert "'score'" in str(error.value)
        run = trec.read_run(io.StringIO(line), columns=["qid", "docid", "rank"])
        assert [documents[0] for documents in map(list, run.to_dict().values())] == ["a", "x"]


def opposite(query):
    return [(query, "a", 1, 0.1), (query, "b", 2, 0.3), (query, "c", 3, 0.3)]


@pytest.mark.parametrize("form", [*FORMS, "trec"])
def test_ranks_that_contradict_scores(form):
    def source(rows):
        if form == "trec":
            return io.StringIO("".join(f"{q} Q0 {d} {rank} {s} t\n" for q, d, rank, s in rows))
        return FORMS[form](
            dict(zip(["qid", "docid", "rank", "score"], zip(*rows, strict=True), strict=True))
        )

    wrong = [*opposite("1"), *opposite("2")][::-1]
    with pytest.raises(ValueError, match="distance"):
        trec.read_run(source(wrong))
    agreeing = [*wrong, ("3", "a", 1, 0.9), ("3", "b", 2, 0.1)]
    assert trec.read_run(source(agreeing)).to_dict()["1"] == {"a": 0.1, "b": 0.3, "c": 0.3}
    columns = ["qid", "_", "docid", "rank", "distance", "_"]
    columns = columns if form == "trec" else {"distance": "score"}
    assert trec.read_run(source(wrong), columns=columns).documents[0] == "a"


@pytest.mark.parametrize("form", FORMS)
def test_duplicates(form):
    def table(last):
        return FORMS[form]({"qid": [1, 1, 1, 2], "docid": list("aaba"), last: [1, 3, 2, 5]})

    with pytest.raises(ValueError, match=r"(row 1|line [23]).*'a'.*'1'"):
        trec.read_run(table("score"))
    assert trec.read_run(table("score"), duplicates="first").to_dict()["1"] == {"b": 2, "a": 1}
    assert trec.read_run(table("score"), duplicates="max").to_dict()["1"] == {"a": 3, "b": 2}
    assert trec.read_run(table("rank"), duplicates="max").to_dict()["1"] == {"a": -1, "b": -2}
    assert trec.read_qrels(table("label"), duplicates="max").to_dict()["1"] == {"a": 3, "b": 2}


# what is missing ----------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_missing_values(form):
    labels = FORMS[form]({"qid": ["1", "1"], "docid": ["a", "b"], "label": [1.0, None]})
    assert trec.read_qrels(labels).to_dict() == {"1": {"a": 1, "b": -1}}
    for name in ("docid", "score"):
        table = {"qid": ["1", "2"], "docid": ["a", "b"], "score": [1.0, 2.0]}
        table[name][1] = None
        with pytest.raises(ValueError, match=r"row 1|line 2|line 3"):
            trec.read_run(FORMS[form](table))


@pytest.mark.parametrize(
    ("qrels", "runs", "shown"),
    [
        ({"u1": "i3"}, QRELS, r"\{'u1': \['i3'\]\}"), ({1: 3}, QRELS, r"\{1: \[3\]\}"),
        (QRELS, {1: 3, 2: 9}, r"\{1: \[3\]\}"), (QRELS, {}, "runs"), (QRELS, [], "runs"),
        (QRELS, {"a": []}, "run"), (QRELS, {"bm25": {}, "x": QRELS}, "'bm25'"),
        (QRELS, {"bm25": {"a": {}}, "x": QRELS}, "'bm25'"), ({}, QRELS, "qrels"),
        (QRELS, {"a": [("x", 0.9)]}, "query 'a' .*'x', 0.9"), (QRELS, {"a": ["x", None]}, "'a'"),
        (QRELS, {"a": [{"docid": "x"}]}, "query 'a' .*docid"),
        (QRELS, {"a": ["x"], "b": {"y": 1.0}}, "query 'b'"),
        (QRELS, {"a": {"x": "0.5e"}}, "query 'a'"), (QRELS, {"r": {"q": {"x": "b"}}}, "'r'"),
        (QRELS, [{"qid": "1", "docid": "a", "score": 1}], "frame"),
        (QRELS, [("1", "a", 1)], "frame"),
        (QRELS, {"qid": ["1"], "docid": ["a"], "score": [1]}, "frame"),
        (QRELS, np.array([[3, 1], [2, 0]]), "from_top_k"), (QRELS, [["a", "b", "c"]], "from_top_k"),
        (QRELS, pd.Series({"1": ["a"]}), "to_dict"), (QRELS, {"1": {"a", "b"}}, "list"),
        ([("1", "a", 1)], QRELS, "frame"), ({"1": {1.5: 1}}, QRELS, r"query '1' .*1\.5"),
        ({"1": {"d\ud800": 1}}, QRELS, r"d\\ud800"),
        (QRELS, {"01": {"a": np.nan}}, "query '01' .*nan"), (QRELS, {"1": [b"\xff"]}, "query '1'"),
        (pl.DataFrame({"qid": ["1"], "docid": ["a"], "label": [date(2020, 1, 1)]}), QRELS, "row 0"),
        (trec.Run.from_arrays(["1"], ["a"], [1.0], name="bm25"), QRELS, "'bm25'"),
        (QRELS, trec.Qrels.from_arrays(["1"], ["a"], [1]), "Qrels"),
        (QRELS, {"a" * 500: QRELS["1"] | {"b": "x" * 500}}, r"\.\.\."),
    ],
)  # fmt: skip
def test_mistakes_in_memory(qrels, runs, shown):
    with pytest.raises(ValueError, match=shown) as error:
        trec.evaluate(qrels, runs, "ap")
    assert len(str(error.value)) < 500


def test_a_document_that_looks_like_a_path():
    with pytest.raises(FileNotFoundError, match=r"\{'u1': \['i3'\]\}"):
        trec.evaluate({"u1": ["i3"]}, {"u1": "i3"}, ["rr"])


@pytest.mark.filterwarnings("ignore:no query has a relevant")
@pytest.mark.parametrize(
    ("qrels", "run", "shown", "absent"),
    [
        ({"a": {"x": -1}}, {"a": ["x"]}, "pool_judged", "spelled"),
        ({"a": {"x": None}}, {"a": ["x"]}, "pool_judged", "spelled"),
        ({"a": {"caf\u00e9": 1}}, {"a": ["cafe\u0301"]}, r"cafe\\u0301.*caf\\xe9", "other queries"),
        ({"a": {"D1": 1}}, {"a": ["d1"]}, "'d1'.*'D1'", "other queries"),
        ({"a": {"x": 1}, "b": {"y": 1}}, {"a": ["y"], "b": ["x"]}, "other queries", "Unicode"),
    ],
)
def test_no_retrieved_document_is_judged(qrels, run, shown, absent):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        trec.evaluate(qrels, run, ["rr"])
    text = " ".join(str(one.message) for one in caught)
    assert re.search(shown, text)
    assert absent not in text


def test_unnamed_runs_are_numbered():
    for runs in ([QRELS, QRELS], [pd.DataFrame(SCORED), pd.DataFrame(SCORED)]):
        assert list(trec.read_runs(runs)) == ["run1", "run2"]
        assert trec.evaluate(QRELS, runs, "rr").systems == ["run1", "run2"]
