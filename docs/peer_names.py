"""Write the page of names that other tools give to metrics, from the tables that read them.

python docs/peer_names.py
"""

from __future__ import annotations

from pathlib import Path

import skrank
from skrank._engine.peer_names import Entry, tables

PAGE = Path(__file__).parent / "reference" / "names.md"
HEAD = """# Names of other tools

skrank reads the metric names of five tools wherever it takes names of metrics, and computes the
values of the tool. [Conventions](../conventions.md#how-to-compute-the-values-of-other-tools) has
the metrics of other tools.

* A prefix names the tool: `trec_eval:ndcg`, `ir_measures:nDCG@10`, `lightgbm:ndcg@5`,
  `xgboost:ndcg@5-`, `catboost:NDCG:top=10;type=Base`.
* A name without a prefix is a definition of skrank, in any case of letters: also `nDCG@10`, `RR@10`
  and `map`. For BM25 on TREC DL 2019, `nDCG@10` is .436 (gain 2^grade - 1), and
  `ir_measures:nDCG@10` .506 (gain: the grade). Other names of tools, such as `P_5`, are errors that
  say how to write the metric.
* `trec_eval:` is version 9, which compares scores in single precision: the metrics below with
  `single_precision=True`. Version 10 differs in `iprec_at_recall` and `11pt_avg`:
  `iprec(recall=0.1,rounding=trec_eval10,empty=0)` and `iap(rounding=trec_eval10,empty=0)`.
* `skrank.trec.evaluate` also takes names that stand for several metrics, such as
  `trec_eval:P.5,10`, `trec_eval:P`, `trec_eval:official`, `trec_eval:set` and `trec_eval:all_trec`.
* In `trec_eval:ndcg_1=3,2=9` and `ir_measures:nDCG(gains={1:3,2:9})`, other labels below 32 are
  their own gains. skrank refuses gains that fall as labels rise, and a gain of label 0, which
  documents without a judgment would have, too.

The values equal those of the tool if documents have the same order. `skrank.trec` orders documents
with tied scores by name, as trec_eval does. On arrays, tied documents count with the mean over
their orders, unless `ties=` is given. Names of LightGBM and XGBoost order tied documents by row,
names of CatBoost use the worst order.
"""


def shown(peer: str, name: str, entry: Entry) -> tuple[str, str]:
    """A name with its parameter, and its name in skrank."""
    text = entry.example or name
    if entry.usual and "," not in entry.usual[0] and name != "set_F":
        text = f"{name}_{entry.usual[0]}"
    return text, str(skrank.metric(f"{peer}:{text}", single_precision=False))


def table(peer: str, entries: dict[str, Entry]) -> str:
    """The names of a tool: those read, where their values differ, and those refused."""
    read: dict[str, list[str]] = {}
    notes: dict[str, list[str]] = {}
    refused: dict[Entry, list[str]] = {}
    for name, entry in entries.items():
        if not entry.ours:
            refused.setdefault(entry, []).append(f"`{name}`")
            continue
        text, ours = shown(peer, name, entry)
        read.setdefault(ours, []).append(f"`{text}`")
        if entry.note:
            notes.setdefault(entry.note, []).append(f"`{text}`")
    lines = [f"\n## {peer}\n\n| name | skrank |\n|---|---|\n"]
    lines += [f"| {', '.join(names)} | `{ours}` |\n" for ours, names in read.items()]
    n_read = sum(map(len, read.values()))
    if notes:
        lines.append("\nWhere values differ:\n\n")
    for note, names in notes.items():
        lines.append(f"* {'all' if len(names) == n_read else ', '.join(names)}: {note}\n")
    lines.append("\nNot supported:\n\n")
    for entry, names in refused.items():
        nearest = f" (nearest: `{entry.example}`)" if entry.example else ""
        lines.append(f"* {', '.join(names)}: {entry.note}{nearest}\n")
    return "".join(lines)


def page() -> str:
    """The text of the page."""
    tools = {tool: entries for tool, entries in tables().items() if tool != "nickname"}
    return HEAD + "".join(table(tool, entries) for tool, entries in tools.items())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
