"""The data card: README.md with the YAML front matter that the Hugging Face hub reads."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from snellen_curate.publish.licences import hub_licences
from snellen_curate.publish.options import PublishOptions
from snellen_curate.publish.survey import Survey

_SIZES = (
    (1_000, "n<1K"),
    (10_000, "1K<n<10K"),
    (100_000, "10K<n<100K"),
    (1_000_000, "100K<n<1M"),
    (10_000_000, "1M<n<10M"),
)
_KIND_TASKS = {"choice": "multiple-choice", "multi": "multiple-choice"}


class Publication(Struct, frozen=True, kw_only=True):
    """Content of `publication.json`: what was published."""

    name: str
    title: str
    release: str
    snellen: str
    """Version of Snellen that wrote it."""
    source: str
    """SHA-256 of the data that it was made of."""
    splits: dict[str, dict[str, int]]
    """By split and ability: number of questions."""
    licences: dict[str, int]
    """Number of items by licence; "" for those without."""
    conditions: str
    """What the licences of all pictures ask together, a sentence."""
    held_out: str = ""
    """Name of the split without answers."""
    share: float | None = None
    seed: int | None = None
    sealed_sha256: str = ""
    """Of the encrypted answers, so that they cannot be changed later unnoticed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFacts:
    """What the card says."""

    publication: Publication
    options: PublishOptions
    survey: Survey
    files: Mapping[str, tuple[str, int]]
    """Path and bytes of the Parquet file of each split."""
    tsv_md5: Mapping[str, str]
    """MD5 by name of the TSV file."""
    licences: Sequence[Sequence[str]]
    """Source, licence, questions, address and attribution, a line for each source and licence."""
    specs: Mapping[str, str]
    """The TOML description of each split."""

    @property
    def hub_licences(self) -> list[str]:
        own = [self.options.licence] if self.options.licence else []
        stated = sorted({part for line in self.licences for part in line[1].split(" AND ")})
        return hub_licences([*own, *stated])


def write_card(facts: CardFacts) -> str:
    """README.md as text."""
    return f"---\n{_front_matter(facts)}---\n\n{_body(facts)}"


def _front_matter(facts: CardFacts) -> str:
    """The YAML that the hub reads, a line for each entry."""
    counts = {split: sum(each.values()) for split, each in facts.publication.splits.items()}
    total, total_bytes = sum(counts.values()), sum(size for _, size in facts.files.values())
    size = next((name for limit, name in _SIZES if total < limit), "n>10M")
    licences = facts.hub_licences
    entries: dict[str, Any] = {"license": licences if len(licences) > 1 else licences[0]}
    if "other" in licences:
        entries |= {"license_name": "by-source", "license_link": "LICENCES.tsv"}
    if facts.options.language:
        entries["language"] = list(facts.options.language)
    entries |= {
        "pretty_name": facts.publication.title,
        "task_categories": _tasks(facts),
        "size_categories": [size],
        "tags": ["benchmark", "evaluation", "multimodal"],
        "configs": [
            {
                "config_name": "default",
                "data_files": [{"split": split, "path": path} for split, (path, _) in facts.files.items()],
            }
        ],
        "dataset_info": {
            "config_name": "default",
            "splits": [
                {"name": split, "num_bytes": size, "num_examples": counts[split]}
                for split, (_, size) in facts.files.items()
            ],
            "download_size": total_bytes,
            "dataset_size": total_bytes,
        },
    }
    # JSON values are YAML too, and need no rules for quoting.
    return "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in entries.items())


def _tasks(facts: CardFacts) -> list[str]:
    layout = facts.survey.layout
    tasks = ["visual-question-answering"] if layout.max_images else []
    tasks += ["video-text-to-text"] if layout.has_videos else []
    tasks += [_KIND_TASKS[kind] for kind in facts.survey.kinds() if kind in _KIND_TASKS]
    return list(dict.fromkeys(tasks)) or ["question-answering"]


def _body(facts: CardFacts) -> str:
    """The page below the front matter."""
    publication, options = facts.publication, facts.options
    parts = [
        f"# {publication.title}\n",
        f"{options.description}\n" if options.description else "",
        f"Version {options.release}."
        + (f" Paper: {options.paper}." if options.paper else "")
        + (f" Home: {options.homepage}." if options.homepage else "")
        + "\n",
        "## Questions\n",
        _ability_table(publication.splits),
        _answers_text(publication.held_out),
        "## Use\n",
        _usage(facts),
        "## Licences\n",
        f"The questions: {options.licence}.\n" if options.licence else "",
        f"{publication.conditions}\n" if publication.conditions else "",
        "What pictures of each source may be used for; also in `LICENCES.tsv`. Author, address and "
        "licence of each picture: `ATTRIBUTION.tsv`.\n",
        _table(
            ("source", "licence", "questions", "address", "attribution"),
            [
                (source or "not stated", licence or "**unknown**", *others)
                for source, licence, *others in facts.licences
            ],
        ),
        _making(facts),
        "## Checksums\n",
        "`SHA256SUMS` lists every file (`sha256sum -c SHA256SUMS`). MD5, as VLMEvalKit checks:\n",
        _table(("file", "MD5"), [(f"`{name}`", f"`{md5}`") for name, md5 in facts.tsv_md5.items()]),
    ]
    return "\n".join(part for part in parts if part)


def _ability_table(splits: Mapping[str, Mapping[str, int]]) -> str:
    abilities = sorted({name for counts in splits.values() for name in counts})
    rows = [(name or "not stated", *(str(counts.get(name, 0)) for counts in splits.values())) for name in abilities]
    rows.append(("all", *(str(sum(counts.values())) for counts in splits.values())))
    return _table(("ability", *splits), rows)


def _answers_text(split: str) -> str:
    kept_back = f"The answers of the split `{split}` are kept back: its column `answer` is empty.\n"
    return kept_back if split else ""


def _usage(facts: CardFacts) -> str:
    lines = ["```sh"]
    lines += [
        f"snellen run -m MODEL -b {spec}" + (" --columns gold=" if split == facts.publication.held_out else "")
        for split, spec in facts.specs.items()
    ]
    lines += ["```\n", "```python", "import datasets\n"]
    lines += [f'data = datasets.load_dataset("PATH/TO/{facts.publication.name}")', "```\n"]
    lines += [
        "VLMEvalKit: copy the TSV file to its data folder (`~/LMUData`) and name it, without "
        "`.tsv`, as the data set. Its checksum for `DATASET_MD5` stands below.\n"
    ]
    return "\n".join(lines)


def _making(facts: CardFacts) -> str:
    made_by = facts.survey.made_by
    if not made_by:
        return ""
    rows = [(step, rule, action, str(count)) for step, rule, action, count in made_by]
    return "## How it was made\n\nDecisions of `snellen curate` about single items, counted.\n\n" + _table(
        ("step", "rule", "decision", "items"), rows
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(_cell, line))} |\n" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
