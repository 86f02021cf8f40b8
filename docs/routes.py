"""The page about where every model's name leads: docs/routes.md, from the routes of the package."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from page_cells import cell

from snellen.models.hf.routing import command_of
from snellen.models.naming.catalog import CatalogEntry, catalog, find_entry, sources
from snellen.models.naming.routes import Route, model_lists, route_sources, routes_of
from snellen.models.remote.evidence import provider_level

HEAD = """\
# Where a model's name leads

<!-- Written by docs/generate.py from src/snellen/models/naming/routes. -->

Every name of `snellen list models --filter all` has a *route*: the nearest way to ask that model.
`snellen info NAME` says it with the command, what it needs, what was tried of it and where it was
read; `-m NAME` takes it, or the next one whose programs and libraries are on this machine, after one
question where code of others runs ([Where a name leads](catalog.md#where-a-name-leads)); `snellen plan`
names what is missing.

| route | what `-m NAME` does | what was tried here |
| --- | --- | --- |
| `transformers` | loads the checkpoint by the classes of transformers | a model of random weights \
of the same `model_type` ([Families of models](families.md)); for text models another one by the \
same classes |
| `twin` | loads the same weights, converted for transformers, under another name on the hub, and \
says so | the same, for the twin's `model_type` |
| `code` | with consent runs the checkpoint's own code, as an adapter says | a \
small model of random weights, with the files, signatures and processor of the original |
| `server` | as `vllm/NAME` starts vLLM, SGLang or LMDeploy, whose lists \
name the architecture | what [its evidence](servers.md#providers) says; not these weights |
| `environment` | as `environment/NAME` starts a one-file server, for which uv installs an older \
transformers or the package of the authors \
([how](local-models.md#a-model-in-an-environment-of-its-own)) | a small model of random weights, \
or nothing (read only) |
| `api` | asks the provider; needs a key | what [its evidence](servers.md#providers) says |
| `pipeline` | loads a diffusers pipeline, which draws | a small pipeline by the same interface |
| `none` | says why | nothing |

Own code is never run without consent. It is asked about one grey picture after it is loaded, so
that code for an older transformers ends in one sentence. A twin has its own commits: the revision
that the catalog pins for the original is not applied to it.

Models that take one picture are asked about several with the first, the texts joined; how many
questions these were is among the remarks of the run.
"""

QUOTED = (
    "InternVL3-78B",
    "InternVL3-38B",
    "InternVL3-8B",
    "InternVL2_5-78B-MPO",
    "Qwen2.5-VL-72B-Instruct",
    "Qwen2.5-VL-7B-Instruct",
    "Qwen2.5-VL-3B-Instruct",
    "Qwen3-VL-4B-Instruct",
    "Qwen2-VL-72B-Instruct",
    "Qwen2.5-Omni-7B",
    "Ovis2-34B",
    "Aria",
    "LLaVA-Video-72B-Qwen2",
    "llava-onevision-qwen2-7b-ov",
    "llava-v1.5-13b",
    "Llama-3.2-11B-Vision-Instruct",
    "MiniCPM-V-2_6",
    "gemini-2.5-pro",
    "gpt-4o-2024-08-06",
    "claude-3-7-sonnet-20250219",
)
"""Models of Tables 2 to 4 of VLMEvalKit's paper, by how many of them they are in, and of the
examples of lmms-eval, by how many use them."""

TRIED = {
    "small model": "a small model",
    "same interface": "another small model",
    "provider": "as its provider",
    "read": "read only",
}


def page() -> str:
    """The text of docs/routes.md."""
    return "\n".join([HEAD, *_counts(), *_quoted(), *_table(), *_sources()])


def _counts() -> Iterator[str]:
    counted = Counter((_first(entry).kind, _first(entry).tried) for entry in catalog())
    total = sum(counted.values())
    kinds = Counter(_first(entry).kind for entry in catalog())
    yield f"## {total} names, counted"
    yield ""
    yield "| route | names | small model | same interface | as its provider | read only |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for kind, count in kinds.most_common():
        cells = [counted[kind, tried] or "" for tried in TRIED]
        yield f"| `{kind}` | {count} | {' | '.join(map(str, cells))} |"
    yield ""
    without = sum(not routes_of(entry) for entry in catalog())
    yield (
        f"Names without a route or a reason: {without} of {total}. The lists are those of "
        f"transformers {model_lists().version} and of the servers' documentation (below)."
    )
    yield ""


def _quoted() -> Iterator[str]:
    yield "## The twenty most quoted"
    yield ""
    yield (
        "Of VLMEvalKit's leaderboards (Tables 2 to 4 of its paper) and lmms-eval's examples, with "
        "the command that asks each."
    )
    yield ""
    yield "| model | route | command |"
    yield "| --- | --- | --- |"
    for name in QUOTED:
        entry = find_entry(name)
        assert entry is not None, name
        yield f"| {entry.name} | {_first(entry)} | `snellen run {command_of(entry)} -b mmstar` |"
    yield ""


def _table() -> Iterator[str]:
    yield "## Every name"
    yield ""
    yield "| name | stands for | route | tried | other routes, or the reason | source |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for entry in catalog():
        best, *others = routes_of(entry)
        more = best.note if best.kind == "none" else ", ".join(map(_with_note, others))
        tried = provider_level(best.target) if best.tried == "provider" else TRIED[best.tried]
        tried = "" if best.kind == "none" else tried
        yield (f"| `{entry.name}` | `{entry.spec}` | {best} | {tried} | {cell(more)} | {best.source} |")
    yield ""


def _with_note(route: Route) -> str:
    note = f" ({route.note})" if route.note.startswith("needs") else ""
    return f"{route}{note}" if route.kind != "none" else route.note


def _sources() -> Iterator[str]:
    yield "## Sources"
    yield ""
    used = {route.source for entry in catalog() for route in routes_of(entry)}
    for name, source in sorted({**sources(), **route_sources()}.items()):
        if name in used:
            yield f"* {name}: {source.what} ({source.url}, read {source.read})"


def _first(entry: CatalogEntry) -> Route:
    return routes_of(entry)[0]
