"""Memory and time to evaluate a run that is larger than memory.

Usage: python benchmarks/large_evaluation.py [ROWS] [--folder FOLDER] [--chunksize N]

Writes a run of ROWS documents (100 million by default), 1000 per query, as Parquet, and judgments
of 50 documents per query in the TREC format, in a temporary folder. Then a separate process
evaluates the run in chunks, and prints its time and peak memory. Needs pyarrow, and about 16 bytes
of disk per row.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

DEPTH, JUDGED = 1000, 50
METRICS = ["gap", "ndcg@10", "ap", "err@20"]
AT_ONCE = 1000  # queries of a row group


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("rows", nargs="?", type=int, default=100_000_000)
    parser.add_argument("--folder", help="parent of the temporary folder")
    parser.add_argument("--chunksize", type=int, default=500_000)
    parser.add_argument("--files", nargs=2, help=argparse.SUPPRESS)  # set in the second process
    options = parser.parse_args()
    if options.files:
        measure(*options.files, options.chunksize)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        start = time.perf_counter()
        qrels, run = make(Path(folder), options.rows // DEPTH)
        size = run.stat().st_size / 1e9
        print(f"{options.rows} rows, {size:.2f} GB of Parquet: {time.perf_counter() - start:.0f} s")
        command = [sys.executable, __file__, "--chunksize", str(options.chunksize)]
        subprocess.run([*command, "--files", str(qrels), str(run)], check=True)


def make(folder: Path, n_queries: int) -> tuple[Path, Path]:
    """Write judgments, and a run that retrieves all judged documents in random order."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    qrels, run = folder / "qrels.txt", folder / "run.parquet"
    schema = pa.schema([("qid", pa.string()), ("docid", pa.string()), ("score", pa.float64())])
    with (
        parquet.ParquetWriter(run, schema, use_dictionary=["qid"]) as writer,
        open(qrels, "w") as q,
    ):
        for first in range(0, n_queries, AT_ONCE):
            ids = np.arange(first, min(first + AT_ONCE, n_queries))
            documents = rng.integers(0, 900, (len(ids), DEPTH)) + np.arange(DEPTH) * 1000
            scores = -np.sort(-rng.normal(size=(len(ids), DEPTH)))
            judged = np.sort(
                rng.permuted(np.tile(np.arange(DEPTH), (len(ids), 1)), axis=1)[:, :JUDGED]
            )
            labels = rng.choice(4, p=[0.6, 0.2, 0.15, 0.05], size=judged.shape)
            names = pa.array(documents.ravel()).cast(pa.string())
            columns = [pa.array(np.repeat(ids, DEPTH)).cast(pa.string()), names, scores.ravel()]
            writer.write_table(pa.table(columns, schema=schema))
            found = np.take_along_axis(documents, judged, axis=1)
            for number, row, grades in zip(
                ids.tolist(), found.tolist(), labels.tolist(), strict=True
            ):
                q.writelines(f"{number} 0 {d} {y}\n" for d, y in zip(row, grades, strict=True))
    return qrels, run


def measure(qrels: str, run: str, chunksize: int) -> None:
    """Evaluate the run in chunks, and print time and memory."""
    from skrank import trec

    start, busy = time.perf_counter(), time.process_time()
    report = trec.evaluate(qrels, {"run": run}, METRICS, chunksize=chunksize)
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(report.mean.to_string(float_format="{:.6f}".format))
    print(
        f"{report.counts['documents'][0]} rows measured in {seconds:.0f} s ({busy:.0f} s of "
        f"processor time), at most {peak:.2f} GB of memory"
    )


if __name__ == "__main__":
    main()
