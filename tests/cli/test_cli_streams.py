"""Output of commands: formats by suffix, and streams that are closed or full."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

FULL = Path("/dev/full")

SUFFIXES = {".csv": "csv", ".json": "json", ".ndjson": "jsonl", ".HTML": "html", ".tex": "latex",
            ".md": "markdown", ".txt": "table", "": "table"}  # fmt: skip


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_the_suffix_of_a_file_says_the_format(files, call, suffix):
    for command in ("evaluate", "compare"):
        _, expected, _ = call(command, *files, "-m", "gap", "--format", SUFFIXES[suffix])
        assert call(command, *files, "-m", "gap", "-o", f"report{suffix}") == (0, "", "")
        found, expected = (
            re.sub(r'"made": "[^"]*"', "", text)
            for text in (Path(f"report{suffix}").read_text(), expected)
        )
        assert found == expected


@pytest.mark.parametrize(
    ("suffix", "given"), [(".csv", "json"), (".tsv", None), (".csv.gz", "csv")]
)
def test_a_format_must_not_contradict_the_suffix(files, call, suffix, given):
    options = [] if given is None else ["--format", given]
    status, _, err = call("evaluate", *files, "-m", "ap", "-o", f"report{suffix}", *options)
    assert status == 2
    assert f"argument -o/--output: report{suffix}: " in err
    assert not Path(f"report{suffix}").exists()
    assert call("evaluate", *files, "-m", "ap", "-o", "report.data", "--format", "csv")[0] == 0


CALL = ["evaluate", "qrels", "bm25", "-m", "ap"]


@pytest.fixture
def shell(python):
    """Run a command with its streams redirected by a shell."""

    def shell(call, redirection):
        before = ["sh", "-c", f'exec "$@" {redirection}', "sh"]
        return python("-m", "skrank", *call, before=before)

    return shell


def test_a_closed_standard_output_is_an_error(files, shell):
    closed = shell(CALL, ">&-")
    assert (closed.returncode, closed.stderr) == (1, "skrank: error: standard output is closed.\n")
    assert shell([*CALL, "-o", "report.csv"], ">&-").returncode == 0
    assert Path("report.csv").read_text().startswith("run,")
    done = shell(["evaluate", "qrels", "-"], "<&-")
    assert (done.returncode, done.stderr.startswith("skrank: error: standard input")) == (1, True)


def test_a_pipe_with_a_name_gets_the_output(files, call):
    os.mkfifo("pipe")
    with ThreadPoolExecutor(1) as reader:
        read = reader.submit(Path("pipe").read_text)
        assert call(*CALL, "--format", "csv", "-o", "pipe") == (0, "", "")
        assert read.result(timeout=60) == call(*CALL, "--format", "csv")[1]
    assert Path("pipe").is_fifo()


@pytest.mark.parametrize("stream", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_other_programs_write_after_a_stream_that_is_a_file(files, python, stream):
    before = ["sh", "-c", f'("$@" -o {stream}; echo done) > report', "sh"]
    python("-m", "skrank", *CALL, before=before)
    lines = Path("report").read_text().splitlines()
    assert (len(lines), lines[0].split()[0], lines[-1]) == (3, "run", "done")


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="there is no /dev/shm")
def test_a_file_in_shared_memory_is_replaced(files, call):
    with TemporaryDirectory(dir="/dev/shm") as folder:
        for _ in range(2):
            assert call(*CALL, "-o", f"{folder}/report.csv")[0] == 0
        assert Path(folder, "report.csv").read_text() == call(*CALL, "--format", "csv")[1]


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_file_is_replaced_as_a_whole_through_links_and_keeps_its_mode(
    files, call, monkeypatch, failing
):
    def fail(*_):
        raise OSError(28, "No space left on device")

    Path("report").write_text("old")
    Path("report").chmod(0o640)
    Path("link").symlink_to("report")
    before = set(os.listdir())
    with monkeypatch.context() as context:
        context.setattr(os, failing, fail)
        status, _, err = call(*CALL, "-o", "link")
    assert (status, "link: No space left" in err, Path("report").read_text()) == (1, True, "old")
    assert call(*CALL, "-o", "link")[0] == 0
    assert set(os.listdir()) == before
    assert (Path("report").read_text(), Path("report").stat().st_mode & 0o777) == (
        call(*CALL)[1], 0o640
    )  # fmt: skip
    assert call(*CALL, "-o", "n" * 250)[0] == 0  # the longest name
    assert Path("n" * 250).stat().st_mode == Path("qrels").stat().st_mode


@pytest.mark.skipif(not FULL.is_char_device(), reason="there is no /dev/full")
def test_a_full_standard_output_is_an_error(files, shell):
    full = shell(CALL, f"> {FULL}")
    message = "skrank: error: standard output: No space left on device\n"
    assert (full.returncode, full.stderr) == (1, message)


def test_a_reader_that_has_seen_enough_is_no_error_to_tell(files):
    command = [sys.executable, "-m", "skrank", *CALL]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as one:
        one.stdout.close()
        assert one.stderr.read() == b""
        assert one.wait() == 1
