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

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Literal, cast, get_args

from snellen.benchmarks.declaration.other_tools import OtherToolName
from snellen.benchmarks.declaration.published import Published, PublishedFile, published_tsv
from snellen.benchmarks.declaration.questions import failures_of, resolve_options
from snellen.benchmarks.declaration.videos import split_video_options, with_video
from snellen.benchmarks.protocol.ask_config import (
    apply_few_shot,
    few_shot_options,
    few_shot_parameters,
    few_shot_requirements,
    max_reply_tokens,
)
from snellen.benchmarks.protocol.flows import AskConfig, parse_yes_no_by_words, single_pass_flow
from snellen.benchmarks.protocol.parsers import (
    OWN,
    PARSERS,
    ParserSet,
    parsers_of,
    rule_parameter,
    rules_of,
    select_rule,
)
from snellen.benchmarks.protocol.ranking import NORMALISATION, ranked_flow
from snellen.benchmarks.seedbench.drawing_options import drawing_options, split_drawing_options
from snellen.benchmarks.seedbench.image_answers import drawing_flow, text_then_drawing_flow
from snellen.benchmarks.seedbench.levels import LEVELS, CapabilityLevel, Version
from snellen.benchmarks.seedbench.rows import DRAWN, PART, SUBPART, TEXT_AND_DRAWN, seed_samples
from snellen.benchmarks.seedbench.summary import headline_name, headline_sums, summarise_seed
from snellen.core.benchmark import Benchmark, Requirement, Table, Variant
from snellen.core.errors import UsageError
from snellen.core.flow import Flow
from snellen.core.model import Capabilities
from snellen.core.request import CLIP, Drawing, Generation
from snellen.core.sample import Row, Sample
from snellen.data.download import RemoteFile
from snellen.data.tables.seed_json import is_seed_json, open_seed_json
from snellen.extract.published.official import parse_equal

VERSION = "3"
_GENERATED = {"protocol": "generate"}
ALIASES = {
    "SEEDBench_IMG": {"version": "1", **_GENERATED},
    "SEED-Bench": {"version": "1"},
    "seedbench_ppl": {"version": "1"},
    "SEEDBench2": {"version": "2", **_GENERATED},
    "SEED-Bench-2": {"version": "2"},
    "SEEDBench2_Plus": {"version": "2-plus", **_GENERATED},
    "SEED-Bench-2-Plus": {"version": "2-plus"},
    "SEED-Bench-H": {"version": "H"},
    "seedbench-2": {"version": "2", **_GENERATED},
    "seedbench_2": {"version": "2", **_GENERATED},
    "seedbench_2_plus": {"version": "2-plus", **_GENERATED},
}
"""The authors rank the answers by their likelihood; the other tools, but for `seedbench_ppl`, have
the model write the letter of one."""
ELSEWHERE = {
    "seedbench": OtherToolName(
        "lmms-eval", "has the model write the letter of an answer", _GENERATED, protocol=True
    )
}
Protocol = Literal["ranking", "generate"]

_HUB = "https://huggingface.co/datasets"
_COMPASS = "https://opencompass.openxlab.space/utils/benchmarks/SEEDBench"
_H = "SEED-Bench-H.json"
DATA = Published(
    {"version": ("1", "2", "2-plus", "H")},
    {
        ("1",): published_tsv(f"{_COMPASS}/SEEDBench_IMG.tsv", "68017231464752261a2526d6ca3a10c0"),
        ("2",): published_tsv(
            f"{_HUB}/VLMEval/SEEDBench2/resolve/main/SEEDBench2.tsv",
            "4ec15cf864c4f16274112284f531813e",
        ),
        ("2-plus",): published_tsv(
            f"{_COMPASS}/SEEDBench2_Plus.tsv", "e32d3216dc4f452b0fe497a52015d1fd"
        ),
        ("H",): PublishedFile(
            _H, RemoteFile(urls=(f"{_HUB}/AILab-CVC/SEED-Bench-H/resolve/main/{_H}",))
        ),
    },
)
_PAPERS = {
    "1": "https://arxiv.org/abs/2307.16125",
    "2": "https://arxiv.org/abs/2311.17092",
    "2-plus": "https://arxiv.org/abs/2404.16790",
    "H": "https://github.com/AILab-CVC/SEED-Bench",
}
_MAX_NEW_TOKENS = 64
_RULES: Mapping[Protocol, Mapping[str, ParserSet]] = {
    "ranking": {"snellen": PARSERS["snellen"]},
    "generate": rules_of(ParserSet(parse_equal, parse_yes_no_by_words)),
}


def benchmark(variant: Variant) -> Benchmark:
    video = None
    variant, drawing, drawing_parameters = split_drawing_options(variant)
    if variant.data is not None and is_seed_json(variant.data):
        variant, video = split_video_options(variant, allow_shots=True)
    own = {**DATA.options, "protocol": get_args(Protocol), "level": ("L2", "L1", "L3")}
    known = {**own, **few_shot_options()}
    all_options = resolve_options("seedbench", variant, known)
    options = {name: all_options[name] for name in own}
    protocol_is_default = "protocol" not in variant.options
    if protocol_is_default and variant.rule not in (None, OWN):
        options["protocol"] = "generate"  # the other rules read text, and rank nothing
    version, level = cast(Version, options["version"]), cast(CapabilityLevel, options["level"])
    protocol = cast(Protocol, options["protocol"])
    if version in ("1", "2-plus"):
        level = LEVELS[0]
    _check_options(protocol, level, drawing_parameters, few_shot_parameters(all_options))
    max_reply = max_reply_tokens(_MAX_NEW_TOKENS, all_options)
    settings = Generation(max_new_tokens=variant.max_new_tokens or max_reply)
    rules = _RULES["generate" if protocol_is_default else protocol]
    rule = select_rule("seedbench", variant, rules)

    def samples(rows: Iterable[Row]) -> Iterator[Sample]:
        path = getattr(rows, "path", "seedbench")
        return seed_samples(rows, version=version, level=level, path=path)

    config = AskConfig(settings, extractor=variant.extractor, choice=parsers_of(rule, rules).choice)
    config = apply_few_shot(config, all_options, variant.shots)
    built = Benchmark(
        name="seedbench",
        version=VERSION,
        title=f"SEED-Bench, version {version}, {protocol}",
        headline=headline_name(version, level),
        open=partial(_open_table, variant),
        fetch=partial(DATA.fetch, variant),
        samples=samples,
        flow=_flow(protocol, config, drawing),
        summarise=partial(
            summarise_seed,
            version=version,
            level=level,
            ranking=protocol == "ranking",
            failures=failures_of(variant),
        ),
        headline_sums=headline_sums(version, level, failures_of(variant)),
        weighs_scores=True,
        requires=few_shot_requirements(_requirements(protocol), all_options, variant.control),
        unsupported_reason=partial(unsupported_reason, protocol=protocol, clip=variant.clip),
        extra_roles=(CLIP,) if level == "L3" else (),
        paper=_PAPERS[version],
        provenance="AILab-CVC, CC BY-NC 4.0",
        options={**known, **drawing_options()},
        rules=tuple(rules),
        parameters={
            **options,
            "level": level,
            **drawing_parameters,
            **few_shot_parameters(all_options),
            **rule_parameter(variant),
            **({"normalisation": NORMALISATION} if protocol == "ranking" else {}),
        },
        max_new_tokens=settings.max_new_tokens,
        counts_duplicates=True,
    )
    return built if video is None else with_video(built, video, in_every_question=False)


def _check_options(
    protocol: Protocol,
    level: CapabilityLevel,
    drawing: Mapping[str, str],
    examples: Mapping[str, str],
) -> None:
    """Raises UsageError for options that do not go together."""
    if drawing and level != "L3":
        raise UsageError(
            f"seedbench:{', '.join(drawing)}: pictures are drawn in the questions of level=L3 alone"
        )
    if protocol == "ranking" and examples:
        raise UsageError(
            "seedbench ranks texts: shots and cot are for replies, with protocol=generate"
        )


def _open_table(variant: Variant) -> Table:
    path = DATA.fetch(variant)
    if not is_seed_json(str(path)):
        return DATA.table(variant)
    return DATA.with_origin(open_seed_json(str(path)), variant)


def _flow(protocol: Protocol, config: AskConfig, drawing: Drawing) -> Callable[[Sample], Flow]:
    text = ranked_flow if protocol == "ranking" else single_pass_flow(config)
    by_subpart = {
        DRAWN: drawing_flow(drawing),
        TEXT_AND_DRAWN: text_then_drawing_flow(text, drawing),
    }

    def flow(sample: Sample) -> Flow:
        return by_subpart.get(sample.groups.get(SUBPART, ""), text)(sample)

    return flow


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


def unsupported_reason(
    sample: Sample, capabilities: Capabilities, *, protocol: Protocol, clip: bool
) -> str | None:
    """Why a model cannot take a question of some dimension; such a dimension has no value."""
    subpart = sample.groups.get(SUBPART, "")
    if subpart in (DRAWN, TEXT_AND_DRAWN):
        if "image" not in capabilities.outputs:
            return "the model draws no pictures"
        if not clip:
            return "pictures are compared by a CLIP model: name one with --clip"
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
