"""The page of ``--format html``: its content, in a browser, without requests."""

import json
import re
from html.parser import HTMLParser

import pandas as pd
import pytest

from skrank import trec
from skrank.cli import main
from tests.helpers.browser import CHROMIUM, WITHOUT, opened, other_hosts
from tests.helpers.informativeness_cases import made

NASTY = "</script><b>x&"


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    """Files of qrels and three runs: b better than a, and one whose name has to be escaped."""
    folder = tmp_path_factory.mktemp("page")
    qrels, runs, *_ = made(25, 20, noises=(2.0, 0.3, 2.0), unjudged=0)
    (folder / "qrels.json").write_text(json.dumps(qrels.to_dict()))
    for place, (run, name) in enumerate(zip(runs, ["a", "b", NASTY], strict=True)):
        run.to_frame().assign(run=name).to_csv(folder / f"{place}.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def page(collection):
    runs = [str(collection / f"{place}.csv") for place in range(3)]
    options = ["-m", "ap", "-m", "trec_eval:ndcg_cut_10", "--format", "html"]
    options += ["-o", str(collection / "page.html")]
    assert main(["evaluate", str(collection / "qrels.json"), *runs, *options]) == 0
    return collection / "page.html"


class Elements(HTMLParser):
    """Tags with their attributes, and the text outside of styles and programs."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.inside = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.inside.append(tag)

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"script", "style"} & set(self.inside):
            self.texts.append(data)


def data_of(text):
    """The data of a page."""
    return json.loads(re.findall(r"(?m)^const data = (.*);$", text)[0])


def test_it_holds_the_values(page, collection):
    runs = [collection / f"{place}.csv" for place in range(3)]
    report = trec.evaluate(collection / "qrels.json", runs, ["ap", "trec_eval:ndcg_cut_10"])
    data = data_of(page.read_text())
    assert data["runs"] == report.mean.ap.sort_values(ascending=False).index.tolist()
    assert NASTY in data["runs"]
    ends = report.to_frame()[["mean", "low", "high"]]
    for run, means, values in zip(data["runs"], data["means"], data["values"], strict=True):
        assert means == ends.loc[run].to_numpy().tolist()
        assert values == report.per_query.loc[run].to_numpy().T.tolist()
    pairs = pd.DataFrame(data["tests"])
    expected = report.compare().to_frame().drop(columns="p_uncorrected")
    pd.testing.assert_frame_equal(pairs, expected, check_dtype=False)


def test_it_loads_nothing(page):
    text = page.read_text()
    assert not any({"src", "href"} & set(attrs) for _, attrs in Elements(text).tags)
    assert "default-src 'none'" in text
    assert set(re.findall(r"https?://[^\s\"';]+", text)) == {"http://www.w3.org/2000/svg"}


def test_few_runs_and_queries(collection, call, tmp_path):
    def data(qrels, *runs):
        return data_of(call("evaluate", qrels, *runs, "-m", "ap", "--format", "html")[1])

    single = data(collection / "qrels.json", collection / "0.csv")
    assert not {"tests", "untested"} & set(single)
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n")
    (tmp_path / "good").write_text("1 Q0 a 0 2 good\n1 Q0 b 0 1 good\n")
    (tmp_path / "bad").write_text("1 Q0 a 0 1 bad\n1 Q0 b 0 2 bad\n")
    one_query = data(tmp_path / "qrels", tmp_path / "bad", tmp_path / "good")
    assert one_query["runs"] == ["good", "bad"]
    assert "tests" not in one_query
    assert "ap" in one_query["untested"]


@pytest.mark.skipif(CHROMIUM is None, reason=WITHOUT)
def test_a_browser_runs_it_without_an_error_or_a_request(page, tmp_path):
    found = opened(page.as_uri(), tmp_path / "page")
    assert "CONSOLE" not in found.messages
    dom = Elements(found.document)
    text = " ".join("".join(dom.texts).split())
    assert re.search(
        r"ap: b is first with 0\.\d{4}, then .* The difference is significant \(p", text
    )
    assert NASTY in text
    assert [tag for tag, _ in dom.tags].count("b") == 4  # two metrics, and their best values
    assert [tag for tag, _ in dom.tags].count("rect") == 25
    buttons = [tag for tag, _ in dom.tags].count("button")
    assert buttons == [tag for tag, _ in dom.tags].count("th") > 20
    assert len([tag for tag, _ in dom.tags if tag == "polyline"]) == 3
    assert not other_hosts(found, opened("about:blank", tmp_path / "blank"))
