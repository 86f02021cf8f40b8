"""Every function that reads or grades a reply: bounded time, and no answer in an empty reply.

Examples by pieces for each of them, the same in every run; `make fuzz` goes on for longer.
"""

from __future__ import annotations

import ast
import itertools
import random
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.fuzz.flows import cases, record_of
from tests.fuzz.one import MADE
from tests.fuzz.pieces import LOOPS, loop, replies
from tests.fuzz.readers import FAMILIES, check_empty
from tests.fuzz.target import check
from tests.fuzz.targets import TARGETS

import snellen.extract
from snellen.core.benchmark import final_summary
from snellen.core.output import ParsedAnswer
from snellen.store.runs import compact_records

SECONDS = 1.0
"""Half a second on a core of its own; one that is shared is allowed twice that."""
READERS = [(family, name) for family, readers in FAMILIES.items() for name in readers]
READ_IN_EMPTY = {
    "parse_mme_realworld": ("", *"AAAA"),  # it finds an empty reply in the first option
    "parse_mme_realworld of VLMEvalKit": ("", *"AAAA"),
    "opening_parser": ("", *"BBBB"),  # it finds an empty first word in the gold, which is B
    "first_word_parser": ("", *"BBBB"),
    "parse_mmmu_or_draw": ("", *"CEAA"),  # it draws an option where it reads none
    "parse_mmmu_pro_or_draw": ("", *"CEAA"),
    "parse_mmmu_lmms_eval of lmms-eval": ("", *"CEAA"),
    "parse_egoschema of lmms-eval": ("", *"CEAA"),
    "parse_tomato of lmms-eval": ("", *"AAAA"),
    "set_precision": ("", 1.0, 1.0, 1.0, 1.0, 1.0),  # nothing that is listed is wrong
    "anls_by_script": ("\t \r\n", 0.75, 0.0, 0.0, 0.0, 0.0),  # it counts white space as likeness
}
"""Scripts that are restated with this fault: an empty reply, and what they make of it."""
CREDITED = {
    "csbench lmms-eval": (1, 1),
    "egoschema lmms-eval": (0, 1),
    "groundingme official": (1, 1),
    "groundingme vlmevalkit": (1, 1),
    "longvideobench lmms-eval": (2, 0),
    "medqa lmms-eval": (2, 2),
    "minerva lmms-eval": (2, 1),
    "mme-realworld official": (1, 1),
    "mme-realworld vlmevalkit": (1, 1),
    "mmmu-pro official": (1, 0),
    "mmmu-pro@setting=vision official": (0, 1),
    "mvbench official": (4, 4),
    "mvbench vlmevalkit": (4, 4),
    "mvtamperbench vlmevalkit": (5, 5),
    "nextqa lmms-eval": (0, 1),
    "olmocr-bench official": (0, 2),  # a blank stands in every sentence
    "omnispatial official": (1, 1),
    "perceptioncomp lmms-eval": (1, 0),
    "pixmo-points official": (1, 1),
    "pope official": (2, 2),
    "treebench vlmevalkit": (1, 1),
    "tvbench official": (3, 3),
    "vmcbench official": (0, 2),
    "vmcbench vlmevalkit": (0, 2),
}
"""By benchmark and rule, how many of the rows are right by `""` and by white space."""


def check_time(family: str, name: str, phrases: Sequence[str]) -> None:
    """Raises AssertionError where a call takes longer than `SECONDS` of this process."""
    read = FAMILIES[family][name]
    read("A warm start: 3.")
    for phrase in phrases:
        text = loop(phrase)
        began = time.process_time()
        found = read(text)
        calls = len(found) if isinstance(found, list | tuple) else 1
        assert time.process_time() - began < SECONDS * max(calls, 1), (phrase, calls)


@pytest.mark.parametrize(("family", "name"), READERS)
@pytest.mark.attack("100,000 characters of a phrase, for every reader and every grade", "each is done in half a second")
def test_a_loop_takes_half_a_second(family: str, name: str) -> None:
    check_time(family, name, [LOOPS[READERS.index((family, name)) % len(LOOPS)]])


SLOW_BEFORE = (
    ("matches_mmmu", "1"),
    ("matches_mmmu", "A\n"),
    ("phyx_choice_parser", "the answer is "),
    ("parse_mme_realworld of VLMEvalKit", "<answer>"),
    ("parse_grade", "1."),
    ("parse_grades", "{}"),
    ("parse_extracted_document_answer", "**"),
    ("contains_verdict", "\n"),
    ("without_quotes", "\r\n"),
    ("same_items", "["),
    ("same_items", "[1, "),
    ("typed_score", "(A"),
    ("typed_score", " "),
    ("page_blocks", "["),
    ("page_parts", "[1, "),
    ("omnidocbench_parts", "\\text{"),
)


@pytest.mark.parametrize(("name", "phrase"), SLOW_BEFORE)
def test_formerly_slow_loops_are_read_in_time(name: str, phrase: str) -> None:
    family = next(family for family, readers in FAMILIES.items() if name in readers)
    check_time(family, name, [phrase])


@pytest.mark.release
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("family", "name"), READERS)
def test_every_loop_takes_half_a_second(family: str, name: str) -> None:
    check_time(family, name, LOOPS)


@pytest.mark.parametrize(("family", "name"), READERS)
@pytest.mark.attack("a reply of nothing or of white space, to every reader", "it is no answer")
def test_empty_reply_has_no_answer(family: str, name: str) -> None:
    if name not in READ_IN_EMPTY:
        check_empty(name, FAMILIES[family][name])


@pytest.mark.parametrize("name", READ_IN_EMPTY)
def test_scripts_that_read_an_empty_reply(name: str) -> None:
    read = next(readers[name] for readers in FAMILIES.values() if name in readers)
    reply, *expected = READ_IN_EMPTY[name]
    found = read(reply)
    assert isinstance(found, list)
    assert [one.value if isinstance(one, ParsedAnswer) else one for one in found] == expected


@pytest.mark.attack(
    "empty replies to every benchmark under each of its rules",
    "no more than the score that it declares for them, or the result says how many are right",
)
@pytest.mark.parametrize("empty", ["", " \r\n\t"])
def test_empty_replies_score_what_is_declared(empty: str) -> None:
    credited = dict.fromkeys(CREDITED, 0)
    for case in cases():
        records = [record_of(case, sample, empty, "I see nothing.") for sample in case.samples]
        summary = final_summary(case.benchmark, compact_records(records))
        assert summary == final_summary(case.benchmark, records)
        right = sum(bool(record.score) for record in records)
        if not right:
            headline = summary.headline.value
            assert headline is None or headline <= case.benchmark.blank + 1e-9, case.name
            continue
        name = case.name.rpartition(" ")[0]
        rule = name.rpartition(" ")[2]
        have = "has" if right == 1 else "have"
        assert summary.notices[-1] == (
            f"{right} of {len(records)} samples {have} an empty reply that is scored as right: so does the rule {rule}"
        ), name
        credited[name] = right
    assert credited == {name: counts[bool(empty)] for name, counts in CREDITED.items()}


@pytest.mark.parametrize("family", [*FAMILIES, "replies-flow"])
@pytest.mark.attack(
    "replies made of what readers look for, for every reader and every benchmark",
    "no traceback, scores from 0 to 1, the same twice",
)
def test_replies_of_pieces_are_read(family: str) -> None:
    lot = random.Random(family)
    target = TARGETS[family]
    for reply in itertools.islice(replies(lot), 20 if family != "replies-flow" else 150):
        head = lot.randbytes(2) if family == "replies-flow" else b""
        check(target, head + reply.encode("utf-8", "surrogatepass"))


def test_every_reader_is_there() -> None:
    """Public functions of snellen.extract that are given a reply are in the table."""
    told = {name.split()[0] for readers in FAMILIES.values() for name in readers}
    folder = Path(snellen.extract.__file__).parent
    for path in (*folder.glob("*.py"), *folder.glob("places/*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.args.args[:1]:
                reads = node.args.args[0].arg == "reply" and not node.name.startswith("_")
                assert not reads or node.name in told, (path.name, node.name)


def test_surrogate_half_gets_a_random_draw() -> None:
    """JSON may hold one: "\\ud800"."""
    assert FAMILIES["replies-choice"]["parse_mmmu_or_draw"]("\ud800 is unclear")
    assert FAMILIES["replies-choice"]["parse_mmmu_pro_or_draw"]("\ud800 is unclear")


def test_made_targets_are_named() -> None:
    assert set(MADE) == {name for name, target in TARGETS.items() if target.made is not None}
