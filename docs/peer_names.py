"""Write the page of names that other tools give to metrics, from the tables that read them.

python docs/peer_names.py
"""

from __future__ import annotations

from pathlib import Path

import skrank
from skrank._engine.peer_names import Entry, tables

PAGE = Path(__file__).parent / "reference" / "names.md"
HEAD = """# Names of other tools

`python docs/build.py` makes this page.

skrank reads the metric names of eight tools wherever it takes names of metrics. Gains, lowest
relevant label, ties and the value of queries without relevant documents are those of the tool.

* A prefix names the tool: `trec_eval:ndcg`, `ir_measures:nDCG@10`, `ranx:ndcg_burges@10`,
  `lightgbm:ndcg@5`, `xgboost:ndcg@5-`, `catboost:NDCG:top=10;type=Base`,
  `sklearn:ndcg_score(k=10)`, `ntcireval:MSnDCG@10`.
* A name without a prefix is always a definition of skrank, in any case of letters: `nDCG@10` and
  `ndcg@10` are the same. The definitions of skrank leave queries without a relevant document out of
  the mean (`empty="skip"`), and `ndcg` has the gain 2^label - 1. Short names are aliases: `map`,
  `mrr`, `p@5`, `r@5`, `hit@5`.
* A name of a tool without its prefix, such as `P_5` or `MAP:top=5`, is an error that says how to
  write the metric.
* `trec_eval:` is version 9, which pytrec_eval and ir_measures run, and which compares scores in
  single precision; all other names compare them in double precision. `trec_eval10:` differs in
  `iprec_at_recall` and `11pt_avg`, which round the number of relevant documents that reach a level.
* `skrank.trec.evaluate` takes names that stand for several metrics: with several parameters, such
  as `trec_eval:P.5,10`, without the parameter, such as `trec_eval:P`, and the nicknames
  `trec_eval:official`, `trec_eval:set` and `trec_eval:all_trec`.
* Names of NTCIREVAL have its options in brackets. `ntcireval:Q(g=1:3:7,beta=2)@10` has the gains 1,
  3 and 7 for the grades 1, 2 and 3, as `-g 1:3:7 -beta 2`. Other options are `rbp` and `logb`.
  Without `g`, a grade is its own gain, and the highest grade is that of the collection. For the
  option -j, pass `condensed=True`.

The values equal those of the tool if documents have the same order. `skrank.trec` orders documents
with tied scores by name, as trec_eval does. On arrays, tied documents count with the mean over
their orders, unless `ties=` is given. Names of LightGBM and XGBoost order tied documents by row,
names of CatBoost use the worst order. NTCIREVAL has no ties, because its runs have no scores.

The tests compare with the tools, with the formulas in NTCIREVAL's documentation, and with values
that ranx printed.
"""


def shown(peer: str, name: str, entry: Entry) -> tuple[str, str]:
    """A name with its parameter, and its name in skrank."""
    text = entry.example or name
    if entry.usual and "," not in entry.usual[0] and name != "set_F":
        text = f"{name}_{entry.usual[0]}"
    return text, str(skrank.metric(f"{peer}:{text}"))


def table(peer: str, entries: dict[str, Entry]) -> str:
    """The names of a tool: those read, and those refused."""
    lines = [f"\n## {peer}\n\n| name | skrank | where values differ |\n|---|---|---|\n"]
    refused: dict[Entry, list[str]] = {}
    for name, entry in entries.items():
        if entry.ours:
            text, ours = shown(peer, name, entry)
            lines.append(f"| `{text}` | `{ours}` | {entry.note} |\n")
        else:
            refused.setdefault(entry, []).append(f"`{name}`")
    lines.append("\nNot supported:\n\n| names | why | nearest |\n|---|---|---|\n")
    for entry, those in refused.items():
        near = f"`{entry.example}`" if entry.example else ""
        lines.append(f"| {', '.join(those)} | {entry.note} | {near} |\n")
    return "".join(lines)


def page() -> str:
    """The text of the page."""
    tools = {tool: entries for tool, entries in tables().items() if tool != "nickname"}
    return HEAD + "".join(table(tool, entries) for tool, entries in tools.items())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
