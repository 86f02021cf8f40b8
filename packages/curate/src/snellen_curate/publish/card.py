"""The data card: README.md with the YAML front matter that the Hugging Face hub reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import resources
from typing import Any

from jinja2 import Environment
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
    """What the licences of all images ask together, a sentence."""
    held_out: str = ""
    """Name of the split without answers."""
    share: float | None = None
    seed: int | None = None
    sealed_sha256: str = ""
    """Of the encrypted answers, so that they cannot be changed later unnoticed."""


def write_card(
    publication: Publication,
    options: PublishOptions,
    survey: Survey,
    files: Mapping[str, tuple[str, int]],
    tsv_md5: Mapping[str, str],
    licences: Sequence[Sequence[str]],
    specs: Mapping[str, str],
) -> str:
    """README.md as text.

    `files` are path and bytes of the Parquet file of each split, `tsv_md5` the MD5 of each TSV file
    by its name, `licences` the lines of `LICENCES.tsv`, `specs` the TOML description of each split.
    """
    environment = Environment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["cell"] = lambda value: " ".join(str(value).split()).replace("|", "\\|")
    environment.filters["json"] = partial(json.dumps, ensure_ascii=False)
    template = environment.from_string(resources.files(__package__).joinpath("card.md.jinja").read_text("utf-8"))
    return template.render(
        publication=publication,
        options=options,
        specs=specs,
        # JSON values are YAML too, and need no rules for quoting.
        front_matter=_front_matter(publication, options, survey, files, licences),
        abilities=_ability_rows(publication.splits),
        licences=[(source or "not stated", name or "**unknown**", *others) for source, name, *others in licences],
        made_by=survey.made_by,
        checksums=[(f"`{name}`", f"`{md5}`") for name, md5 in tsv_md5.items()],
    )


def _front_matter(
    publication: Publication,
    options: PublishOptions,
    survey: Survey,
    files: Mapping[str, tuple[str, int]],
    lines: Sequence[Sequence[str]],
) -> dict[str, Any]:
    """The YAML that the hub reads, by key."""
    counts = {split: sum(each.values()) for split, each in publication.splits.items()}
    total, total_bytes = sum(counts.values()), sum(size for _, size in files.values())
    stated = sorted({part for line in lines for part in line[1].split(" AND ")})
    licences = hub_licences([options.licence, *stated] if options.licence else stated)
    data_files = [{"split": split, "path": path} for split, (path, _) in files.items()]
    splits = [{"name": split, "num_bytes": size, "num_examples": counts[split]} for split, (_, size) in files.items()]
    entries: dict[str, Any] = {"license": licences if len(licences) > 1 else licences[0]}
    if "other" in licences:
        entries |= {"license_name": "by-source", "license_link": "LICENCES.tsv"}
    if options.language:
        entries["language"] = list(options.language)
    return entries | {
        "pretty_name": publication.title,
        "task_categories": _tasks(survey),
        "size_categories": [next((name for limit, name in _SIZES if total < limit), "n>10M")],
        "tags": ["benchmark", "evaluation", "multimodal"],
        "configs": [{"config_name": "default", "data_files": data_files}],
        "dataset_info": {
            "config_name": "default",
            "splits": splits,
            "download_size": total_bytes,
            "dataset_size": total_bytes,
        },
    }


def _tasks(survey: Survey) -> list[str]:
    tasks = ["visual-question-answering"] if survey.layout.max_images else []
    tasks += ["video-text-to-text"] if survey.layout.has_videos else []
    tasks += [_KIND_TASKS[kind] for kind in survey.kinds() if kind in _KIND_TASKS]
    return list(dict.fromkeys(tasks)) or ["question-answering"]


def _ability_rows(splits: Mapping[str, Mapping[str, int]]) -> list[tuple[object, ...]]:
    """The questions of each ability by split, and of all."""
    abilities = sorted({name for counts in splits.values() for name in counts})
    rows = [(name or "not stated", *(counts.get(name, 0) for counts in splits.values())) for name in abilities]
    return [*rows, ("all", *(sum(counts.values()) for counts in splits.values()))]
