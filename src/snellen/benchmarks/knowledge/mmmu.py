"""MMMU: college exams in 30 subjects of 6 disciplines (Yue et al. 2023,
https://arxiv.org/abs/2311.16502).

One example row: index 0, id "validation_Accounting_1", question "<image 1> Baxter Company has a
relevant range of production between 15,000 and 30,000 units. ...", A "$6", B "$7", C "$8", D "$9",
answer "B", split "validation", category "Accounting", l2-category "Business", image <list of
base64>.

Oddities: images stand where `<image k>` names them, also in options; about 6 % of the questions are
open, with a text, a number or a list of these as gold; `dev` and `val` share a file. Answers of
`test` are kept by the authors.

Published numbers are made with the authors' parse, which is `--rule official`: it takes the option
that the reply names last, also in reasoning, and draws one at random where it finds none (here by a
seed of the reply, so that the number stays the same). Our default reads choices as all benchmarks
do: it reads more ways of naming an option ("**B**", "\\boxed{B}", "answer: b", thinking before the
answer), never takes a letter of the reasoning against a stated answer, and never draws.
An open answer is right where it holds the gold text, or a number equal to the gold's at two
decimals. By default what the reply marks or states as its answer must hold it, as whole words;
`official` looks behind every word that may announce a result, in all lines, and into words.
VLMEvalKit turns an open question into a choice between the gold answer, as its cell is written,
and "Other Answers" (`--rule vlmevalkit`).
"""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_uppercase

from msgspec.structs import replace

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.protocol.flows import OpenScoring
from snellen.benchmarks.protocol.parsers import PARSERS, ParserSet
from snellen.core.benchmark import requires
from snellen.core.output import Answer, Empty, ParsedAnswer
from snellen.core.sample import Row, Sample
from snellen.extract.published.mmmu import matches_mmmu, parse_mmmu_answer, parse_mmmu_open, parse_mmmu_or_draw
from snellen.extract.published.vlmevalkit import parse_choice_vlmevalkit

_HOME = "https://opencompass.openxlab.space/utils/VLMEval"
_DEV_VAL = published_tsv(f"{_HOME}/MMMU_DEV_VAL.tsv", "585e8ad75e73f75dcad265dfd0417d64")
_CHOICE = "multiple-choice"
_SPLITS = {"validation": "val"}
"""What the file calls a split, where it is not our name."""


def _holds_gold(answer: str, sample: Sample) -> float:
    return float(matches_mmmu(answer, sample.gold, whole_words=True))


def _holds_gold_official(answer: str, sample: Sample) -> float:
    return float(matches_mmmu(answer, sample.gold))


def _chooses_gold_vlmevalkit(reply: str, sample: Sample) -> float:
    """VLMEvalKit's choice between the gold answer, as its cell is written, and "Other Answers".

    A gold answer that is a capital letter counts as a label.
    """
    written = sample.gold[0] if len(sample.gold) == 1 else str(list(sample.gold))
    label = written if len(written) == 1 and written in ascii_uppercase else "A"
    choice = parse_choice_vlmevalkit(reply, {"A": written, "B": "Other Answers"})
    return float(isinstance(choice, ParsedAnswer) and choice.value == label)


def _parse_whole_reply(reply: str, stop_reason: str = "stop") -> Answer:
    return ParsedAnswer(reply, "vlmevalkit: whole reply") if reply.strip() else Empty()


OPEN = OpenScoring(parse_mmmu_answer, _holds_gold)
OFFICIAL_OPEN = OpenScoring(parse_mmmu_open, _holds_gold_official)
RULES = {
    "snellen": PARSERS["snellen"]._replace(open=OPEN),
    "vlmevalkit": PARSERS["vlmevalkit"]._replace(open=OpenScoring(_parse_whole_reply, _chooses_gold_vlmevalkit)),
    "official": ParserSet(parse_mmmu_or_draw, open=OFFICIAL_OPEN),
}


def _is_in_split(row: Row, options: Mapping[str, str]) -> bool:
    """Whether the row is of the chosen split, if it names one: `dev` and `val` share a file."""
    split = options["split"]
    named = row.cells.get("split", split).lower()
    return _SPLITS.get(named, named) == split


def _adjust(sample: Sample, row: Row) -> Sample:
    """A question that its row calls so, or that has no options, is open, whatever its answer looks
    like. Rows of recorded replies may have neither question nor options."""
    question_type = row.cells.get("question_type", "")
    if (question_type and question_type != _CHOICE) or (not question_type and sample.question and not sample.options):
        return replace(sample, kind="open", options={})
    return sample


BENCHMARK = Declaration(
    name="mmmu",
    version="4",
    title="MMMU, college exams in 30 subjects",
    paper="https://arxiv.org/abs/2311.16502",
    provenance="MMMU of its authors (Apache-2.0, MMMU/MMMU on the hub), as VLMEvalKit's TSV",
    data=Published(
        {"split": ("val", "dev", "test")},
        {
            ("val",): _DEV_VAL,
            ("dev",): _DEV_VAL,
            ("test",): published_tsv(f"{_HOME}/MMMU_TEST.tsv", "c19875d11a2d348d07e5eb4bdf33166d"),
        },
        held_out={"val": "dev", "test": "dev"},
    ),
    aliases={
        "MMMU_DEV_VAL": {"split": "val"},
        "MMMU_TEST": {"split": "test"},
        "mmmu_val": {"split": "val"},
        "mmmu_test": {"split": "test"},
    },
    keep=_is_in_split,
    group_by=("l2-category", "category", "subject", "topic_difficulty"),
    adjust=_adjust,
    requires=requires("text", "image"),
    max_new_tokens=1024,
    scoring=RuleScoring(rules=RULES),
    hidden_answers=("test",),
)
