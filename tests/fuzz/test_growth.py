"""Readers take time in proportion to the length of a reply, also where it repeats what they look
for: those of answers, of judges' verdicts and of reports of programs."""

from __future__ import annotations

import msgspec
import pytest
from tests.fuzz.growth import END, LENGTH, MOST, beginnings, growth, phrases, readers

from snellen.generated_code.program import check_report

SAMPLE = 1
"""Phrases of each reader in a test of every day; a release takes all."""


def slow(name: str, least: int = 0, step: int = 1) -> dict[str, float]:
    """The texts by which the time of a reader grows too fast, every `step`-th of them."""
    read = readers()[name]
    texts = [("", phrase, end) for phrase in phrases(name) for end in ("", END)]
    texts += [(head, phrase, END) for head in beginnings(name) for phrase in "\n x"]
    found = {
        f"{head}{phrase}..{end}": growth(read, phrase, head=head, end=end) for head, phrase, end in texts[least::step]
    }
    return {text: ratio for text, ratio in found.items() if ratio > MOST}


@pytest.mark.attack(
    "a phrase that a reader looks for, again and again, in a reply twice as long",
    "every reader of replies, verdicts and programs takes at most two and a half times as long",
)
def test_twice_the_text_takes_at_most_two_and_a_half_times_as_long() -> None:
    found = {}
    for number, name in enumerate(sorted(readers())):
        step = max(1, 2 * len(phrases(name)) // SAMPLE)
        if too_slow := slow(name, number % step, step):
            found[name] = too_slow
    assert found == {}


@pytest.mark.release
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(8))
def test_time_grows_linearly_for_every_phrase(part: int) -> None:
    names = sorted(readers())[part::8]
    assert {name: found for name in names if (found := slow(name))} == {}


def test_all_readers_are_there() -> None:
    names = readers()
    assert len(names) > 200
    for name in (
        "snellen.extract.open_text parse_open",
        "snellen.benchmarks.documents.chartmimic.flow find_program",
        "snellen.benchmarks.documents.chartmimic.flow parse_chart_grade",
        "snellen.extract.verdicts parse_extracted_answer",
        "replies-choice parse_choice",
        "replies-verdict without_quotes",
    ):
        assert name in names


def test_a_quadratic_reader_is_noticed() -> None:
    def quadratic(reply: str) -> object:
        return [reply[:end].lower() for end in range(0, len(reply), 4)]

    def linear(reply: str) -> object:
        return [letter.lower() for letter in reply]

    assert growth(quadratic, "选项A：", 2 * LENGTH) > MOST
    assert growth(linear, "选项A：", 2 * LENGTH) <= MOST


SLOW_BEFORE = (
    ("snellen.extract.open_text parse_whole", "</s>"),
    ("snellen.extract.open_text _trim_end", "</s>"),
    ("snellen.extract.published.mathvision _canonical_latex", "\\boxed{"),
    ("snellen.benchmarks.open_answers.mega_bench.grading.latex normalise", "\u0304"),
    ("snellen.benchmarks.open_answers.mega_bench.grading.latex normalise", "\\overline{"),
    ("snellen.benchmarks.open_answers.mega_bench.grading.latex normalise", "\\begin{"),
    ("snellen.benchmarks.documents.vcr_wiki.spacy_words split_like_spacy", "(((("),
    ("snellen.benchmarks.mathematics.dynamath _parse_float", "4"),
    ("snellen.benchmarks.documents.cc_ocr.grading _normalise_text", "\n"),
    ("snellen.benchmarks.documents.cc_ocr.grading _without_preamble", "\\documentclass{"),
    ("snellen.benchmarks.documents.cc_ocr.grading _without_preamble", "\\usepackage[x]{"),
    ("snellen.benchmarks.documents.cc_ocr.grading _plain_tables", "<table"),
    ("replies-maths terms of MEGA-Bench", "\\("),
    ("replies-verdict parse_grade whole", "\n"),
    ("replies-open unit_test_parts", "\\("),
    ("replies-open omnidocbench_parts", "\\text{"),
    ("snellen.extract.pages.blocks page_blocks", "``` markdown \n"),
    ("snellen.extract.pages.blocks page_blocks", "<h1"),
    ("snellen.extract.published.points _osworld_point", "< bboxx>"),
    ("snellen.extract.published.points _without_thought", "<answer>"),
    ("snellen.benchmarks.texts.ifeval.checks count_sentences", "."),
)


@pytest.mark.parametrize(("name", "phrase"), SLOW_BEFORE)
def test_phrases_that_took_seconds_or_minutes(name: str, phrase: str) -> None:
    assert growth(readers()[name], phrase, head="1", end=END) <= MOST


@pytest.mark.parametrize("head", ["```", "```json"])
@pytest.mark.parametrize(
    "name", ["snellen.benchmarks.open_answers.mega_bench.grading.objects last_object", "replies-open parse_reply"]
)
def test_white_space_in_a_block_without_end(name: str, head: str) -> None:
    assert growth(readers()[name], "\n", 1000, head, END) <= MOST


def test_a_report_of_a_program_is_read_in_linear_time() -> None:
    count = 10_000
    reports = {}
    for length in (count, 2 * count):
        contents = {
            "texts": ["x" * (number % 9) for number in range(length)],
            "calls": {f"call{number}": 1 for number in range(1000)},
            "colours": [["line", f"#{number:06X}"] for number in range(length)],
            "places": [],
            "axes": 1,
        }
        reports[length] = msgspec.msgpack.encode({"contents": contents})
    assert b"contents" in check_report(reports[count])
    assert growth(lambda reply: check_report(reports[len(reply)]), "x", count) <= MOST
