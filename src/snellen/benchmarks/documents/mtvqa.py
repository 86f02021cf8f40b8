"""MTVQA: text in pictures in nine languages (Tang et al. 2024, https://arxiv.org/abs/2405.11985).

A row of this form (made up): index 0, question "Какой номер телефона указан?", answer "8-800-555",
category "RU", split "test", image <base64>.

Oddities: several questions to a picture; the languages differ in size. The headline is the mean
over questions, as VLMEvalKit's; the authors' script prints the mean of the languages' means
(`mean_of_languages`).

The gold, lower-cased and without dots, must stand in the reply, so that one that lists all that is
in the picture is right. lmms-eval and VLMEvalKit do the same. The authors' script removes the dots
of the reply alone and never finds a gold that has one (`--rule official`).
"""

from __future__ import annotations

from functools import partial

from snellen.benchmarks.declaration.declaration import Declaration, Headline
from snellen.benchmarks.declaration.open_questions import open_answers, open_rules
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.video_questions import add_group_mean, group_mean
from snellen.benchmarks.protocol.flows import against_gold
from snellen.benchmarks.protocol.parsers import OFFICIAL
from snellen.extract.open_text import parse_whole
from snellen.prompts.choice import PromptTemplate
from snellen.scoring.exact import contains_gold, contains_gold_authors

TEMPLATE = PromptTemplate(open="Answer the question using a word or phrase in the language of the question.")


LANGUAGE = "category"
MEAN_OF_LANGUAGES = "mean_of_languages"


BENCHMARK = Declaration(
    name="mtvqa",
    version="3",
    title="MTVQA, text in pictures in nine languages",
    paper="https://arxiv.org/abs/2405.11985",
    provenance="MTVQA test set (CC BY-NC 4.0), as VLMEvalKit's TSV",
    data=single_tsv(
        "https://opencompass.openxlab.space/utils/VLMEval/MTVQA_TEST.tsv", "d87c17dbab934b7cd89c0a3c1c5657f4"
    ),
    aliases={"MTVQA_TEST": {}},
    template=TEMPLATE,
    scoring=open_answers(
        "accuracy",
        open_rules(against_gold(contains_gold), official=against_gold(contains_gold_authors), parse=parse_whole),
    ),
    headline=Headline(summarise=partial(add_group_mean, MEAN_OF_LANGUAGES, LANGUAGE)),
    rule_headlines={OFFICIAL: group_mean(MEAN_OF_LANGUAGES, LANGUAGE)},
)
