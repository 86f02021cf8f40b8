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

which also prints every unknown name. A name is *native* if `snellen info NAME` says which benchmark of Snellen's own it
is, however it is spelt: case, hyphens, underscores and blanks make no difference where one name alone is meant. The
others are run *over the bridge*, by the tool's own code ([Benchmarks of other tools](bridge.md)), where its catalogue
lists them. A *benchmark* below is a class or data set of VLMEvalKit's, and a folder of tasks of lmms-eval's; it is
native in part if some of its splits, prompts or settings have no name here. What each name means in both tools is in
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
    columns = "tool commit of benchmarks native in_part bridge_alone unknown names native bridge_alone unknown"
    yield f"| {' | '.join(f'{columns} models open_here say_why_not unknown'.split()).replace('_', ' ')} |"
    yield "| --- | --- | --- |" + " ---: |" * 13
    for tool, read in tools.items():
        counts = [_split(one) for one in read["benchmarks"].values()]
        kinds = [_kind(one) for one in counts]
        numbers = [len(counts), *(kinds.count(kind) for kind in ("native", "part", "bridge", "unknown"))]
        numbers += [sum(map(sum, counts)), *(sum(one[place] for one in counts) for place in range(3))]
        reasons, missing = len(read["models_with_reason"]), len(read["models_without_reason"])
        numbers += [read["models"], read["models"] - reasons - missing, reasons, missing]
        link = f"[`{read['commit'][:8]}`]({REPOSITORIES[tool]}/tree/{read['commit']})"
        yield f"| {tool} | {link} | {read['commit_date']} | {' | '.join(map(str, numbers))} |"
    yield ""


def _kind(counts: tuple[int, int, int]) -> str:
    """How a benchmark is known, by its names: native, over the bridge, unknown."""
    native, bridged, unknown = counts
    if native:
        return "part" if bridged or unknown else "native"
    return "bridge" if bridged else "unknown"


def _benchmarks(tool: str, benchmarks: Mapping[str, str]) -> Iterator[str]:
    counts = {name: _split(text) for name, text in benchmarks.items()}
    of_kind = {kind: [name for name in counts if _kind(counts[name]) == kind] for kind in ("unknown", "bridge", "part")}
    yield f"## Benchmarks of {tool}"
    yield ""
    yield "Unknown, with how many names each has there:"
    yield ""
    yield _list({name: str(counts[name][2]) for name in of_kind["unknown"]})
    yield ""
    yield "Over the bridge alone, with how many names each has there:"
    yield ""
    yield _list({name: str(sum(counts[name])) for name in of_kind["bridge"]})
    yield ""
    yield "Native in part, with how many of how many names are native:"
    yield ""
    yield _list({name: f"{counts[name][0]} of {sum(counts[name])}" for name in of_kind["part"]})
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


def _split(text: str) -> tuple[int, int, int]:
    native, bridged, unknown = map(int, text.split())
    return native, bridged, unknown
