"""The page about the names of VLMEvalKit and lmms-eval: docs/known-elsewhere.md, from
docs/data/known_elsewhere.json, which tests/benchmarks/list_names_elsewhere.py writes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from page_cells import cell

DATA = Path(__file__).parent / "data" / "known_elsewhere.json"
REPOSITORIES = {
    "VLMEvalKit": "https://github.com/open-compass/VLMEvalKit",
    "lmms-eval": "https://github.com/EvolvingLMMs-Lab/lmms-eval",
}
HEAD = """\
# Known elsewhere, known here

<!-- Written by docs/generate.py from docs/data/known_elsewhere.json. -->

Which names of VLMEvalKit's and lmms-eval's Snellen knows, and which it does not. The lists were read on {read} from
checkouts of both, without running them, by

```text
python tests/benchmarks/list_names_elsewhere.py VLMEVALKIT_CHECKOUT LMMS_EVAL_CHECKOUT
```

which also prints every unknown name. A name counts as known if `snellen info NAME` says which benchmark or model it is
here, however it is spelt: case, hyphens, underscores and blanks make no difference where one name alone is meant. A
*benchmark* below is a class or data set of VLMEvalKit's, and a folder of tasks of lmms-eval's; it is known in part if
some of its splits, prompts or settings have no name here. What each name means in both tools is in
`tests/benchmarks/names_elsewhere.tsv` and `tests/models/names_elsewhere.tsv`.
"""


def page() -> str:
    """The text of docs/known-elsewhere.md."""
    data = json.loads(DATA.read_text(encoding="utf-8"))
    lines = [HEAD.format(read=data["read"]), *_counts(data["tools"])]
    for tool, read in data["tools"].items():
        lines += _benchmarks(tool, read["benchmarks"])
    for tool, read in data["tools"].items():
        lines += _models(tool, read)
    return "\n".join(lines)


def _counts(tools: Mapping[str, Any]) -> Iterator[str]:
    columns = "tool commit of benchmarks known in_part unknown names known models open_here say_why_not unknown"
    yield f"| {' | '.join(columns.split()).replace('_', ' ')} |"
    yield "| --- | --- | --- |" + " ---: |" * 10
    for tool, read in tools.items():
        counts = [_split(one) for one in read["benchmarks"].values()]
        whole = sum(not unknown for _, unknown in counts)
        none = sum(not known for known, _ in counts)
        names = sum(map(sum, counts))
        reasons, missing = len(read["models_with_reason"]), len(read["models_without_reason"])
        numbers = [len(counts), whole, len(counts) - whole - none, none, names, sum(known for known, _ in counts)]
        numbers += [read["models"], read["models"] - reasons - missing, reasons, missing]
        link = f"[`{read['commit'][:8]}`]({REPOSITORIES[tool]}/tree/{read['commit']})"
        yield f"| {tool} | {link} | {read['commit_date']} | {' | '.join(map(str, numbers))} |"
    yield ""


def _benchmarks(tool: str, benchmarks: Mapping[str, str]) -> Iterator[str]:
    counts = {name: _split(text) for name, text in benchmarks.items()}
    yield f"## Benchmarks of {tool}"
    yield ""
    yield "Unknown, with how many names each has there:"
    yield ""
    yield _list({name: str(unknown) for name, (known, unknown) in counts.items() if not known})
    yield ""
    yield "Known in part, with how many of how many names are known:"
    yield ""
    part = {name: f"{known} of {known + unknown}" for name, (known, unknown) in counts.items() if known and unknown}
    yield _list(part)
    yield ""


def _list(notes: Mapping[str, str]) -> str:
    return ", ".join(f"`{name}` {note}" for name, note in notes.items()) + "." if notes else "None."


def _models(tool: str, read: Mapping[str, Any]) -> Iterator[str]:
    yield f"## Names of models of {tool} that open none here"
    yield ""
    yield "| name | why, and how it could be asked |"
    yield "| --- | --- |"
    for name, reason in read["models_with_reason"].items():
        yield f"| `{name}` | {cell(reason)} |"
    for name in read["models_without_reason"]:
        yield f"| `{name}` | unknown |"
    yield ""


def _split(text: str) -> tuple[int, int]:
    known, unknown = map(int, text.split())
    return known, unknown
