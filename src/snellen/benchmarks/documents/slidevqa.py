"""SlideVQA: decks of twenty slides (Tanaka et al. 2023, https://arxiv.org/abs/2301.04883).

A row of this form (made up): index 0, question "What is the combined percentage of ...?", answer
"25%", image_path "[...]" (a picture for each slide).

Oddities: golds hold line breaks, which count as blanks (VLMEvalKit joins the lines without one).
Many answers are sums over slides. SLIDEVQA_MINI is a subset.

The headline is F1 of words by SQuAD's normalisation; exact match and ANLS stand beside it. The
authors' script normalises further, by the question too (`--rule official`, see below).
VLMEvalKit has GPT-4o extract a short answer first, as `--extractor MODEL` does here, and its F1
does not cap words that are repeated (`--rule vlmevalkit` has its F1, held to 1). Without an
extractor a rule reads the answer, so that wordy replies score lower than there.

By the authors' script phrases such as "it is" and "because" and the word percent are removed, "and"
and & become commas, the unit that the question asks for ("how many boats", "which city") is
removed, an answer that begins with yes or no is reduced to that word, and number words to nineteen
become digits.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.documents import PAGES, adapt_to_extractor, add_extraction, parse_document_answer
from snellen.benchmarks.declaration.open_questions import BARE, open_answers, open_rules
from snellen.benchmarks.declaration.other_tools import OtherToolName
from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.benchmarks.protocol.flows import GradeFunction, against_gold
from snellen.core.literals import digits_by_word
from snellen.prompts.pdf_pages import with_pages
from snellen.scoring.document import (
    anls_vlmevalkit_joined_lines,
    bag_of_words_f1,
    equal_vlmevalkit,
    squad_equal,
    words_f1_vlmevalkit,
)
from snellen.scoring.edit_distance import anls

_DIGITS = digits_by_word(19)
_REPLACED = (
    ("this is ", ""),
    ("it is ", ""),
    ("&", ","),
    ("and", ","),
    ("percent", ""),
    ("organisation", "organization"),
    ("because of", ""),
    ("because", ""),
    ("due to", ""),
    ("hours", "hrs"),
    ("minites", "min"),
)
_NO_SIGNS = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def f1_authors(answer: str, gold: str, question: str) -> float:
    """F1 of words counted with repetition, 0..1; the question names the unit."""
    answer_words, gold_words = _words(answer, question), _words(gold, question)
    shared = sum((Counter(answer_words) & Counter(gold_words)).values())
    return 2 * shared / (len(answer_words) + len(gold_words)) if shared else 0.0


def equal_authors(answer: str, gold: str, question: str) -> bool:
    """Whether answer and gold are the same words in the same order; two empty answers are not
    equal."""
    answer_words = _words(answer, question)
    return answer_words != [] and answer_words == _words(gold, question)


def _words(text: str, question: str) -> list[str]:
    text = text.lower()
    for old, new in _REPLACED:
        text = text.replace(old, new)
    for phrase in ("how many", "which"):
        text = _remove_unit(text, question, phrase)
    text = _ARTICLES.sub(" ", text.translate(_NO_SIGNS))
    if text.startswith(("yes", "no")):
        text = text.split()[0]
    return [_DIGITS.get(word, word) for word in text.split()]


def _remove_unit(text: str, question: str, phrase: str) -> str:
    """Remove the word that follows `phrase` in the question wherever it occurs in the text."""
    _, match, after_phrase = question.partition(phrase)
    unit = after_phrase.split()[:1] if match else []
    return text.replace(unit[0], "") if unit else text


EXACT, ANLS = "exact_match", "anls"
_HOME = "https://opencompass.openxlab.space/utils/VLMEval"


def _against_first_gold(metric: Callable[[str, str], float]) -> GradeFunction:
    """A metric of an answer and one gold."""
    return lambda answer, sample: float(metric(answer, sample.gold[0]))


def _against_question(metric: Callable[[str, str, str], float]) -> GradeFunction:
    """A metric that looks at the question too."""
    return lambda answer, sample: float(metric(answer, sample.gold[0], sample.question))


BENCHMARK = Declaration(
    name="slidevqa",
    version="3",
    title="SlideVQA, decks of slides",
    paper="https://arxiv.org/abs/2301.04883",
    provenance="SlideVQA (NTT's evaluation licence), as VLMEvalKit's TSV",
    data=Published(
        {"set": ("full", "mini")},
        {
            ("full",): published_tsv(f"{_HOME}/SLIDEVQA.tsv", "5e822c2f800e94c1e23badfd478326b6"),
            ("mini",): published_tsv(f"{_HOME}/SLIDEVQA_MINI.tsv", "6d9a8d8814fa5b7669deb2af3a3208eb"),
        },
    ),
    aliases={"SLIDEVQA_MINI": {"set": "mini"}},
    other_tools={"slidevqa": OtherToolName("lmms-eval", "asks the validation split")},
    requires=PAGES,
    template=BARE,
    max_new_tokens=256,
    scoring=open_answers(
        "f1",
        add_extraction(
            open_rules(
                against_gold(bag_of_words_f1),
                official=_against_question(f1_authors),
                vlmevalkit=_against_first_gold(words_f1_vlmevalkit),
                parse=parse_document_answer,
                secondary={EXACT: against_gold(squad_equal), ANLS: against_gold(anls)},
                secondary_official={EXACT: _against_question(equal_authors)},
                secondary_vlmevalkit={
                    EXACT: _against_first_gold(equal_vlmevalkit),
                    ANLS: _against_first_gold(anls_vlmevalkit_joined_lines),
                },
            )
        ),
    ),
    prepare=with_pages,
    coverage="generic type",
    for_variant=adapt_to_extractor,
)
