"""Readers of replies: every function that reads one, and every one that grades what was read."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from functools import partial

from tests.fuzz.pieces import WORDS, encoded_reply, text_of
from tests.fuzz.target import Broken, Target

from snellen.benchmarks.documents import ocrbench, slidevqa, tablevqabench
from snellen.benchmarks.documents.vcr_wiki import text_restoration
from snellen.benchmarks.mathematics import mathvista
from snellen.benchmarks.open_answers.mega_bench.grading import latex as mega_latex
from snellen.benchmarks.open_answers.mega_bench.grading import numbers as mega_numbers
from snellen.benchmarks.open_answers.mega_bench.grading.metrics import LATEX_METRICS, METRICS, score_field
from snellen.benchmarks.open_answers.mega_bench.grading.replies import PARSERS, parse_reply
from snellen.benchmarks.protocol.page_grading import omnidocbench_parts, page_parts, unit_test_parts
from snellen.core.output import ParsedAnswer
from snellen.core.place import Space
from snellen.core.sample import Sample
from snellen.extract import (
    choice,
    clean,
    forms,
    json_reply,
    marks,
    multi_label,
    numbers,
    open_text,
    orders,
    quotes,
    verdicts,
    yes_no,
)
from snellen.extract.pages import blocks
from snellen.extract.places.read import parse_places, read_numbers
from snellen.extract.published import (
    by_patterns,
    first_capital,
    lmms_eval,
    mathvision,
    mmmu,
    official,
    tempcompass,
    vlmevalkit,
    vlmevalkit_images,
    vlmevalkit_own,
)
from snellen.models.reasoning import split_reasoning
from snellen.scoring import (
    counts,
    document,
    edit_distance,
    exact,
    mathematics,
    open_answer,
    relaxed,
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
        "": (
            choice.parse_choice,
            mmmu.parse_mmmu,
            mmmu.parse_mmmu_pro,
            mmmu.parse_mmmu_or_draw,
            mmmu.parse_mmmu_pro_or_draw,
            official.parse_mmsi,
            official.parse_medxpertqa,
            official.parse_mmbench,
            official.parse_equal,
            official.parse_blink,
            official.parse_mme_realworld,
            official.parse_mmstar,
            official.parse_cvbench,
            official.parse_before_bracket,
            official.parse_scienceqa,
            vlmevalkit.parse_choice_vlmevalkit,
            tempcompass.parse_tempcompass_choice,
        ),
        " of VLMEvalKit": (
            first_capital.of_four_vlmevalkit,
            vlmevalkit_own.parse_mme_realworld,
            vlmevalkit_own.parse_after_answer,
        ),
        " of V2P-Bench": (by_patterns.v2p_bench,),
        " of MMSI-Video-Bench": (by_patterns.mmsi_video,),
        " of lmms-eval": (
            lmms_eval.parse_listed,
            lmms_eval.parse_bounded,
            lmms_eval.parse_egoschema,
            lmms_eval.parse_tomato,
            lmms_eval.parse_motionbench,
            lmms_eval.parse_tvbench,
            mmmu.parse_mmmu_lmms_eval,
        ),
    }.items()
    for read in reads
}
CHOICES |= {
    given.__name__: _with_options(given(("B",)))
    for given in (
        vlmevalkit_images.phyx_choice_parser,
        official.opening_parser,
        vlmevalkit_own.first_word_parser,
        vlmevalkit_own.bracket_parser,
    )
}
_PAGE = json.dumps(
    [
        {"text": "One light", "category": "title", "order": 1},
        {"text": "Some words of text", "category": "text_block", "order": 2},
        {"text": "<table><tr><td>a</td></tr></table>", "kind": "table", "category": "table", "order": 3},
        {"text": "x^2", "kind": "formula", "category": "equation_isolated", "order": 4},
    ]
)
_PAGE_TESTS = json.dumps(
    [
        {"type": "order", "before": "One light", "after": "words", "max_diffs": 1},
        {"type": "table", "cell": "a", "left": "b", "top_heading": "c"},
        {"type": "math", "math": "x^2"},
    ]
)
_PLACE = Sample("1", "place", "Where?", extent=(640, 480))
WORDS_READ: dict[str, Read] = {
    "parse_multi_label": lambda reply: multi_label.parse_multi_label(reply, "ABCD"),
    "parse_yes_no": yes_no.parse_yes_no,
    "parse_yes_no prefix4": lambda reply: yes_no.parse_yes_no(reply, rule="prefix4"),
    "parse_yes_no_vlmevalkit": vlmevalkit.parse_yes_no_vlmevalkit,
    "parse_tempcompass_yes_no": tempcompass.parse_tempcompass_yes_no,
    "parse_sentence_match": lambda reply: tempcompass.parse_sentence_match(
        reply, tempcompass.sentences_by_name("Sentence A: It runs.\nSentence B: It walks.")
    ),
    "parse_sentence_match_any_case": lambda reply: tempcompass.parse_sentence_match_any_case(
        reply, {"Sentence A": "It runs.", "Sentence B": "It walks."}
    ),
    "sentences_by_name": tempcompass.sentences_by_name,
    "parse_open": open_text.parse_open,
    "read_numbers": lambda reply: [read_numbers(reply, "box"), read_numbers(reply, "point")],
    "parse_places": lambda reply: [
        parse_places(reply, stop, _PLACE, shape=shape, count=count, space=space)
        for shape, stop in (("box", "stop"), ("point", "length"), ("span", "stop"))
        for count, space in ((1, Space("thousandths")), (None, Space("pixels", "yx", "centre-size")))
    ],
    "find_order_vlmevalkit": orders.find_order_vlmevalkit,
    "parse_final": open_text.parse_final,
    "parse_whole": open_text.parse_whole,
    "parse_raw": open_text.parse_raw,
    "parse_any": open_text.parse_any,
    "parse_page": blocks.parse_page,
    "page_blocks": blocks.page_blocks,
    "page_parts": lambda reply: page_parts(reply, _PAGE),
    "omnidocbench_parts": lambda reply: omnidocbench_parts(reply, _PAGE),
    "unit_test_parts": lambda reply: unit_test_parts(reply, _PAGE_TESTS),
    "parse_json_reply": json_reply.parse_json_reply,
    "refuses": open_text.refuses,
    "parse_numeric_answer": numbers.parse_numeric_answer,
    "parse_list_answer": numbers.parse_list_answer,
    "parse_mmmu_answer": mmmu.parse_mmmu_answer,
    "parse_mmmu_open": mmmu.parse_mmmu_open,
    "parse_spatial457": vlmevalkit_images.parse_spatial457,
    "parse_phyx": vlmevalkit_images.parse_phyx,
    "parse_short_answer": mathvision.parse_short_answer,
    "parse_truth": forms.parse_truth,
    "parse_form": lambda reply: [
        forms.parse_form(reply, form, golds)
        for golds in (("3",), ("yes",), ("[1, 2]",), ("12:30",), ("A",), ("true",))
        if (form := forms.answer_form(golds)) is not None
    ],
    "answer_form": lambda reply: forms.answer_form([reply]),
    "find_conclusion": marks.find_conclusion,
    "is_only_thinking": clean.is_only_thinking,
    "parse_reply": lambda reply: [
        parse_reply(reply, parser, gold) for parser in PARSERS for gold in ({"a": "x"}, {"a": "x\ny"})
    ],
    "split_reasoning": lambda reply: [
        split_reasoning(reply, stop, opened)  # type: ignore[arg-type]
        for stop in ("stop", "length")
        for opened in (False, True)
    ],
}
VERDICTS: dict[str, Read] = {
    "parse_grade": lambda reply: verdicts.parse_grade(reply, 0.0, 1.0),
    "parse_grade whole": lambda reply: verdicts.parse_grade(reply, 0.0, 10.0, integers_only=True),
    "parse_pair": lambda reply: verdicts.parse_pair(reply, ("Accuracy", "Relevance"), 1.0, 5.0),
    "parse_correctness": verdicts.parse_correctness,
    "parse_word": lambda reply: verdicts.parse_word(reply, ("correct", "incorrect"), "Verdict:"),
    "parse_marked_number": lambda reply: verdicts.parse_marked_number(reply, "Score:", 0.0, 10.0),
    "parse_bracketed_yes": verdicts.parse_bracketed_yes,
    "find_json": verdicts.find_json,
    "parse_text": verdicts.parse_text,
    "parse_graded_object": lambda reply: verdicts.parse_graded_object(reply, "Accuracy", 0.0, 1.0),
    "parse_grades": lambda reply: verdicts.parse_grades(reply, MARKS, 0.0, 10.0),
    "parse_object": verdicts.parse_object,
    "parse_extracted_answer": verdicts.parse_extracted_answer,
    "parse_extracted_document_answer": verdicts.parse_extracted_document_answer,
    "parse_labels": verdicts.parse_labels,
    "contains_verdict": quotes.contains_verdict,
    # A verdict is as long as a judge may write, the reply any length.
    "without_quotes": lambda reply: quotes.without_quotes(f'He says "{reply[:40]}". {reply[:10_000]}', reply),
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
        words,
        bleu.bleu_counts(words, _REFERENCES).scores(),
        rouge_l.rouge_l(words, _REFERENCES),
        cider.cider(words, _REFERENCES, _KNOWN),
    )


GRADES: dict[str, Read] = {
    "matches": _graded_list(open_answer.matches_gold),
    "same_labels": _graded_list(open_answer.has_same_labels),
    "matches_mmmu": lambda reply: [
        mmmu.matches_mmmu(reply, (gold,), whole_words=words) for gold in _GOLDS for words in (False, True)
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
    "anls_of_letters": _graded(document.anls_vlmevalkit),
    "anls_in_one_piece": _graded(document.anls_vlmevalkit_joined_lines),
    "exact": lambda reply: [
        one(reply, _GOLDS)
        for one in (
            exact.equal_converted,
            exact.equal_folded,
            exact.equal_without_dot,
            exact.contains_gold,
            exact.contains_gold_authors,
        )
    ],
    "equal_count": lambda reply: counts.equal_count(reply, _GOLDS),
    "answer_type_of": mathvista.answer_type_of,
    "same_value": lambda reply: [
        mathvista.same_value(reply, gold, kind)  # type: ignore[arg-type]
        for gold in _GOLDS
        for kind in _KINDS
    ],
    "normalised of MathVista": lambda reply: [
        mathvista.normalise_extraction(reply, kind, gold, choices)  # type: ignore[arg-type]
        for kind, gold in zip(_KINDS, ("3", "0.5", "x", "[1]"), strict=True)
        for choices in ((), ("a red car", "two"))
    ],
    "numbers_of": mathvista.parse_number_list,
    "holds_gold": lambda reply: [
        ocrbench.contains_a_gold(reply, _GOLDS, expression=expression) for expression in (False, True)
    ],
    "equal_phyx": lambda reply: vlmevalkit_images.equal_phyx(reply, _GOLDS),
    "relaxed_correct": lambda reply: relaxed.relaxed_correct(reply, _GOLDS),
    "relaxed_as_it_stands": lambda reply: relaxed.relaxed_untrimmed(reply, _GOLDS),
    "f1_authors": _graded(partial(slidevqa.f1_authors, question="how many cars are there?")),
    "equal_authors": _graded(partial(slidevqa.equal_authors, question="which city is it?")),
    "equal_spatial457": lambda reply: vlmevalkit_images.equal_spatial457(reply, _GOLDS),
    "statement_correct": _graded(tablevqabench.is_statement_correct),
    "same_items": _graded(tablevqabench.same_items),
    "same_amount": _graded(tablevqabench.same_amount),
    "same_figure": _graded(tablevqabench.same_figure),
    "restored": lambda reply: [
        restore(reply, gold, chinese=chinese)
        for restore in (text_restoration.score_restoration, text_restoration.score_restoration_published)
        for gold in ("the red car is here", "红色汽车")
        for chinese in (False, True)
    ],
    "typed_score": lambda reply: [
        grade(reply, gold, form)
        for gold in _GOLDS
        for form in _FORMATS
        for grade in (typed_answer.typed_score, typed_answer.typed_score_by_script)
    ],
    "vqa": lambda reply: [
        one(reply, _GOLDS)
        for one in (
            vqa_accuracy.vqa_accuracy,
            vqa_accuracy.vqa_accuracy_authors,
            vqa_accuracy.vqa_accuracy_m4c,
            vqa_accuracy.vqa_accuracy_vlmevalkit,
        )
    ],
    "captions": _captioned,
    "set_precision": _graded(lambda reply, gold: score_field("set_precision", reply, gold, {})),
    "metrics of MEGA-Bench": lambda reply: [
        score_field(metric, reply.strip(), gold, {})
        for metric in METRICS
        if metric not in (*LATEX_METRICS, "set_precision")
        for gold in ("['a', '1.5']", "{'a': 'x', 'b': '[1, 2]'}")
    ],
}
MATHS = {
    "undressed": mathematics.strip_markup,
    "equal": lambda reply: [mathematics.equal(reply, gold) for gold in ("3", "x+1", "\\frac{1}{2}")],
    "equal_official": lambda reply: [
        mathematics.equal_official(reply, gold) for gold in ("3", "(1,2)", "\\frac{1}{2}")
    ],
    "terms of MEGA-Bench": lambda reply: [
        one(reply, gold)
        for gold in ("x+1", "2")
        for one in (
            mega_latex.equal_latex,
            mega_latex.equal_text_with_latex,
            mega_numbers.equal_number,
            mega_numbers.equal_boxed_number,
        )
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
            if isinstance(one, ParsedAnswer) and one.value.strip():
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
    b"The answer is B.",
    b"A",
    b"Yes, it is.",
    "<think>It may be A.</think>\n答案是 C".encode(),
    b"\\boxed{\\frac{1}{2}}",
    b'{"answer": "a red car", "score": 5}',
    b"Score: 1.0\nRating: [[5]]",
    b"1,200.50 dollars",
    b"['a', '1.5']",
    b'[{"bbox_2d": [1, 2, 3, 4], "label": "cat"}]',
    b"<ref>cat</ref><box>(1,2),(3,4)</box>",
    b"from 0:12 to 20.3 seconds",
)
TARGETS: tuple[Target, ...] = tuple(
    Target(name, _all(readers), _SEEDS, WORDS, (), functions=len(readers), made=encoded_reply)
    for name, readers in FAMILIES.items()
)
