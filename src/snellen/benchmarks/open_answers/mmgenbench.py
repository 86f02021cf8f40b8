"""MMGenBench: describe a picture so that an image generator draws it again (Huang et al. 2024,
https://arxiv.org/abs/2411.14062).

One example row: index 0, image <base64>. Rows have no question and no gold: every row is asked for
a prompt of 20 to 60 words, in Snellen's wording.

Scored with `--judge clip/ORG/NAME` alone: the model draws its own prompt (in
`join:text=MODEL,draw=MODEL` the drawing model does, so that models are compared by one drawing
model), and the score is the cosine between the CLIP features of the drawing and of the original, at
least 0. Without it the prompts are collected.

Oddities: the authors take the same cosine (SIM-Score) with the features of Unicom's ViT-L/14@336px,
a checkpoint that transformers cannot load, so their numbers are others; their second number, FID,
is computed over the features of all pictures, which no comparison of two gives. They draw with
FLUX, Kolors, Lumina or Stable Diffusion 3: runs are comparable by one CLIP model, one drawing
model and one seed (`draw_seed`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline, ResolvedVariant, Scoring
from snellen.benchmarks.declaration.family_file import summarise_without_gold
from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.benchmarks.protocol.drawing_options import allow_drawing_options, drawing_options, split_drawing_options
from snellen.benchmarks.protocol.judged_flows import ask_model, build_record
from snellen.benchmarks.protocol.ranking import bare_question
from snellen.core.benchmark import Benchmark, Variant, requires
from snellen.core.media import InlineSource
from snellen.core.model import Capabilities
from snellen.core.output import Compared, Drawn, Failure, Generated, ParsedAnswer, Unparsed
from snellen.core.record import Flow, Pass
from snellen.core.request import CLIP, Compare, Draw, Drawing, Generation, Ref, Text, user
from snellen.core.sample import Sample
from snellen.extract.unanswered import non_answer
from snellen.scoring.accuracy import summarise

SIMILARITY = "similarity"
UNSCORED = (
    "the pictures drawn from the replies are compared by a CLIP model: name one with --judge "
    "clip/ORG/NAME, and a model that reads and draws, e.g. join:text=MODEL,draw=MODEL"
)
_HOME = "https://huggingface.co/datasets/lerogo/MMGenBench/resolve/main"
_QUESTION = (
    "Describe the picture as a prompt from which an image generator could draw it again, in 20 to "
    "60 words. Reply with the prompt alone."
)
_MAX_NEW_TOKENS = 512
_RULE = "whole reply"
_INPUT = requires("text", "image")


def collecting_flow(settings: Generation) -> Callable[[Sample], Flow]:
    """Ask for the prompt and keep it."""

    def flow(sample: Sample) -> Flow:
        messages = bare_question(sample)
        output = yield from ask_model(sample, messages, settings)
        return build_record(sample, (_parse_prompt(Pass(messages, output)),))

    return flow


def redrawing_flow(settings: Generation, drawing: Drawing) -> Callable[[Sample], Flow]:
    """Ask for the prompt, have it drawn, and compare the drawing with the original.

    An empty or refused reply, and words in place of a drawing, are worth 0. Where no original was
    shown (`--control blind`) there is nothing to compare with.
    """

    def flow(sample: Sample) -> Flow:
        messages = bare_question(sample)
        output = yield from ask_model(sample, messages, settings)
        asked = _parse_prompt(Pass(messages, output))
        if not isinstance(output, Generated) or not isinstance(asked.answer, ParsedAnswer):
            return build_record(sample, (asked,), score=0.0)
        if not sample.media:
            return build_record(sample, (asked,))
        ref, prompt = Ref(sample.id, 1), (user(Text(asked.answer.value)),)
        drawn = yield Draw(messages=prompt, ref=ref, settings=drawing)
        if not isinstance(drawn, Drawn):
            refused = None if isinstance(drawn, Failure) else Unparsed()
            return build_record(sample, (asked, Pass(prompt, drawn, refused)), score=0.0)
        sources = {digest: InlineSource(data) for digest, data in drawn.data.items()}
        compare = Compare(
            picture=drawn.images[0],
            candidates=(sample.media[0].digest,),
            ref=ref,
            media={**sample.sources(), **sources},
            to=CLIP,
        )
        compared = yield compare
        passes = (asked, Pass(prompt, drawn.without_data()), Pass(compare.messages, compared))
        if not isinstance(compared, Compared):
            return build_record(sample, passes)
        similarity = max(0.0, compared.similarities[0])
        record = build_record(sample, passes, score=similarity, outcome="answered")
        return structs.replace(record, media=(*record.media, *drawn.images))

    return flow


def _parse_prompt(asked: Pass) -> Pass:
    """The pass with the prompt that the reply is, if it says anything."""
    output = asked.output
    if not isinstance(output, Generated):
        return asked
    answer = non_answer(output) or ParsedAnswer(output.text.strip(), _RULE)
    return structs.replace(asked, answer=answer)


def _requirement(capabilities: Capabilities) -> str | None:
    missing = {"text", "image"} - capabilities.outputs
    if missing:
        return (
            f"needs {' and '.join(sorted(missing))} output, which the model does not give; join "
            "two models with join:text=MODEL,draw=MODEL, or name no CLIP model to collect prompts"
        )
    return _INPUT(capabilities)


@dataclass(frozen=True, slots=True, kw_only=True)
class RedrawingScoring(Scoring):
    """Prompts are drawn and compared if a CLIP model is named, else collected."""

    def options(self, declaration: Declaration) -> Mapping[str, Sequence[str]]:
        return {**Scoring.options(self, declaration), **drawing_options()}

    def allowed_options(self, options: Mapping[str, Sequence[str]], variant: Variant) -> Mapping[str, Sequence[str]]:
        return allow_drawing_options(options, variant)

    def score(self, plain: Benchmark, resolved: ResolvedVariant) -> Benchmark:
        """The flow, which draws only with a CLIP model, and what a run records."""
        variant = resolved.variant
        drawing = split_drawing_options(variant)
        longest = variant.max_new_tokens or _MAX_NEW_TOKENS
        settings = Generation(max_new_tokens=longest)
        own = {name: resolved.options[name] for name in resolved.declaration.data.options}
        return replace(
            plain,
            flow=(redrawing_flow(settings, drawing.settings) if variant.clip else collecting_flow(settings)),
            summarise=partial(summarise, headline=SIMILARITY, failures=resolved.failures),
            headline=SIMILARITY,
            requires=_requirement if variant.clip else _INPUT,
            parameters={**own, **drawing.parameters},
            max_new_tokens=longest,
            extra_roles=(CLIP,) if variant.clip else (),
            unscorable="" if variant.clip else UNSCORED,
        )


def _for_clip(declaration: Declaration, variant: Variant) -> Declaration:
    """Without a CLIP model no summary says that gold answers are missing: there are none."""
    if variant.clip:
        return declaration
    return replace(declaration, headline=Headline(summarise=summarise_without_gold))


BENCHMARK = Declaration(
    name="mmgenbench",
    version="8",
    title="MMGenBench, descriptions from which a picture is drawn again",
    paper="https://arxiv.org/abs/2411.14062",
    provenance="MMGenBench of its authors",
    data=Published(
        {"set": ("test", "domain")},
        {
            ("test",): published_tsv(f"{_HOME}/MMGenBench-Test.tsv", "94f8dac6bbf7c20be403f99adeaa73da"),
            ("domain",): published_tsv(f"{_HOME}/MMGenBench-Domain.tsv", "5c10daf6e2c5f08bdfb0701aa6db86bb"),
        },
    ),
    aliases={"MMGenBench-Test": {"set": "test"}, "MMGenBench-Domain": {"set": "domain"}},
    kind="open",
    question=_QUESTION,
    requires=_INPUT,
    oracle=None,
    coverage="generic type",
    scoring=RedrawingScoring(),
    for_variant=_for_clip,
)
