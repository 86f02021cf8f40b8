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

from snellen.benchmarks.declaration.other_tools import Elsewhere
from snellen.benchmarks.declaration.published import Published, PublishedFile, tsv
from snellen.benchmarks.declaration.questions import failures_of, resolve
from snellen.benchmarks.declaration.videos import watching_of, with_video
from snellen.benchmarks.protocol.ask_config import (
    example_options,
    example_parameters,
    longest_reply,
    needing,
    with_examples,
)
from snellen.benchmarks.protocol.flows import Manner, asked_once, words_reader
from snellen.benchmarks.protocol.parsers import (
    OWN,
    READERS,
    Readers,
    chosen_rule,
    known_rules,
    readers_of,
    rule_parameter,
)
from snellen.benchmarks.protocol.ranking import NORMALISATION, ranked
from snellen.benchmarks.seedbench.drawing_options import drawing_of, drawing_options
from snellen.benchmarks.seedbench.image_answers import drawn_answer, text_then_picture
from snellen.benchmarks.seedbench.levels import LEVELS, Level, Version
from snellen.benchmarks.seedbench.rows import DRAWN, PART, SPOKEN_AND_DRAWN, SUBPART, seed_samples
from snellen.benchmarks.seedbench.summary import headline_of, headline_sums, summarise_seed
from snellen.core.benchmark import Benchmark, Needs, Table, Variant
from snellen.core.errors import UsageError
from snellen.core.flow import Flow
from snellen.core.model import Capabilities
from snellen.core.request import CLIP, Drawing, Generation
from snellen.core.sample import Row, Sample
from snellen.data.download import Remote
from snellen.data.tables.seed_json import is_seed_json, open_seed_json
from snellen.extract.published.official import read_equal

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
    "seedbench": Elsewhere(
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
        ("1",): tsv(f"{_COMPASS}/SEEDBench_IMG.tsv", "68017231464752261a2526d6ca3a10c0"),
        ("2",): tsv(
            f"{_HUB}/VLMEval/SEEDBench2/resolve/main/SEEDBench2.tsv",
            "4ec15cf864c4f16274112284f531813e",
        ),
        ("2-plus",): tsv(f"{_COMPASS}/SEEDBench2_Plus.tsv", "e32d3216dc4f452b0fe497a52015d1fd"),
        ("H",): PublishedFile(
            _H, Remote(urls=(f"{_HUB}/AILab-CVC/SEED-Bench-H/resolve/main/{_H}",))
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
_RULES: Mapping[Protocol, Mapping[str, Readers]] = {
    "ranking": {"snellen": READERS["snellen"]},
    "generate": known_rules(Readers(read_equal, words_reader)),
}


def benchmark(variant: Variant) -> Benchmark:
    watching = None
    variant, drawing, drawn = drawing_of(variant)
    if variant.data is not None and is_seed_json(variant.data):
        variant, watching = watching_of(variant, shots=True)
    own = {**DATA.options, "protocol": get_args(Protocol), "level": ("L2", "L1", "L3")}
    known = {**own, **example_options()}
    asked = resolve("seedbench", variant, known)
    options = {name: asked[name] for name in own}
    free = "protocol" not in variant.options
    if free and variant.rule not in (None, OWN):
        options["protocol"] = "generate"  # the other rules read text, and rank nothing
    version, level = cast(Version, options["version"]), cast(Level, options["level"])
    protocol = cast(Protocol, options["protocol"])
    if version in ("1", "2-plus"):
        level = LEVELS[0]
    _check(protocol, level, drawn, example_parameters(asked))
    longest = longest_reply(_MAX_NEW_TOKENS, asked)
    settings = Generation(max_new_tokens=variant.max_new_tokens or longest)
    rules = _RULES["generate" if free else protocol]
    rule = chosen_rule("seedbench", variant, rules)

    def samples(rows: Iterable[Row]) -> Iterator[Sample]:
        path = getattr(rows, "path", "seedbench")
        return seed_samples(rows, version=version, level=level, path=path)

    how = Manner(settings, extractor=variant.extractor, choice=readers_of(rule, rules).choice)
    how = with_examples(how, asked, variant.shots)
    made = Benchmark(
        name="seedbench",
        version=VERSION,
        title=f"SEED-Bench, version {version}, {protocol}",
        headline=headline_of(version, level),
        open=partial(_table, variant),
        fetch=partial(DATA.fetch, variant),
        samples=samples,
        flow=_flow(protocol, how, drawing),
        summarise=partial(
            summarise_seed,
            version=version,
            level=level,
            ranking=protocol == "ranking",
            failures=failures_of(variant),
        ),
        headline_sums=headline_sums(version, level, failures_of(variant)),
        weighs_scores=True,
        needs=needing(_needs(protocol), asked, variant.control),
        beyond=partial(beyond, protocol=protocol, clip=variant.clip),
        asks=(CLIP,) if level == "L3" else (),
        paper=_PAPERS[version],
        source="AILab-CVC, CC BY-NC 4.0",
        options={**known, **drawing_options()},
        rules=tuple(rules),
        parameters={
            **options,
            "level": level,
            **drawn,
            **example_parameters(asked),
            **rule_parameter(variant),
            **({"normalisation": NORMALISATION} if protocol == "ranking" else {}),
        },
        max_new_tokens=settings.max_new_tokens,
        repeats=True,
    )
    return made if watching is None else with_video(made, watching, always=False)


def _check(
    protocol: Protocol, level: Level, drawn: Mapping[str, str], examples: Mapping[str, str]
) -> None:
    """Raises UsageError for options that do not go together."""
    if drawn and level != "L3":
        raise UsageError(
            f"seedbench:{', '.join(drawn)}: pictures are drawn in the questions of level=L3 alone"
        )
    if protocol == "ranking" and examples:
        raise UsageError(
            "seedbench ranks texts: shots and cot are for replies, with protocol=generate"
        )


def _table(variant: Variant) -> Table:
    path = DATA.fetch(variant)
    if not is_seed_json(str(path)):
        return DATA.table(variant)
    return DATA.marked(open_seed_json(str(path)), variant)


def _flow(protocol: Protocol, how: Manner, drawing: Drawing) -> Callable[[Sample], Flow]:
    text = ranked if protocol == "ranking" else asked_once(how)
    by_subpart = {
        DRAWN: drawn_answer(drawing),
        SPOKEN_AND_DRAWN: text_then_picture(text, drawing),
    }

    def flow(sample: Sample) -> Flow:
        return by_subpart.get(sample.groups.get(SUBPART, ""), text)(sample)

    return flow


def _needs(protocol: Protocol) -> Needs:
    def missing(capabilities: Capabilities) -> str | None:
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

    return missing


def beyond(
    sample: Sample, capabilities: Capabilities, *, protocol: Protocol, clip: bool
) -> str | None:
    """Why a model cannot take a question of some dimension; such a dimension has no value."""
    subpart = sample.groups.get(SUBPART, "")
    if subpart in (DRAWN, SPOKEN_AND_DRAWN):
        if "image" not in capabilities.outputs:
            return "the model draws no pictures"
        if not clip:
            return "pictures are compared by a CLIP model: name one with --clip"
        if not sample.pictures:
            return "the data file does not say which pictures are the options"
    if subpart != DRAWN:
        if "text" not in capabilities.outputs:
            return "the model gives no text"
        if protocol == "ranking" and not capabilities.log_likelihood:
            return "the model gives no log-likelihoods"
    return _unseen(sample, capabilities)


def _unseen(sample: Sample, capabilities: Capabilities) -> str | None:
    """Why the model cannot be shown what the question shows."""
    kinds = {ref.kind for ref in sample.media}
    for kind in sorted(kinds - capabilities.inputs):
        return f"the model takes no {kind} input"
    if len(sample.media) > 1 and not capabilities.many_images:
        return "the model takes one image only"
    if sample.groups.get(PART) == "part-2" and not capabilities.interleaved:
        return "the model takes no interleaved text and images"
    return None
