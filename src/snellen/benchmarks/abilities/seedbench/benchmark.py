"""SEED-Bench (2307.16125), SEED-Bench-2 (2311.17092), -2-Plus (2404.16790) and -H, by `version=`.

One example row: index "5_0", question "How many towels are in the image?", A "One", B "Two", C
"Three", D "Four", answer "A", category "Instances Counting", image <a file>.

`protocol=ranking` is the papers': the option whose text is likeliest after media and question.
`protocol=generate` shows the options and reads a letter, as the papers do for API models; the two
do not belong in one table. Where the answer is a picture, the model draws and CLIP compares.

Oddities: dimensions are averaged, not questions, in versions 2 and H; version 1 holds video
questions (ids v0, v1, ...), of which the picture-only TSV has none; the archives of versions 1, 2
and H must be unpacked beside the official question file given with `--data`. The authors keep two
dimensions of version H, few-shot segmentation and few-shot object detection, in files of their own
(task28_qa_segmentation.json, task31_qa_bboxes.json) whose form is documented nowhere public: such a
file is read if it is a list of questions, or an object with `questions`, in the form of the others
(question_id, question, choice_a, ..., answer, data_id), and refused in one sentence if not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, cast, get_args

from snellen.benchmarks.abilities.seedbench.image_answers import drawing_flow, text_then_drawing_flow
from snellen.benchmarks.abilities.seedbench.levels import LEVELS, CapabilityLevel, Version
from snellen.benchmarks.abilities.seedbench.rows import DRAWN, PART, SUBPART, TEXT_AND_DRAWN, seed_samples
from snellen.benchmarks.abilities.seedbench.summary import headline_name, headline_sums, summarise_seed
from snellen.benchmarks.declaration.declaration import Declaration, Headline, ResolvedVariant, Scoring, Video
from snellen.benchmarks.declaration.other_tools import OtherToolName
from snellen.benchmarks.declaration.published import Published, PublishedFile, published_tsv
from snellen.benchmarks.protocol.ask_config import (
    apply_few_shot,
    few_shot_options,
    few_shot_parameters,
    few_shot_requirements,
    max_reply_tokens,
)
from snellen.benchmarks.protocol.drawing_options import allow_drawing_options, drawing_options, split_drawing_options
from snellen.benchmarks.protocol.flows import AskConfig, SinglePassFlow
from snellen.benchmarks.protocol.parsers import (
    OWN,
    PARSERS,
    VLMEVALKIT,
    ParserSet,
    parsers_of,
    rule_parameter,
    rules_of,
)
from snellen.benchmarks.protocol.ranking import NORMALISATION, ranked_flow
from snellen.core.benchmark import Benchmark, DataTable, Requirement, Variant
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities
from snellen.core.record import Flow
from snellen.core.request import CLIP, Drawing, Generation
from snellen.core.sample import Row, Sample
from snellen.data.download import RemoteFile
from snellen.data.tables.seed_json import is_seed_json, open_seed_json
from snellen.extract.published.official import parse_equal

_GENERATED = {"protocol": "generate"}
Protocol = Literal["ranking", "generate"]

_HUB = "https://huggingface.co/datasets"
_COMPASS = "https://opencompass.openxlab.space/utils/benchmarks/SEEDBench"
_H = "SEED-Bench-H.json"
_PAPERS = {
    "1": "https://arxiv.org/abs/2307.16125",
    "2": "https://arxiv.org/abs/2311.17092",
    "2-plus": "https://arxiv.org/abs/2404.16790",
    "H": "https://github.com/AILab-CVC/SEED-Bench",
}
_MAX_NEW_TOKENS = 64
_RULES: Mapping[Protocol, Mapping[str, ParserSet]] = {
    "ranking": {"snellen": PARSERS["snellen"]},
    "generate": rules_of(ParserSet(parse_equal)),
}


def _requirements(protocol: Protocol) -> Requirement:
    def missing_requirement(capabilities: Capabilities) -> str | None:
        if "image" in capabilities.outputs:
            return None
        if protocol == "ranking" and not capabilities.log_likelihood:
            return (
                "ranks answers by log-likelihood, which the model does not give; ask it with "
                "seedbench:protocol=generate, which the papers do for API models (a protocol of "
                "its own: do not mix the two in one table)"
            )
        if "image" not in capabilities.inputs:
            return "needs image input, which the model does not take"
        return None

    return missing_requirement


def unsupported_reason(sample: Sample, capabilities: Capabilities, *, protocol: Protocol, clip: bool) -> str | None:
    """Why a model cannot take a question of some dimension; such a dimension has no value."""
    subpart = sample.groups.get(SUBPART, "")
    if subpart in (DRAWN, TEXT_AND_DRAWN):
        if "image" not in capabilities.outputs:
            return "the model draws no pictures"
        if not clip:
            return "pictures are compared by a CLIP model: name one with --judge clip/ORG/NAME"
        if not sample.option_images:
            return "the data file does not say which pictures are the options"
    if subpart != DRAWN:
        if "text" not in capabilities.outputs:
            return "the model gives no text"
        if protocol == "ranking" and not capabilities.log_likelihood:
            return "the model gives no log-likelihoods"
    return _unsupported_input(sample, capabilities)


def _unsupported_input(sample: Sample, capabilities: Capabilities) -> str | None:
    """Why the model cannot be shown what the question shows."""
    kinds = {ref.kind for ref in sample.media}
    for kind in sorted(kinds - capabilities.inputs):
        return f"the model takes no {kind} input"
    if len(sample.media) > 1 and not capabilities.many_images:
        return "the model takes one image only"
    if sample.groups.get(PART) == "part-2" and not capabilities.interleaved:
        return "the model takes no interleaved text and images"
    return None


class SeedFiles(Published):
    """The authors' JSON files of questions are opened, too."""

    def table(self, variant: Variant) -> DataTable:
        path = self.fetch(variant)
        if not is_seed_json(str(path)):
            return Published.table(self, variant)
        return self.with_origin(open_seed_json(str(path)), variant)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedScoring(Scoring):
    """Answers are ranked by their likelihood, or generated; images are drawn and compared."""

    version: Version = "1"
    level: CapabilityLevel = LEVELS[0]
    protocol: Protocol = "ranking"
    rules: Mapping[str, ParserSet] = field(default_factory=lambda: _RULES["generate"])

    def options(self, declaration: Declaration) -> Mapping[str, Sequence[str]]:
        return {**Scoring.options(self, declaration), **few_shot_options(), **drawing_options()}

    def allowed_options(self, options: Mapping[str, Sequence[str]], variant: Variant) -> Mapping[str, Sequence[str]]:
        return allow_drawing_options(options, variant)

    def score(self, plain: Benchmark, resolved: ResolvedVariant) -> Benchmark:
        """The flow and summary of a SEED-Bench version, by ranking or by generated answers."""
        variant, options = resolved.variant, resolved.options
        drawing = split_drawing_options(variant)
        self._check(drawing.parameters, few_shot_parameters(options))
        max_reply = max_reply_tokens(_MAX_NEW_TOKENS, options)
        settings = Generation(max_new_tokens=variant.max_new_tokens or max_reply)
        parsers = parsers_of(resolved.rule, self.rules)
        config = AskConfig(settings, extractor=variant.extractor, choice=parsers.choice)
        config = apply_few_shot(config, options, variant.shots)
        ranking = self.protocol == "ranking"
        return replace(
            plain,
            flow=self._flow(config, drawing.settings),
            summarise=partial(
                summarise_seed, version=self.version, level=self.level, ranking=ranking, failures=resolved.failures
            ),
            headline_sums=headline_sums(self.version, self.level, resolved.failures),
            headline=headline_name(self.version, self.level),
            requires=few_shot_requirements(_requirements(self.protocol), options, variant.control),
            extra_roles=(CLIP,) if self.level == "L3" else (),
            parameters={
                "version": self.version,
                "protocol": self.protocol,
                "level": self.level,
                **drawing.parameters,
                **few_shot_parameters(options),
                **rule_parameter(variant),
                **({"normalisation": NORMALISATION} if ranking else {}),
            },
            max_new_tokens=settings.max_new_tokens,
        )

    def _check(self, drawing: Mapping[str, str], examples: Mapping[str, str]) -> None:
        """Raises UsageError for options that do not go together."""
        if drawing and self.level != "L3":
            raise UsageError(f"seedbench:{', '.join(drawing)}: pictures are drawn in the questions of level=L3 alone")
        if self.protocol == "ranking" and examples:
            raise UsageError("seedbench ranks texts: shots and cot are for replies, with protocol=generate")

    def _flow(self, config: AskConfig, drawing: Drawing) -> Callable[[Sample], Flow]:
        text = ranked_flow if self.protocol == "ranking" else SinglePassFlow(config)
        by_subpart = {DRAWN: drawing_flow(drawing), TEXT_AND_DRAWN: text_then_drawing_flow(text, drawing)}

        def flow(sample: Sample) -> Flow:
            return by_subpart.get(sample.groups.get(SUBPART, ""), text)(sample)

        return flow


def _for_version(declaration: Declaration, variant: Variant) -> Declaration:
    """The version, level and protocol of a variant; a value that is not allowed stands for the
    default here, and is refused when the options are resolved."""

    def choice_of(name: str) -> str:
        values = {**declaration.data.options, **declaration.options}[name]
        value = variant.options.get(name, values[0])
        return value if value in values else values[0]

    version = cast(Version, choice_of("version"))
    level = cast(CapabilityLevel, choice_of("level"))
    protocol = cast(Protocol, choice_of("protocol"))
    is_default = "protocol" not in variant.options
    rules = _RULES["generate" if is_default else protocol]
    if is_default and variant.rule not in (None, OWN):
        protocol = "generate"  # the other rules parse text, and rank nothing
    if version in ("1", "2-plus"):
        level = LEVELS[0]
    is_json = variant.data is not None and is_seed_json(variant.data)
    return replace(
        declaration,
        title=f"SEED-Bench, version {version}, {protocol}",
        paper=_PAPERS[version],
        samples=partial(_seed_samples, version, level),
        unsupported_reason=partial(unsupported_reason, protocol=protocol, clip=variant.clip),
        scoring=SeedScoring(version=version, level=level, protocol=protocol, rules=rules),
        video=_VIDEO if is_json else None,
    )


def _seed_samples(version: Version, level: CapabilityLevel, rows: Iterable[Row]) -> Iterator[Sample]:
    path = str(getattr(rows, "path", "seedbench"))
    return seed_samples(rows, version=version, level=level, path=path)


_VIDEO = Video(in_every_question=False, allow_shots=True, search_cache=False)
BENCHMARK = Declaration(
    name="seedbench",
    version="4",
    title="SEED-Bench, version 1, ranking",
    paper=_PAPERS["1"],
    provenance="AILab-CVC, CC BY-NC 4.0",
    data=SeedFiles(
        {"version": ("1", "2", "2-plus", "H")},
        {
            ("1",): published_tsv(f"{_COMPASS}/SEEDBench_IMG.tsv", "68017231464752261a2526d6ca3a10c0"),
            ("2",): published_tsv(
                f"{_HUB}/VLMEval/SEEDBench2/resolve/main/SEEDBench2.tsv", "4ec15cf864c4f16274112284f531813e"
            ),
            ("2-plus",): published_tsv(f"{_COMPASS}/SEEDBench2_Plus.tsv", "e32d3216dc4f452b0fe497a52015d1fd"),
            ("H",): PublishedFile(_H, RemoteFile(urls=(f"{_HUB}/AILab-CVC/SEED-Bench-H/resolve/main/{_H}",))),
        },
    ),
    aliases={
        "SEEDBench_IMG": {"version": "1", **_GENERATED},
        "SEED-Bench": {"version": "1"},
        "seedbench_ppl": {"version": "1"},
        "SEEDBench2": {"version": "2", **_GENERATED},
        "SEED-Bench-2": {"version": "2"},
        "SEEDBench2-Plus": {"version": "2-plus"},
        "SEEDBench2_Plus": {"version": "2-plus", **_GENERATED},
        "SEED-Bench-2-Plus": {"version": "2-plus"},
        "SEED-Bench-H": {"version": "H"},
        "seedbench-2": {"version": "2", **_GENERATED},
        "seedbench_2": {"version": "2", **_GENERATED},
        "seedbench_2_plus": {"version": "2-plus", **_GENERATED},
    },
    other_tools={
        "seedbench": OtherToolName(
            "lmms-eval", "has the model write the letter of an answer", _GENERATED, protocol=True
        )
    },
    options={"protocol": get_args(Protocol), "level": ("L2", "L1", "L3")},
    for_variant=_for_version,
    scoring=SeedScoring(),
    headline=Headline(weighs_scores=True),
    rule_headlines={VLMEVALKIT: Headline(name="accuracy")},
    counts_duplicates=True,
)
