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
that the reply names last, also in reasoning, and draws one by lot where it finds none (here by a
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

from functools import partial
from string import ascii_uppercase

from msgspec.structs import replace

from snellen.benchmarks.declaration.published import Published, tsv, withheld
from snellen.benchmarks.declaration.questions import question_benchmark
from snellen.benchmarks.protocol.flows import OpenRule, words_reader
from snellen.benchmarks.protocol.parsers import READERS, Readers
from snellen.core.answer import Answer, Empty, Found
from snellen.core.benchmark import Benchmark, Variant, needs
from snellen.core.sample import Row, Sample
from snellen.extract.published.mmmu import (
    draw_option,
    matches_mmmu,
    read_mmmu_answer,
    read_mmmu_open,
)
from snellen.extract.published.vlmevalkit import read_choice_vlmevalkit

VERSION = "3"
ALIASES = {
    "MMMU_DEV_VAL": {"split": "val"},
    "MMMU_TEST": {"split": "test"},
    "mmmu_val": {"split": "val"},
    "mmmu_test": {"split": "test"},
}
_HOME = "https://opencompass.openxlab.space/utils/VLMEval"
_DEV_VAL = tsv(f"{_HOME}/MMMU_DEV_VAL.tsv", "585e8ad75e73f75dcad265dfd0417d64")
DATA = Published(
    {"split": ("val", "dev", "test")},
    {
        ("val",): _DEV_VAL,
        ("dev",): _DEV_VAL,
        ("test",): tsv(f"{_HOME}/MMMU_TEST.tsv", "c19875d11a2d348d07e5eb4bdf33166d"),
    },
    held_out={"val": "dev", "test": "dev"},
)
_CHOICE = "multiple-choice"
_SPLITS = {"validation": "val"}
"""What the file calls a split, where it is not our name."""


def _held(answer: str, sample: Sample) -> float:
    return float(matches_mmmu(answer, sample.gold, words=True))


def _held_official(answer: str, sample: Sample) -> float:
    return float(matches_mmmu(answer, sample.gold))


def _chosen_vlmevalkit(reply: str, sample: Sample) -> float:
    """A list of golds stands as it is written; a gold that is a capital letter is taken for the
    label of an option, which here are the gold and others."""
    written = sample.gold[0] if len(sample.gold) == 1 else str(list(sample.gold))
    label = written if len(written) == 1 and written in ascii_uppercase else "A"
    found = read_choice_vlmevalkit(reply, {"A": written, "B": "Other Answers"})
    return float(isinstance(found, Found) and found.value == label)


def _whole_reply(reply: str, stop_reason: str = "stop") -> Answer:
    return Found(reply, "vlmevalkit: whole reply") if reply.strip() else Empty()


OPEN = OpenRule(read_mmmu_answer, _held)
OFFICIAL_OPEN = OpenRule(read_mmmu_open, _held_official)
RULES = {
    "snellen": READERS["snellen"]._replace(open=OPEN),
    "vlmevalkit": READERS["vlmevalkit"]._replace(open=OpenRule(_whole_reply, _chosen_vlmevalkit)),
    "official": Readers(draw_option, words_reader, OFFICIAL_OPEN),
}


def benchmark(variant: Variant) -> Benchmark:
    asked = question_benchmark(
        variant,
        name="mmmu",
        version=VERSION,
        title="MMMU, college exams in 30 subjects",
        open=partial(DATA.table, variant),
        fetch=partial(DATA.fetch, variant),
        options=DATA.options,
        keep=partial(_of_split, variant.options.get("split", "val")),
        needs=needs("text", "image", many_images=True),
        groups=("l2-category", "category", "subject", "topic_difficulty"),
        rules=RULES,
        shape=_shaped,
        max_new_tokens=1024,
        paper="https://arxiv.org/abs/2311.16502",
        source="MMMU of its authors (Apache-2.0, MMMU/MMMU on the hub), as VLMEvalKit's TSV",
        held_out=DATA.examples_of(variant),
    )
    return withheld(asked, variant, "split", "test")


def _of_split(split: str, row: Row) -> bool:
    told = row.cells.get("split", split).lower()
    return _SPLITS.get(told, told) == split


def _shaped(sample: Sample, row: Row) -> Sample:
    """A question that its row calls so, or that has no options, is open, whatever its answer looks
    like. Rows of recorded replies may have neither question nor options."""
    told = row.cells.get("question_type", "")
    if (told and told != _CHOICE) or (not told and sample.question and not sample.options):
        return replace(sample, kind="open", options={})
    return sample
