"""Readers of replies: every function that reads one, and every one that grades what was read."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial

from tests.fuzz.pieces import WORDS, encoded_reply, text_of
from tests.fuzz.target import Broken, Target

from snellen.core.answer import Found
from snellen.extract import (
    choice,
    clean,
    conclusion,
    forms,
    multi_label,
    numbers,
    open_text,
    quotes,
    verdicts,
    yes_no,
)
from snellen.extract.published import (
    listed,
    mathvision,
    mmmu,
    official,
    tempcompass,
    vlmevalkit,
    vlmevalkit_own,
)
from snellen.models.reasoning import split_reasoning
from snellen.scoring import (
    document,
    edit_distance,
    exact,
    mathematics,
    mathvista,
    ocrbench,
    open_answer,
    phyx,
    relaxed,
    slidevqa,
    spatial457,
    tablevqabench,
    text_restoration,
    typed_answer,
    vqa_accuracy,
)
from snellen.scoring.captions import bleu, cider, rouge_l, tokenise

Read = Callable[[str], object]

OPTIONS: tuple[dict[str, str], ...] = (
    {"A": "a red car", "B": "a blue car", "C": "two dogs", "D": "none"},
    {"A": "$\\frac{1}{2}$", "B": "3.0", "C": "(0, 1)", "D": "0.5%", "E": "x²"},
    {"A": "Yes", "B": "No"},
    {"A": "A", "B": "B and C", "C": "红色", "D": "A"},
)
MARKS = ("Creativity", "Overall Score")


def _with_options(read: Callable[[str, Mapping[str, str]], object]) -> Read:
    return lambda reply: [read(reply, options) for options in OPTIONS]


CHOICES: dict[str, Read] = {
    read.__name__ + place: _with_options(read)  # type: ignore[arg-type]
    for place, reads in {
        "": (choice.read_choice, mmmu.read_mmmu, mmmu.read_mmmu_pro, mmmu.draw_option,
             mmmu.draw_pro_option, listed.read_mmsi, listed.read_medxpertqa,
             official.read_mmbench, official.read_equal, official.read_blink,
             official.read_mme_realworld, official.read_mmstar,
             official.read_cvbench, official.read_bracket,
             official.read_scienceqa, vlmevalkit.read_choice_vlmevalkit,
             tempcompass.read_choice_of),
        " of VLMEvalKit": (vlmevalkit_own.read_first_capital,
                           vlmevalkit_own.read_mme_realworld,
                           vlmevalkit_own.read_behind_answer),
    }.items()
    for read in reads
}  # fmt: skip
CHOICES |= {
    given.__name__: _with_options(given(("B",)))
    for given in (listed.phyx_given_gold, official.opening_given_gold,
                  vlmevalkit_own.first_word_given_gold,
                  vlmevalkit_own.bracket_given_gold)
}  # fmt: skip
WORDS_READ: dict[str, Read] = {
    "read_letters": lambda reply: multi_label.read_letters(reply, "ABCD"),
    "read_yes_no": yes_no.read_yes_no,
    "read_yes_no prefix4": lambda reply: yes_no.read_yes_no(reply, "prefix4"),
    "read_yes_no_vlmevalkit": vlmevalkit.read_yes_no_vlmevalkit,
    "read_yes_no_of": tempcompass.read_yes_no_of,
    "read_match_of": lambda reply: tempcompass.read_match_of(
        reply, tempcompass.named_sentences("Sentence A: It runs.\nSentence B: It walks.")
    ),
    "read_match_in_any_case": lambda reply: tempcompass.read_match_in_any_case(
        reply, {"Sentence A": "It runs.", "Sentence B": "It walks."}
    ),
    "named_sentences": tempcompass.named_sentences,
    "read_open": open_text.read_open,
    "read_final": open_text.read_final,
    "read_whole": open_text.read_whole,
    "read_raw": open_text.read_raw,
    "read_number": numbers.read_number,
    "read_list": numbers.read_list,
    "read_mmmu_answer": mmmu.read_mmmu_answer,
    "read_mmmu_open": mmmu.read_mmmu_open,
    "read_spatial457": listed.read_spatial457,
    "read_phyx": listed.read_phyx,
    "short_answer": mathvision.short_answer,
    "read_truth": forms.read_truth,
    "read_form": lambda reply: [
        forms.read_form(reply, form, golds)
        for golds in (("3",), ("yes",), ("[1, 2]",), ("12:30",), ("A",), ("true",))
        if (form := forms.form_of(golds)) is not None
    ],
    "form_of": lambda reply: forms.form_of([reply]),
    "conclusion_of": conclusion.conclusion_of,
    "only_thinks": clean.only_thinks,
    "split_reasoning": lambda reply: [
        split_reasoning(reply, stop, opened)  # type: ignore[arg-type]
        for stop in ("stop", "length") for opened in (False, True)
    ],
}  # fmt: skip
VERDICTS: dict[str, Read] = {
    "read_grade": lambda reply: verdicts.read_grade(reply, 0.0, 1.0),
    "read_grade whole": lambda reply: verdicts.read_grade(reply, 0.0, 10.0, whole=True),
    "read_pair": lambda reply: verdicts.read_pair(reply, ("Accuracy", "Relevance"), 1.0, 5.0),
    "read_right": verdicts.read_right,
    "read_marks": lambda reply: verdicts.read_marks(reply, MARKS, 0.0, 10.0),
    "read_object": verdicts.read_object,
    "read_answer": verdicts.read_answer,
    "read_document_answer": verdicts.read_document_answer,
    "read_labels": verdicts.read_labels,
    "holds_verdict": quotes.holds_verdict,
    # A verdict is as long as a judge may write, the reply any length.
    "without_quotes": lambda reply: quotes.without_quotes(
        f'He says "{reply[:40]}". {reply[:10_000]}', reply
    ),
}
_GOLDS = ("3", "a red car", "$1,200", "['a', '1.5']", "50%")


def _graded(grade: Callable[[str, str], object]) -> Read:
    return lambda reply: [grade(reply, gold) for gold in _GOLDS]


def _graded_list(grade: Callable[..., object]) -> Read:
    return lambda reply: [grade(reply, (gold,)) for gold in _GOLDS]


_REFERENCES = [("a", "red", "car"), ("two", "dogs", "run", "and", "the", "cat", "is", "here")]
_KNOWN = cider.document_frequencies([_REFERENCES, [("a", "cat")]])
_FORMATS = ("Int", "Float", "Str", "List", "None")
_KINDS = ("integer", "float", "text", "list")


def _captioned(reply: str) -> object:
    words = tokenise.caption_words(reply)
    return (
        words, bleu.bleu_counts(words, _REFERENCES).scores(), rouge_l.rouge_l(words, _REFERENCES),
        cider.cider(words, _REFERENCES, _KNOWN),
    )  # fmt: skip


GRADES: dict[str, Read] = {
    "matches": _graded_list(open_answer.matches),
    "same_labels": _graded_list(open_answer.same_labels),
    "matches_mmmu": lambda reply: [
        mmmu.matches_mmmu(reply, (gold,), words=words) for gold in _GOLDS for words in (False, True)
    ],
    "anls": _graded_list(edit_distance.anls),
    "anls_by_script": _graded_list(edit_distance.anls_by_script),
    "document_anls": _graded_list(document.document_anls),
    "list_anls": lambda reply: document.list_anls(reply.split(",")[:50], _GOLDS),
    "abstains": document.abstains,
    "bag_of_words_f1": _graded_list(document.bag_of_words_f1),
    "squad_equal": _graded_list(document.squad_equal),
    "words_f1_vlmevalkit": _graded(document.words_f1_vlmevalkit),
    "equal_vlmevalkit": _graded(document.equal_vlmevalkit),
    "anls_of_letters": _graded(document.anls_of_letters),
    "anls_in_one_piece": _graded(document.anls_in_one_piece),
    "exact": lambda reply: [
        one(reply, _GOLDS)
        for one in (exact.equal_converted, exact.equal_folded, exact.equal_without_dot,
                    exact.contained, exact.contained_authors)
    ],
    "answer_type_of": mathvista.answer_type_of,
    "same_value": lambda reply: [
        mathvista.same_value(reply, gold, kind)  # type: ignore[arg-type]
        for gold in _GOLDS for kind in _KINDS
    ],
    "normalised of MathVista": lambda reply: [
        mathvista.normalised(reply, kind, gold, choices)  # type: ignore[arg-type]
        for kind, gold in zip(_KINDS, ("3", "0.5", "x", "[1]"), strict=True)
        for choices in ((), ("a red car", "two"))
    ],
    "numbers_of": mathvista.numbers_of,
    "holds_gold": lambda reply: [
        ocrbench.holds_gold(reply, _GOLDS, expression=expression) for expression in (False, True)
    ],
    "equal_phyx": lambda reply: phyx.equal_phyx(reply, _GOLDS, beside="\0"),
    "relaxed_correct": lambda reply: relaxed.relaxed_correct(reply, _GOLDS),
    "relaxed_as_it_stands": lambda reply: relaxed.relaxed_as_it_stands(reply, _GOLDS),
    "f1_authors": _graded(partial(slidevqa.f1_authors, question="how many cars are there?")),
    "equal_authors": _graded(partial(slidevqa.equal_authors, question="which city is it?")),
    "equal_spatial457": lambda reply: spatial457.equal_spatial457(reply, _GOLDS),
    "statement_correct": _graded(tablevqabench.statement_correct),
    "same_items": _graded(tablevqabench.same_items),
    "same_amount": _graded(tablevqabench.same_amount),
    "same_figure": _graded(tablevqabench.same_figure),
    "restored": lambda reply: [
        text_restoration.restored(reply, gold, chinese=chinese)
        for gold in ("the red car is here", "红色汽车") for chinese in (False, True)
    ],
    "typed_score": lambda reply: [
        grade(reply, gold, form)
        for gold in _GOLDS for form in _FORMATS
        for grade in (typed_answer.typed_score, typed_answer.typed_score_by_script)
    ],
    "vqa": lambda reply: [
        one(reply, _GOLDS)
        for one in (vqa_accuracy.vqa_accuracy, vqa_accuracy.vqa_accuracy_authors,
                    vqa_accuracy.vqa_accuracy_m4c, vqa_accuracy.vqa_accuracy_vlmevalkit)
    ],
    "captions": _captioned,
}  # fmt: skip
MATHS = {
    "undressed": mathematics.undressed,
    "equal": lambda reply: [
        mathematics.equal(reply, gold) for gold in ("3", "x+1", "\\frac{1}{2}")
    ],
    "equal_official": lambda reply: [
        mathematics.equal_official(reply, gold) for gold in ("3", "(1,2)", "\\frac{1}{2}")
    ],
}
FAMILIES: dict[str, dict[str, Read]] = {
    "replies-choice": CHOICES,
    "replies-open": WORDS_READ,
    "replies-verdict": VERDICTS,
    "replies-grade": GRADES,
    "replies-maths": MATHS,
}
_NO_ANSWER = ("", " ", "\n", "\t \r\n")


def check_empty(name: str, read: Read) -> None:
    """A reply of white space is never an answer."""
    for reply in _NO_ANSWER:
        found = read(reply)
        for one in found if isinstance(found, list) else [found]:
            if isinstance(one, Found) and one.value.strip():
                raise Broken(f"{name}: {reply!r} is read as {one.value!r}")
            if one is True or (isinstance(one, float) and one > 0):
                raise Broken(f"{name}: {reply!r} earns {one}")


def _all(readers: Mapping[str, Read]) -> Callable[[bytes], object]:
    def read(data: bytes) -> object:
        text = text_of(data)
        return [(name, _sound(name, one(text))) for name, one in readers.items()]

    return read


def _sound(name: str, found: object) -> object:
    """No number that was read is out of bounds or none."""
    if isinstance(found, float) and not (math.isfinite(found) and found >= 0):
        raise Broken(f"{name}: {found}")
    if isinstance(found, list):
        for one in found:
            _sound(name, one)
    return found


_SEEDS = (
    b"The answer is B.", b"A", b"Yes, it is.", "<think>It may be A.</think>\n答案是 C".encode(),
    b"\\boxed{\\frac{1}{2}}", b'{"answer": "a red car", "score": 5}', b"Score: 1.0\nRating: [[5]]",
    b"1,200.50 dollars", b"['a', '1.5']",
)  # fmt: skip
TARGETS: tuple[Target, ...] = tuple(
    Target(name, _all(readers), _SEEDS, WORDS, (), functions=len(readers), made=encoded_reply)
    for name, readers in FAMILIES.items()
)
