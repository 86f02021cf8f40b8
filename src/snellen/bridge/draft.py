"""The files of a native benchmark, drafted from what the bridge sees of another tool's: a TOML entry, a
layout with made-up rows, and the set that compares the two scorers.

What the tool says stands in the fields; what it does not say is a comment. Nothing of a row is
copied but the names of its columns and the forms of its cells.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from snellen.benchmarks.declaration.described import TemplateStrings
from snellen.benchmarks.declaration.peers import PEERS, parse_peer_name
from snellen.benchmarks.declaration.registry import split_spec
from snellen.benchmarks.declaration.scaffold import benchmark_folders, write_new_files
from snellen.bridge.benchmark import BridgedTask, open_named
from snellen.bridge.process import PeerFault, PeerLost
from snellen.bridge.protocol import ListedTask, SampleData, TaskFacts
from snellen.core.errors import DataError, UsageError
from snellen.core.sample import Sample
from snellen.data.columns import GOLD_COLUMNS, OPTION_LISTS
from snellen.data.tables.options import spread_options
from snellen.prompts.choice import DEFAULT_TEMPLATE, prompt

MOST_READ = 24
"""Questions that a draft is made from: the first of the task."""
ROWS = 3
_MOST_LABELS = 8
"""Different texts of a column that may be labels of groups."""
_LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_TEXTS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR42mNIEViHFTEMLQkAQexIgbjQl68AAAAASUVORK5CYII="


class SeenTask(NamedTuple):
    """What a tool says of a task and of its first questions."""

    tool: str
    version: str
    listed: ListedTask
    facts: TaskFacts
    samples: tuple[SampleData, ...]


class ReadRow(NamedTuple):
    """A question as Snellen reads the columns of its row."""

    text: str
    """The words that the tool asks."""
    question: str
    options: dict[str, str]
    gold: str


def write_draft(name: str, about: str, spec: str, folder: Path) -> list[Path]:
    """Draft the files below the root of a checkout; their paths. Raises UsageError, DataError."""
    named, given = split_spec(spec)
    peer_name = parse_peer_name(named)
    if peer_name is None:
        tools = ", ".join(f"{tool}/TASK" for tool in PEERS)
        raise UsageError(f"--from {spec}: expected a benchmark of another tool: {tools}")
    name = name.removesuffix(".toml")
    home, tests = benchmark_folders(name, about, folder)
    opened = open_named(peer_name.peer, peer_name.task, given)
    try:
        seen = look_at(opened, peer_name.peer)
    finally:
        opened.session.close()
    layout, columns = draft_layout(seen)
    files = {
        home / f"{name}.toml": draft_entry(seen),
        tests / "layouts" / f"{name}.tsv": layout,
        folder / "tests/differential/specs" / f"{name.replace('-', '_')}.py": draft_spec(
            name, peer_name.peer, seen, columns
        ),
    }
    return write_new_files(name, files)


def look_at(opened: BridgedTask, tool: str) -> SeenTask:
    """The task and its first questions. Raises UsageError, DataError."""
    facts, session = opened.facts, opened.session
    try:
        tasks = session.call(dict[str, list[ListedTask]], "tasks")["tasks"]
        listed = next((one for one in tasks if one.name == facts.task), ListedTask(facts.task))
        count = min(facts.count, MOST_READ)
        samples = tuple(session.call(SampleData, "sample", index=index) for index in range(count))
    except PeerFault as error:
        raise DataError(f"{facts.task}: {error}") from error
    except PeerLost as error:
        raise UsageError(str(error)) from error
    if not samples:
        raise DataError(f"{facts.task} has no questions; a draft needs one")
    commit = session.hello.commit
    version = session.hello.version + (f" at {commit[:8]}" if commit else "")
    return SeenTask(tool, version, listed, facts, samples)


# The entry ---------------------------------------------------------------------------------------


def draft_entry(seen: SeenTask) -> str:
    """The TOML file."""
    facts, tool = seen.facts, PEERS[seen.tool]
    samples = seen.samples
    columns = ", ".join(dict.fromkeys(column for one in samples for column in one.row)) or "not said"
    kind = facts.kind or _one({one.kind for one in samples})
    groups = list(dict.fromkeys(group for one in samples for group in one.groups))
    labels = _label_columns(samples)
    longest = facts.generation.get("max_new_tokens") or samples[0].generation.get("max_new_tokens")
    lines = [
        f"# {facts.task}: what it asks (Authors, year, https://arxiv.org/abs/...).",
        "#",
        "# A row of this form (made up): see the layout.",
        "#",
        f"# Oddities: drafted from {facts.task} of {tool} {seen.version}, {facts.count} questions.",
        f"# Columns: {columns}.",
        *(f"# {tool} says: {note}." for note in facts.notes),
        "",
        'version = "1"',
        f"title = {_quote(facts.task)}",
        'paper = ""  # the tool does not say',
        f"source = {_quote(f'{facts.task}, as {tool} loads it')}  # who made the data, and their licence?",
        'coverage = "generic type"',
        f"kind = {_quote(kind)}" if kind else '# kind = "choice", "yes_no" or "open": the tool does not say',
        f"groups = {json.dumps(groups)}" if groups else "# groups: the tool does not say",
        *([f"# columns of few labels, which may be groups: {', '.join(labels)}"] if labels and not groups else []),
        *([f"max_new_tokens = {int(longest)}"] if longest else []),
        f"aliases = [{_quote(facts.task)}]",
        *_file_lines(seen),
        f"# headline of {tool}: {facts.headline or 'not said'}; its metrics: {', '.join(facts.metrics) or 'not said'}",
        *(["# its score needs a judge: fill in `judges`"] if seen.listed.judged or facts.judged else []),
        f"# rules = {{ {_rule(seen.tool)} = ... }}: its parser, if it is not the rule's own",
        *_prompt_lines(seen),
    ]
    return "\n".join(lines) + "\n"


def _file_lines(seen: SeenTask) -> list[str]:
    data, split = seen.listed.data, seen.listed.split
    if data.startswith(("http://", "https://")):
        name = f"{seen.facts.task}.tsv"
        own = "" if data.endswith(f"/{name}") else f"name = {_quote(name)}, "
        md5 = f", md5 = {_quote(seen.listed.checksum)}" if seen.listed.checksum else ""
        return [f"files = [{{ {own}url = {_quote(data)}{md5} }}]"]
    parts = data.split("/")
    if seen.tool == "lmms-eval" and split and len(parts) == 2:
        return [f"files = [{{ hub = {_quote(f'hf://{data}?split={split}')} }}]"]
    where = f"{data or 'not said'}" + (f", split {split}" if split else "")
    return [f"files = [{{ name = {_quote(f'{seen.facts.task}.tsv')} }}]  # where the data are: {where}"]


def _prompt_lines(seen: SeenTask) -> list[str]:
    """`[prompt]`, with the share of the questions that it puts as the tool does."""
    rows = [row for row in map(read_row, seen.samples) if row.question]
    if not rows:
        return [
            "",
            "# prompt: no column of the rows is the question; the tool asks, in its form:",
            *_form(seen.samples),
        ]
    template = _template(rows[0])
    same = sum(_is_same(row, template) for row in rows)
    said = f"# asks {same} of the first {len(rows)} questions in the tool's words"
    if not same:
        return ["", f"{said}; its form is:", *_form(seen.samples)]
    kind = seen.facts.kind or _one({one.kind for one in seen.samples})
    others = {"open", "yes_no", "unlisted"} - {{"choice": "unlisted"}.get(str(kind), str(kind))}
    own = {
        name: value
        for name, value in template.items()
        if getattr(DEFAULT_TEMPLATE, name) != value and name not in others
    }
    return ["", said, *(["[prompt]"] if own else []), *(f"{name} = {_quote(value)}" for name, value in own.items())]


def _template(row: ReadRow) -> dict[str, str]:
    """The fixed strings around a question and its options."""
    before, found, after = row.text.partition(row.question)
    if not found or before.count("\n"):
        return {}
    strings = {"question": f"{before}{{question}}"}
    lines = [line.rstrip() for line in after.splitlines()]
    if not row.options:
        return {**strings, "open": after.strip("\n"), "yes_no": after.strip("\n"), "unlisted": after.strip("\n")}
    first_label, first = next(iter(row.options.items()))
    place = next((at for at, line in enumerate(lines) if line.endswith(first) and first_label in line), None)
    if place is None:
        return {}
    head = lines[place][: len(lines[place]) - len(first)].replace(first_label, "{label}")
    rest = lines[place + len(row.options) :]
    return {
        **strings,
        "options": "\n".join(line for line in lines[:place] if line),
        "option": f"{head}{{text}}",
        "choose": "\n".join(rest),
    }


def _is_same(row: ReadRow, template: Mapping[str, str]) -> bool:
    if not template:
        return False
    kind: Any = "choice" if row.options or template.get("unlisted") == "" else "open"
    sample = Sample(id="0", kind=kind, question=row.question, gold=("A",), options=row.options)
    (asked,) = prompt(sample, template=TemplateStrings(**template).fill_template(DEFAULT_TEMPLATE))
    return asked.text().split() == row.text.split()


def _form(samples: Sequence[SampleData]) -> Iterator[str]:
    """The words that the first questions share, line by line; `...` where they differ."""
    texts = [_text_of(one).splitlines() for one in samples]
    shared = [line for line in texts[0] if all(line in other for other in texts)] if len(texts) > 1 else []
    shown: list[str] = []
    for line in texts[0]:
        form = line if line in shared else "..."
        if not shown or form != "..." or shown[-1] != "...":
            shown.append(form)
    yield from (f"#   {line}".rstrip() for line in shown)


def read_row(sample: SampleData) -> ReadRow:
    """The question, as the columns of its row hold it."""
    cells = {name if len(name) == 1 else name.lower(): str(value) for name, value in sample.row.items()}
    spread_options(cells)
    options = {label: cells[label] for label in _LABELS if cells.get(label)} or dict(sample.options)
    gold = next((cells[name] for name in GOLD_COLUMNS if name in cells), "") or next(iter(sample.gold), "")
    return ReadRow(_text_of(sample), cells.get("question", ""), options, gold)


def _text_of(sample: SampleData) -> str:
    parts = [part.text for message in sample.messages for part in message.parts if part.type == "text"]
    return "\n".join(parts).strip("\n")


def _label_columns(samples: Sequence[SampleData]) -> list[str]:
    """Columns whose texts recur."""
    known = {"question", "index", "id", *GOLD_COLUMNS, *OPTION_LISTS, *_LABELS}
    found = []
    for column in dict.fromkeys(name for one in samples for name in one.row):
        texts = [one.row[column] for one in samples if isinstance(one.row.get(column), str)]
        if column.lower() not in known and column not in known and len(texts) > len(set(texts)) <= _MOST_LABELS:
            found.append(column)
    return found


# The layout --------------------------------------------------------------------------------------


def draft_layout(seen: SeenTask) -> tuple[str, tuple[str, ...]]:
    """Made-up rows in the columns of the task's, and these columns."""
    columns = list(dict.fromkeys(name for one in seen.samples for name in one.row))
    media = {part.type for one in seen.samples for message in one.messages for part in message.parts} - {"text"}
    if "index" not in columns:
        columns.insert(0, "index")
    lacking = [kind for kind in sorted(media) if kind not in columns and f"{kind}_path" not in columns]
    file = io.StringIO()
    writer = csv.writer(file, delimiter="\t", lineterminator="\n")
    writer.writerow([*columns, *lacking])
    for number in range(ROWS):
        like = seen.samples[number % len(seen.samples)]
        cells = [_invent_cell(column, like, number) for column in columns]
        writer.writerow([*cells, *(_PNG if kind == "image" else f"made-up-{number}" for kind in lacking)])
    return file.getvalue(), tuple(columns)


def _invent_cell(column: str, like: SampleData, number: int) -> str:
    """A cell in the form of one of this column, with other words."""
    row, held = read_row(like), str(like.row.get(column, ""))
    count = len(row.options)
    if column == "index":
        return str(number)
    if column.lower() == "question":
        return f"A made-up question, number {number + 1}?"
    if column in row.options and len(column) == 1:
        return _TEXTS[_LABELS.index(column) % len(_TEXTS)]
    if column.lower() in OPTION_LISTS:
        return json.dumps(list(_TEXTS[: count or 4])) if count <= len(_TEXTS) else ""
    if column.lower() in GOLD_COLUMNS:
        return _invent_gold(held, row, number)
    if held.lstrip("-").replace(".", "", 1).isdigit():
        return str(number)
    return f"{column} {number % 2 + 1}" if held else ""


def _invent_gold(held: str, row: ReadRow, number: int) -> str:
    labels = list(row.options)
    if not labels:
        return {"yes": "Yes", "no": "No"}.get(held.strip().lower(), "made up")
    place = number % len(labels)
    if held.strip() in row.options.values() and held.strip() not in labels:
        return _TEXTS[place % len(_TEXTS)]
    return str(place) if held.strip().isdigit() else labels[place]


# The set -----------------------------------------------------------------------------------------


_HELPERS = "specs.quoted_images"
_SPEC = '''"""{task}, judged by {tool}. Fill in what is in capitals, then `python -m tests.differential --write`."""

from __future__ import annotations

{imports}

CASES = {cases}
SPECS = (
    {call}
)
'''
_SCORERS = {
    "vlmevalkit": """class_set(
        "{name}",
        "{task}",
        "MODULE, CLASS.evaluate",
        CASES,
        metrics={{"accuracy": {headline}}},
    ),""",
    "lmms-eval": """lmms_eval_set(
        "{name}",
        "MODULE/utils.py",
        "PROCESS_RESULTS",
        CASES,
        {metric},
        {{"accuracy": ({metric}, "mean")}},
    ),""",
}
"""By tool, what makes a set that its scorer judges; it stands in specs/quoted_images.py."""
_CASES = {
    "yes_no": ({"specs.yes_no": "yes_no_cases"}, "yes_no_cases(COLUMNS)"),
    "open": ({"specs.open_answers": "cells_of, one", "styles_open": "open_cases"}, "open_cases(cells_of(one), POOL)"),
    "listed": ({"specs.choices": "choice_cases", _HELPERS: "listed_row"}, "choice_cases(listed_row({column}))"),
    None: ({"specs.choices": "choice_cases, table_row"}, "choice_cases(table_row())"),
}


def draft_spec(name: str, tool: str, seen: SeenTask, columns: Sequence[str]) -> str:
    """The module of the set that compares the scorers."""
    kind = seen.facts.kind or _one({one.kind for one in seen.samples})
    column = next((column for column in columns if column.lower() in OPTION_LISTS), None)
    needs, cases = _CASES[kind if kind in ("yes_no", "open") else "listed" if column else None]
    needs = dict(needs)
    call = f"# a Spec whose oracle calls the scorer of {seen.facts.task} in {PEERS[tool]}"
    if tool in _SCORERS:
        needs[_HELPERS] = ", ".join(sorted({_SCORERS[tool].partition("(")[0], *needs.get(_HELPERS, "").split()}))
        headline, metric = _quote(seen.facts.headline), _quote(next(iter(seen.facts.metrics), ""))
        call = _SCORERS[tool].format(name=name, task=seen.facts.task, headline=headline, metric=metric)
    return _SPEC.format(
        task=seen.facts.task,
        tool=PEERS[tool],
        imports="\n".join(f"from tests.differential.{module} import {names}" for module, names in needs.items()),
        cases=cases.format(column=_quote(column)),
        call=call,
    )


def _rule(tool: str) -> str:
    return {"vlmevalkit": "vlmevalkit", "lmms-eval": '"lmms-eval"'}.get(tool, "official")


def _one(values: set[str | None]) -> str | None:
    return values.pop() if len(values) == 1 else None


def _quote(text: str | None) -> str:
    return json.dumps(text or "", ensure_ascii=False)
