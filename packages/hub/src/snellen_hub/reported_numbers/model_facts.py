"""Facts about the models of the papers, by which boards are filtered: size, weights, organisation,
date. From `tables/models.csv` (what the papers print) and, for the rest, the catalog of models."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import msgspec

from snellen.models.naming.catalog import find_entry
from snellen_hub.intake import ModelFacts
from snellen_hub.reported_numbers.numbers import read_paper_table


def facts_of_model(model: str, **known: str) -> ModelFacts:
    """What is known of a model. `known` are further facts of the source, which go first."""
    facts: dict[str, Any] = {name: value for name, value in known.items() if value}
    row = _listed_models().get(model)
    if row is not None:
        listed = {
            "parameters": float(row["parameters"]) if row["parameters"] else None,
            "weights": row["weights"],
            "organisation": row["organisation"],
            "released": row["released"],
            "link": f"https://arxiv.org/abs/{row['paper']}" if row["paper"] else "",
        }
        facts = {name: value for name, value in listed.items() if value} | facts
    entry = find_entry(model)
    if entry is not None:
        catalogued = {"parameters": entry.parameters, "weights": entry.access, "released": entry.released[:10]}
        facts = {name: value for name, value in catalogued.items() if value} | facts
    return msgspec.convert(facts, ModelFacts)


@functools.cache
def _listed_models() -> Mapping[str, Mapping[str, str]]:
    return {name: row for row in read_paper_table("models.csv") for name in row["names"].split("|")}
