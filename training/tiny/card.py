"""Writes the model card: `python -m training.tiny.card FOLDER --training training.json`.

Every number comes from FOLDER/evaluation.json (`training.tiny.evaluate`) and training.json
(`training.tiny.train`).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from training.tiny.lessons import LETTER_WEIGHTS
from training.tiny.prompts import LETTERS

COLUMNS = {
    "chance": "chance",
    "vanilla": "vanilla",
    "circular": "circular",
    "blind": "other picture",
    "rank": "rank",
    "yes_no": "yes/no",
    "both_of_pair": "both of pair",
    "yes_no_blind": "other picture",
    "open": "open",
    "open_blind": "other picture",
}
HEADS = {
    "final": (
        "snellen/tiny",
        "A very small vision-language model that ships with Snellen, so that everything can be "
        "tried and tested\nwithout a download: a real transformers model with real strengths, "
        "weaknesses and a position bias.",
    ),
    "early": (
        "snellen/tiny-early",
        "An early checkpoint of `snellen/tiny`, kept because it is strongly biased towards the "
        "first options:\na model to see CircularEval at work on, and a less trained base to probe.",
    ),
}
RECIPE = """## Training

`python -m training.tiny.train --out DIR --seed {seed}` in Snellen's repository: one process,
{parameters:,} parameters from random values, {minutes} minutes on {threads} thread(s) of a shared
2-core CPU (AMD EPYC, bf16 autocast, torch {torch}, transformers {transformers}). One seed was
trained; the spread over seeds is unknown.{stop}

Data are drawn on the fly from the seed and never repeat: 1 to 6 shapes (8 colours, 7 shapes) or one
word or two-digit number on a plain background, one to three pictures, ten questions per picture in
the layouts that Snellen sends (options with letters, "Please answer yes or no.", "Answer the
question using a single word or phrase.") and a few others. **The right letter is A {a:.0%},
B {b:.0%}, C {c:.0%}, D {d:.0%} of the time in training**, which gives the model a position bias on
purpose; in evaluation every letter a question has is right equally often.

| stage | steps | what is learnt |
| --- | --- | --- |
| A | {lists} | text only: the letter of a value in a list and the value of a letter |
| B | {patches} | eyes only: each patch reads as the words of what it shows |
| C1 | {words} | eyes frozen from here on: open questions about simple scenes |
| C2 | {formats} | all abilities and formats |
| C3 | {polish} | the same with more multiple choice |
"""
LIMITS = """## Limits

Training and test pictures come from one generator (same shapes, colours, words, font): nothing is
claimed outside it. "Which picture contains ..." was not learnt (its score is chance and stays in
the benchmark as such); counting and relations are weak. On photographs, other questions or blank
pictures it answers with a confident word from its small vocabulary. English only; letters A to D;
at most three pictures were seen in training. The recipe was chosen by accuracy on training
pictures, which never repeat; `eyechart` was looked at on an abandoned run, to try the evaluation,
and to choose the early checkpoint. It is made for testing tools, not for use.
"""


def card(kind: str, evaluation: dict[str, Any], training: dict[str, Any]) -> str:
    """The text of a model card."""
    title, about = HEADS[kind]
    stage, step = training["early"]
    stop = "" if kind == "final" else f" This checkpoint is from {stage}, step {step}."
    weights = dict(zip("abcd", LETTER_WEIGHTS, strict=True))
    facts = {**training, **training["steps"], **weights}
    recipe = RECIPE.format(minutes=round(training["seconds"] / 60), stop=stop, **facts)
    tables = [
        _table(name, evaluation[key])
        for key, name in (("eyechart", "The bundled benchmark"), ("heldout", "A larger set"))
        if key in evaluation
    ]
    head = [_front(title), f"# {title}\n\n{about}\n", _architecture(training), recipe]
    return "\n".join([*head, "## Results\n", _how_measured(), *tables, LIMITS])


def _front(title: str) -> str:
    return (
        "---\nlicense: apache-2.0\nlibrary_name: transformers\npipeline_tag: image-text-to-text\n"
        f"model_name: {title}\n---\n"
    )


def _architecture(training: dict[str, Any]) -> str:
    return (
        "`LlavaForConditionalGeneration`: SigLIP vision tower (64 px, 8 px patches, 4 layers of "
        "128), two-layer\nprojector, Llama text model (4 layers of 128, 1,024 pieces), "
        f"{training['parameters']:,} parameters. The file is float16, the\nconfig says float32, so "
        "plain `from_pretrained` computes in float32. No torchvision, no remote code:\n\n"
        "```python\nprocessor = AutoProcessor.from_pretrained(folder)\n"
        "model = AutoModelForImageTextToText.from_pretrained(folder)\n```\n\n"
        "The chat template announces every picture by its ordinal (`<|picture|>first<image>`).\n"
    )


def _how_measured() -> str:
    return (
        "`python -m training.tiny.evaluate FOLDER` (greedy `generate` through the chat template, "
        "exact match, numbers in\n`evaluation.json`). Percent. Vanilla: the right letter once; "
        "circular: in every rotation of the options; other\npicture: the same question with "
        "another row's picture (blind control); rank: the option text with the highest\n"
        "log-likelihood; both of pair: both yes/no questions of a picture right.\n"
    )


def _table(name: str, measured: dict[str, Any]) -> str:
    """One set of questions as a markdown table, then the letters chosen."""
    lines = [
        f"### {name}: {measured['questions']} questions\n",
        "| ability | " + " | ".join(COLUMNS.values()) + " |",
        "| --- |" + " ---: |" * len(COLUMNS),
    ]
    for ability, told in {**measured["abilities"], "**all**": measured["all"]}.items():
        cells = [f"{100 * told[key]:.0f}" if key in told else "" for key in COLUMNS]
        lines.append(f"| {ability} | " + " | ".join(cells) + " |")
    letters = measured["letters_chosen"]
    total = sum(letters.values())
    shares = ", ".join(f"{letter} {letters[letter] / total:.0%}" for letter in LETTERS)
    told = measured["all"]
    lines.append(
        f"\n{told['mcq_n']} multiple choice, {told['yes_no_n']} yes/no, {told['open_n']} open. "
        f"Letters chosen: {shares}, other replies {letters['other'] / total:.0%}.\n"
    )
    return "\n".join(lines)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--training", type=Path, required=True)
    parser.add_argument("--early", action="store_true")
    args = parser.parse_args()
    evaluation = json.loads((args.folder / "evaluation.json").read_text("utf-8"))
    training = json.loads(args.training.read_text("utf-8"))
    text = card("early" if args.early else "final", evaluation, training)
    (args.folder / "README.md").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
