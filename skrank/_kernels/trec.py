"""Read columns of TREC files, and join retrieved documents with judged documents.

A text is an array of bytes, padded with newlines to whole words of 8 bytes and one word more.
`words` is the same memory as uint64. `tokens` of shape (n_rows, n_columns, 2) holds the first byte
of each column of each line, and the byte after its last. The name of a document is a slice of a
text, with a hash; no string is created. Hash tables of documents use open addressing: `slots` holds
rows, or -1 if free; its size is a power of 2. Most kernels read a whole file, in one thread;
several files are read by several threads.
"""

from typing import NamedTuple

import numpy as np

from skrank._kernels.decimals import number
from skrank._kernels.jit import ONE_PASS, kernel, subroutine
from skrank._kernels.sorting import GAPS

TAB, NEWLINE, RETURN, SPACE, COMMENT = 9, 10, 13, 32, 35

_BYTE = np.uint64(8)
_LOW = np.uint64(0x7F7F7F7F7F7F7F7F)
_HIGH = np.uint64(0x8080808080808080)
# Added to a byte b < 128, these set the high bit if b > 32 (space), b >= 32, b >= 9 (tab), and b >
# 13 (carriage return).
_ABOVE_SPACE = np.uint64(0x5F5F5F5F5F5F5F5F)
_FROM_SPACE = np.uint64(0x6060606060606060)
_FROM_TAB = np.uint64(0x7777777777777777)
_ABOVE_RETURN = np.uint64(0x7272727272727272)
_INDEX = np.uint64(0x0001020304050607)  # multiplied by 256^k, it has k in the highest byte
_MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, for hashes


class Names(NamedTuple):
    """Names of documents, ``text[start[row] : stop[row]]``."""

    text: np.ndarray  # bytes
    start: np.ndarray
    stop: np.ndarray
    hashed: np.ndarray  # hash of each name


class HashedRun(NamedTuple):
    """Retrieved documents by query, best first, with a hash table for each query."""

    indptr: np.ndarray
    names: Names
    slot_ptr: np.ndarray  # first slot of each query
    slots: np.ndarray  # row of the document in each slot; -1 if the slot is free


class Judged(NamedTuple):
    """Judged documents by query."""

    query_of: np.ndarray  # query of the run for each judged query, or -1
    indptr: np.ndarray
    names: Names
    codes: np.ndarray


def _edges_by_numpy(words, out):
    """The result of `edges`, in plain Python."""
    text = words.view(np.uint8)
    places, n_read = np.flatnonzero(np.diff(text > SPACE, prepend=False)), len(text)
    if len(places) > len(out) - 8:  # `edges` ends early, after this word
        n_read = 8 * (places[len(out) - 8] // 8 + 1)
        places = places[places < n_read]
    out[: len(places)] = places
    read = text[: n_read + 8]
    low = read[read < SPACE]
    return len(places), bool(np.any((low < TAB) | (low > RETURN)))


@kernel(plain=_edges_by_numpy, row_cost=ONE_PASS)
def edges(words, out):
    """Fill in the start and the stop of each column, in turn. Bytes up to 32 separate columns.

    Eight bytes are read at a time. A byte of `ink` is 128 inside a column, else 0; a byte of
    `printable` is 128 from a space on; a byte of `control` is 128 for other characters than tab to
    carriage return (9 to 13). The loop ends early when fewer than 8 entries of `out` are left.
    Returns the number of starts and stops, and whether the text read so far has control characters
    other than white space.
    """
    one, top = np.uint64(1), np.uint64(56)
    found, before, control = 0, np.uint64(0), np.uint64(0)
    for i in range(len(words)):
        word = words[i]
        low = word & _LOW
        ink = ((low + _ABOVE_SPACE) | word) & _HIGH
        printable = ((low + _FROM_SPACE) | word) & _HIGH
        if printable != _HIGH:
            control |= ~(printable | ((low + _FROM_TAB) & ~(low + _ABOVE_RETURN))) & _HIGH
        change = (ink ^ ((ink << _BYTE) | before)) >> np.uint64(7)
        before = ink >> top
        if found + 8 > len(out):
            break
        while change:
            lowest = change & (~change + one)
            out[found] = 8 * i + np.int64((lowest * _INDEX) >> top)
            change ^= lowest
            found += 1
    return found, control != 0


@subroutine()
def _has_newline(text, start, stop):
    """Whether there is a newline in text[start:stop]."""
    while start < stop and text[start] != NEWLINE:
        start += 1
    return start < stop


def _first_wrong_by_numpy(text, tokens, inside, comments):
    """The result of `first_wrong`, in plain Python."""
    newlines = np.flatnonzero(text == NEWLINE)
    n_above = np.searchsorted(newlines, tokens)  # newlines above each start and each stop
    above_next = np.append(n_above[1:, 0, 0], len(newlines))  # newlines above the next row
    wrong = above_next == n_above[:, -1, 1]
    if inside:
        wrong |= n_above[:, -1, 0] > n_above[:, 0, 1]
    if comments:
        wrong |= text[tokens[:, 0, 0]] == COMMENT
    return int(np.argmax(wrong)) if wrong.any() else -1


@kernel(plain=_first_wrong_by_numpy, row_cost=ONE_PASS)
def first_wrong(text, tokens, inside, comments):
    """First row whose columns are not exactly the columns of one line, or -1.

    Newlines between the columns of a row are searched for only if `inside` is True. This is not
    needed if the text has as many newlines as rows and each row ends with a newline. If `comments`
    is True, a row that begins with # counts as wrong.
    """
    n_rows, n_columns, _ = tokens.shape
    for row in range(n_rows):
        if comments and text[tokens[row, 0, 0]] == COMMENT:
            return row
        for column in range(1, n_columns * inside):
            if _has_newline(text, tokens[row, column - 1, 1], tokens[row, column, 0]):
                return row
        end = tokens[row + 1, 0, 0] if row + 1 < n_rows else len(text)
        if not _has_newline(text, tokens[row, n_columns - 1, 1], end):
            return row
    return -1


@subroutine()
def _same(text, a, a_stop, other, b, b_stop):
    """Whether two slices are equal."""
    if a_stop - a != b_stop - b:
        return False
    while a < a_stop and text[a] == other[b]:
        a += 1
        b += 1
    return a == a_stop


def _blocks_by_slices(text, tokens, column, first_row):
    """The result of `blocks`, in plain Python."""
    data, above, found = text.tobytes(), None, 0
    for row, (start, stop) in enumerate(tokens[:, column].tolist()):
        if data[start:stop] != above:
            first_row[found] = row
            found += 1
        above = data[start:stop]
    return found


@kernel(plain=_blocks_by_slices, row_cost=ONE_PASS)
def blocks(text, tokens, column, first_row):
    """Fill in the first row of each run of adjacent rows with the same text in a column.

    Returns the number of runs.
    """
    found = 0
    for row in range(len(tokens)):
        start, stop = tokens[row, column, 0], tokens[row, column, 1]
        above, end = tokens[max(row, 1) - 1, column, 0], tokens[max(row, 1) - 1, column, 1]
        if row == 0 or not _same(text, start, stop, text, above, end):
            first_row[found] = row
            found += 1
    return found


def _numbers_by_float(text, tokens, column, out):
    """The result of `numbers`, in plain Python, but for rare decimals: these are read, too."""
    data = text.tobytes()
    for row, (start, stop) in enumerate(tokens[:, column].tolist()):
        word = data[start:stop]
        try:
            out[row] = np.nan if b"_" in word else float(word)
        except ValueError:
            out[row] = np.nan
    out[np.isinf(out)] = np.nan


@kernel(plain=_numbers_by_float, row_cost=ONE_PASS)
def numbers(text, tokens, column, out):
    """Fill in the numbers of a column; NaN if a text is not a decimal, or rare: see `number`.

    The caller reads texts of which the result is NaN again, by Python.
    """
    for row in range(len(tokens)):
        out[row] = number(text, tokens[row, column, 0], tokens[row, column, 1])


@subroutine()
def _word(words, pos):
    """The eight bytes from byte `pos` on, as a word; also for arrays of `pos`.

    The next word is shifted in two steps, since a shift by 64 bits is undefined.
    """
    shift = np.uint64(8 * (pos & 7))
    next_word = words[(pos >> 3) + 1] << np.uint64(1)
    return (words[pos >> 3] >> shift) | (next_word << (np.uint64(63) - shift))


def _hashes_by_numpy(words, start, stop, out):
    """The result of `hashes`, in plain Python: all slices at once, word by word."""
    pos, end = start.astype(np.int64), stop.astype(np.int64)
    mixed = (end - pos).astype(np.uint64)
    long = np.flatnonzero(pos + 8 < end)
    while len(long):
        mixed[long] = (mixed[long] ^ _word(words, pos[long])) * _MIX
        mixed[long] ^= mixed[long] >> np.uint64(32)
        pos[long] += 8
        long = long[pos[long] + 8 < end[long]]
    named = np.flatnonzero(pos < end)
    rest = (8 * (pos + 8 - end)[named]).astype(np.uint64)
    mixed[named] ^= (_word(words, pos[named]) << rest) >> rest
    mixed *= _MIX
    out[:] = mixed ^ (mixed >> np.uint64(32))


@kernel(plain=_hashes_by_numpy, row_cost=ONE_PASS)
def hashes(words, start, stop, out):
    """Fill in a hash of each slice of a text."""
    for row in range(len(start)):
        pos, end = np.int64(start[row]), np.int64(stop[row])
        mixed = np.uint64(end - pos)
        while pos + 8 < end:
            mixed = (mixed ^ _word(words, pos)) * _MIX
            mixed ^= mixed >> np.uint64(32)
            pos += 8
        if pos < end:  # a shift by 64 bits is undefined
            rest = np.uint64(8 * (pos + 8 - end))
            mixed ^= (_word(words, pos) << rest) >> rest
        mixed *= _MIX
        out[row] = mixed ^ (mixed >> np.uint64(32))


@subroutine()
def _find(slots, documents, others, row):
    """Slot of document `row` of `others` in a table of `documents`; a free slot if missing.

    A table is never full.
    """
    text, start, stop, hashed = documents
    other_text, other_start, other_stop, other_hashed = others
    key = other_hashed[row]
    slot = np.int64(key & np.uint64(len(slots) - 1))
    while slots[slot] >= 0:
        seen = slots[slot]
        if hashed[seen] == key and _same(
            text, start[seen], stop[seen], other_text, other_start[row], other_stop[row]
        ):
            return slot
        slot = (slot + 1) & (len(slots) - 1)
    return slot


def _fill_tables_by_dicts(indptr, documents, slot_ptr, slots):
    """The result of `fill_tables`, in plain Python."""
    text, start, stop, _ = documents
    hashed, first = documents.hashed.tolist(), slot_ptr.tolist()
    slots[:] = -1
    for q in range(len(indptr) - 1):
        last_slot = first[q + 1] - first[q] - 1
        taken = {}  # rows by slot
        for row in range(indptr[q], indptr[q + 1]):
            slot = hashed[row] & last_slot
            while slot in taken:
                seen = taken[slot]
                if hashed[seen] == hashed[row] and _same(
                    text, start[seen], stop[seen], text, start[row], stop[row]
                ):
                    return seen, row
                slot = (slot + 1) & last_slot
            taken[slot] = row
        slots[first[q] + np.array(list(taken), np.int64)] = list(taken.values())
    return -1, -1


@kernel(plain=_fill_tables_by_dicts, row_cost=ONE_PASS)
def fill_tables(indptr, documents, slot_ptr, slots):
    """Insert the documents of each query into its hash table.

    Returns the rows of the first document that occurs twice in one query, or (-1, -1).
    """
    for q in range(len(indptr) - 1):
        mine = slots[slot_ptr[q] : slot_ptr[q + 1]]
        mine[:] = -1
        for row in range(indptr[q], indptr[q + 1]):
            slot = _find(mine, documents, documents, row)
            if mine[slot] >= 0:
                return np.int64(mine[slot]), row
            mine[slot] = row
    return np.int64(-1), np.int64(-1)


@subroutine()
def _before(text, a, a_stop, b, b_stop):
    """Whether text[a:a_stop] precedes text[b:b_stop] in descending order of bytes."""
    for i in range(min(a_stop - a, b_stop - b)):
        if text[a + i] != text[b + i]:
            return text[a + i] > text[b + i]
    return a_stop - a > b_stop - b


@subroutine()
def _sort_names(text, start, stop, rows):
    """Shell's sort of rows by the names of their documents, descending."""
    for gap in GAPS:
        for i in range(gap, len(rows)):
            row, j = rows[i], i
            while j >= gap and _before(
                text, start[row], stop[row], start[rows[j - gap]], stop[rows[j - gap]]
            ):
                rows[j] = rows[j - gap]
                j -= gap
            rows[j] = row


@kernel(plain=True)
def settle_by_name(first, last, indptr, tied, text, start, stop, rows):
    """Order the rows inside each block of ties by the names of their documents, descending."""
    for q in range(first, last):
        low = indptr[q]
        for rank in range(indptr[q] + 1, indptr[q + 1] + 1):
            if rank == indptr[q + 1] or not tied[rank]:
                if rank > low + 1:
                    _sort_names(text, start, stop, rows[low:rank])
                low = rank


@kernel(plain=True, row_cost=ONE_PASS)
def join(run, judged, unjudged, codes, indptr):
    """Fill in the codes of retrieved documents, then the codes of the other judged documents.

    Parameters
    ----------
    run : HashedRun
    judged : Judged
    unjudged : int
        Code of pooled documents without a label. The next code is for documents not pooled.
    codes : array, filled in
        By judged query.
    indptr : array, filled in
        First index of each judged query in `codes`.

    Returns
    -------
    int
        Number of retrieved documents with a label.
    """
    run_ptr, run_names, slot_ptr, run_slots = run
    query_of, judged_ptr, names, given = judged
    end, n_matched = 0, 0
    indptr[0] = 0
    for q in range(len(judged_ptr) - 1):
        base, low, high, slots = end, 0, 0, run_slots[:0]
        if query_of[q] >= 0:
            low, high = run_ptr[query_of[q]], run_ptr[query_of[q] + 1]
            slots = run_slots[slot_ptr[query_of[q]] : slot_ptr[query_of[q] + 1]]
        end += high - low
        codes[base:end] = unjudged + 1
        for row in range(judged_ptr[q], judged_ptr[q + 1]):
            place = slots[_find(slots, run_names, names, row)] if high > low else -1
            if place >= 0:
                codes[base + place - low] = given[row]
                n_matched += given[row] < unjudged
            else:
                codes[end] = given[row]
                end += 1
        indptr[q + 1] = end
    return n_matched
