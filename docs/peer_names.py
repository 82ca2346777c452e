"""Write the page of names that other tools give to metrics, from the tables that read them.

python docs/peer_names.py
"""

from __future__ import annotations

from pathlib import Path

import skrank
from skrank._engine.peer_tables import (
    CUT_MODELS,
    GRADED_MODELS,
    IR_MEASURES,
    RANX,
    RANX_TIES,
    TREC_EVAL,
    Here,
    Refused,
)

PAGE = Path(__file__).parent / "reference" / "names.md"
HEAD = """# Names of trec_eval, ir_measures and ranx

Made from the tables that read them by `python docs/build.py`.

`skrank.metric` and everything that takes names of metrics reads those of trec_eval, ir_measures
and ranx with their meaning: gains, lowest relevant label, and 0 for queries without relevant
documents.

* A prefix says whose a name is: `trec_eval:ndcg`, `ir_measures:nDCG@10`, `ranx:ndcg_burges@10`.
* Without a prefix, a spelling that only another tool has is that tool's: `ndcg_cut_10`, `P_5`,
  `recip_rank`, `SetP`, `hit_rate@5`. A name of skrank is skrank's: `map` and `ndcg@10` leave
  queries without a relevant document out of the mean (`empty="skip"`), and `ndcg` has the gain
  2^label - 1.
* `trec_eval:` is version 9, which pytrec_eval and ir_measures run; `trec_eval10:` differs in
  `iprec_at_recall` and `11pt_avg`, which round the number of relevant documents that reach a level.
* A name with several parameters, such as `P.5,10`, one without its parameter, such as
  `trec_eval:P`, and the nicknames `official`, `set` and `all_trec` stand for several metrics:
  `skrank.trec.evaluate` takes them.

The values are those of the tool on the same order of documents. `skrank.trec` breaks ties as
trec_eval does, by the names of documents; on arrays, `ties=` says what becomes of them.
"""
TITLES = {"trec_eval": TREC_EVAL, "ir_measures": IR_MEASURES, "ranx": RANX}


def shown(peer: str, name: str, here: Here) -> tuple[str, str]:
    """A name with its parameter, and what it is here."""
    if peer == "trec_eval" and here.usual:
        value = str(here.usual[0])
        text = name if here.all_at_once else f"{name}_{value}"
        text = name if name == "set_F" else text
    elif peer == "ir_measures" and name == "RBP":
        text = "RBP(p=0.8,rel=1)"
    elif peer == "ir_measures" and name in GRADED_MODELS:
        text = f"{name}(max_rel=4)" + ("@10" if name in CUT_MODELS else "")
    elif peer == "ir_measures" and name == "IPrec":
        text = "IPrec@0.1"
    else:
        text = name
    return text, str(skrank.metric(f"{peer}:{text}"))


def table(peer: str, names: dict[str, Here | Refused]) -> str:
    """The names of a tool: those read, and those refused."""
    lines = [f"\n## {peer}\n\n| name | here | where values differ |\n|---|---|---|\n"]
    refused = ["\nNot read:\n\n| name | why | nearest |\n|---|---|---|\n"]
    for name, here in names.items():
        if isinstance(here, Refused):
            near = f"`{here.nearest}`" if here.nearest else ""
            refused.append(f"| `{name}` | {here.reason} | {near} |\n")
        else:
            text, ours = shown(peer, name, here)
            note = here.note or (RANX_TIES if peer == "ranx" else "")
            lines.append(f"| `{text}` | `{ours}` | {note} |\n")
    return "".join(lines + refused)


def page() -> str:
    """The text of the page."""
    return HEAD + "".join(table(peer, names) for peer, names in TITLES.items())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")
