"""Scores in files are the doubles that `float` reads, bit for bit, in compiled and plain loops."""

import io
import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skrank import trec
from skrank._kernels import jit
from skrank.trec._table import decimal

DIGITS = st.text("0123456789", max_size=24)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def spelled(draw):
    """A decimal in any of the forms that `float` reads."""
    whole, part = draw(DIGITS), draw(st.none() | DIGITS)
    if not whole + (part or ""):
        whole = "0"
    zeros = "0" * draw(st.sampled_from((0, 0, 3, 30)))
    point = "" if part is None else f".{draw(st.sampled_from(('', zeros)))}{part}"
    exponent = draw(st.none() | st.integers(-400, 400) | st.integers(-25, 25))
    letter, plus = draw(st.sampled_from("eE")), draw(st.sampled_from(("", "+")))
    power = "" if exponent is None else f"{letter}{plus * (exponent >= 0)}{exponent}"
    return draw(st.sampled_from(("", "-", "+"))) + zeros + whole + point + power


@st.composite
def near_the_middle(draw):
    """A decimal at, or next to, the middle of two doubles."""
    low = draw(st.floats(1e-250, 1e250))
    with localcontext() as context:
        context.prec = 60
        middle = (Decimal(low) + Decimal(math.nextafter(low, math.inf))) / 2
    return f"{middle:.{draw(st.integers(15, 24))}e}"


WORDS = spelled() | near_the_middle() | DOUBLES.map(repr) | DOUBLES.map("{:.17g}".format)


def read(words):
    """The scores of a run, by the number of the document."""
    lines = (f"q Q0 {place} 0 {word} t\n" for place, word in enumerate(words))
    run = trec.read_run(io.BytesIO("".join(lines).encode()), precision="double")
    scores = np.empty(len(words))
    scores[np.array(run.documents.names(), int)] = run.scores
    return scores


def assert_same_bits(words):
    finite = [word for word in words if math.isfinite(float(word))]
    if finite:
        expected = np.array([float(word) for word in finite])
        assert read(finite).view(np.int64).tolist() == expected.view(np.int64).tolist()


@pytest.fixture(params=["compiled", "plain"], scope="module")
def form(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jit.Kernel, "for_rows", lambda kernel, *_: getattr(kernel, request.param))
        yield


@settings(deadline=None, max_examples=300)
@given(words=st.lists(WORDS, min_size=1, max_size=40))
@example(words=["9.1e-05", "-0e-5", "-0.0", "0e999", "5.", ".5E+3", "00000000000000000000001.5"])
@example(words=["9007199254740993", "9007199254740993e-3", "4503599627370497.5", "1e23", "8.5e22"])
@example(words=["1e280", "1e281", "1e-280", "1e-281", "5e-324", "2.2250738585072014e-308"])
def test_random_decimals(form, words):
    assert_same_bits(words)


def test_many_doubles(form):
    rng = np.random.default_rng(0)
    doubles = np.frombuffer(rng.bytes(8 * 2000)).tolist()
    usual = (rng.normal(size=2000) * 10.0 ** rng.integers(-30, 30, 2000)).tolist()
    words = [repr(one) for one in doubles if one == one] + list(map(repr, usual))
    words += [f"{one:.20f}" for one in rng.random(500)] + [f"{one:.12e}" for one in usual[:500]]
    assert_same_bits(words)


@pytest.mark.parametrize("word", ["1e", "e5", ".e1", "1e+", "1e5.0", "1ee5", "1e5e", "1e 5", "+-1",
                                  "1e_5", "0x1p3", "1e99999", "-", "."])  # fmt: skip
def test_what_is_no_finite_decimal_is_refused(form, word):
    assert decimal(word) in (None, math.inf)
    with pytest.raises(ValueError, match="not a finite number"):
        trec.read_run(io.StringIO(f"q Q0 a 0 {word} t\n"))


def test_labels_with_an_exponent(form):
    qrels = trec.read_qrels(io.StringIO("q 0 a 2e0\nq 0 b 10E-1\nq 0 c -1e0\n"))
    assert qrels.to_dict() == {"q": {"a": 2, "b": 1, "c": -1}}
