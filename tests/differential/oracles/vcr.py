"""VCR-wiki's scorer, the authors' or VLMEvalKit's, over English replies on standard input.

Their words are those of spaCy's pipeline `en_core_web_sm`, of which they take the texts of the
tokens alone. These are the tokenizer's, before any model: here that of `spacy.blank("en")`, whose
rules are the same data of the library. A token that gives away nothing but its text makes sure of
it; Rouge gives nothing, as neither of the two numbers needs it. Wants spaCy and NLTK.

Arguments of a job: {"scorer": "authors" or "vlmevalkit"}.
"""

from __future__ import annotations

import ast
import contextlib
import difflib
import functools
import json
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from authors_open import Row, defined, source

ROUGE = types.SimpleNamespace(compute=lambda **_: {"rouge1": 0.0})
QUEUE = types.SimpleNamespace(put=lambda _: None)


class Text(NamedTuple):
    """A token of which nothing but its text can be had."""

    text: str


def evaluated(job: Mapping[str, Any]) -> dict[str, Any]:
    """The mean exact match of each picture's texts, and both numbers over all texts."""
    texts_of = {"authors": _by_authors, "vlmevalkit": _by_vlmevalkit}[job["arguments"]["scorer"]]
    told = [texts_of(row) for row in job["rows"]]
    credits = {row["id"]: _mean(texts, "exact_match") for row, texts in zip(job["rows"], told, strict=True)}
    every = [one for texts in told for one in texts]
    metrics = {"Exact_Match": 100 * _mean(every, "exact_match"), "Jaccard": 100 * _mean(every, "jaccard")}
    return {"credits": credits, "metrics": metrics}


@functools.cache
def _names(path: tuple[str, ...], *wanted: str) -> Mapping[str, Any]:
    import spacy
    from nltk.util import ngrams

    tokenizer = spacy.blank("en")
    return defined(
        source(*path),
        *wanted,
        partial=functools.partial,
        ngrams=ngrams,
        SM=difflib.SequenceMatcher,
        nlp={"en": lambda text: [Text(token.text) for token in tokenizer(text)]},
        rouge=ROUGE,
    )


def _by_vlmevalkit(row: Row) -> list[Mapping[str, float]]:
    names = _names(
        ("VLMEvalKit", "vlmeval", "dataset", "vcr.py"),
        *("rough_filter", "zero_template", "tokenize", "find_best_match"),
        "process_match_single_new",
    )
    golds = ast.literal_eval(row["cells"]["answer"])
    _, found = names["process_match_single_new"](row["id"], row["reply"], golds, "en", QUEUE)
    return list(found[row["id"]].values())


def _by_authors(row: Row) -> list[Mapping[str, float]]:
    """Which replies count as refusals hangs on the model there: here on one of those for which
    words are looked for."""
    folder = ("VCR", "src", "evaluation")
    helpers = _names((*folder, "utils.py"), "rough_filter", "zero_template")
    names = {**_names((*folder, "evaluation_metrics.py"), "tokenize", "find_best_match", "process_match_single")}
    names["process_match_single"].__globals__.update(
        {name: helpers[name] for name in ("rough_filter", "zero_template")}
    )
    data = [{"crossed_text": ast.literal_eval(row["cells"]["answer"])}]
    said = {"0": {"res_stacked_image": row["reply"]}}
    model = "internlm/internlm-xcomposer2-vl-7b"
    _, found = names["process_match_single"](0, data, said, model, "en", ROUGE, QUEUE)
    return list(found[0]["res_stacked_image"].values())


def _mean(texts: Sequence[Mapping[str, float]], name: str) -> float:
    return sum(one[name] for one in texts) / len(texts)


def main() -> None:
    jobs = json.load(sys.stdin)
    with contextlib.redirect_stdout(sys.stderr):
        verdicts = [evaluated(job) for job in jobs]
    json.dump(verdicts, sys.stdout)


if __name__ == "__main__":
    main()
