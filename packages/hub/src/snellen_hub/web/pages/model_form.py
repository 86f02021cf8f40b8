"""The fields of a form that describe a model, and what is wrong with each."""

from __future__ import annotations

import msgspec

from snellen_hub.accounts.access import one_line
from snellen_hub.database.tables import Submission
from snellen_hub.intake import ModelFacts
from snellen_hub.web.pages.forms import FormState, Sentence, sentence

_MISTAKES: dict[str, Sentence] = {
    "parameters": sentence("the size is a number of billions, such as 7 or 0.5"),
    "weights": sentence("the weights are open or closed"),
    "released": sentence("the date is a year, month or day: 2024, 2024-05 or 2024-05-13"),
    "organisation": sentence("at most 200 characters"),
    "link": sentence("the link starts with https:// or http:// and holds no blanks"),
    "route": sentence("at most 200 characters"),
    "capability": sentence("the level is one of L1 to L4, or none"),
    "notes": sentence("at most 2,000 characters"),
}


def read_model_name(form: FormState) -> str:
    """The name of the model; notes on the form what is wrong with it."""
    text = form.value("model")
    name = one_line(text, 200)
    if not name:
        form.refuse("model", sentence("type the name of the model"))
    elif name != " ".join(text.split()):
        form.refuse("model", sentence("at most 200 printable characters"))
    return name


def read_facts(form: FormState) -> ModelFacts:
    """What the form says about the model; notes on the form what is wrong with each field."""
    facts: dict[str, object] = {}
    for field, mistake in _MISTAKES.items():
        text = form.value(field)
        value: object = text
        if field == "parameters":
            value = _read_billions(text)
        if not text:
            continue
        try:
            msgspec.convert({field: value}, ModelFacts)
        except msgspec.ValidationError:
            form.refuse(field, mistake)
        else:
            facts[field] = value
    return msgspec.convert(facts, ModelFacts)


def describe_earlier(row: Submission) -> FormState:
    """A form that holds what was said of the model of an earlier submission."""
    texts = {name: str(value) for name, value in row.facts.items()}
    parameters = row.facts.get("parameters")
    if isinstance(parameters, (int, float)):
        texts["parameters"] = f"{parameters:g}"
    return FormState(texts | {"model": row.model})


def _read_billions(text: str) -> object:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return text
