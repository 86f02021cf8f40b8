"""What a benchmark's numbers rest on, in one line and in counts alone."""

from __future__ import annotations

from snellen.benchmarks.declaration.evidence import BenchmarkEvidence, EvidenceComparison, load_evidence

PUBLISHED = EvidenceComparison("reproduced", "a table", 3, 4)
VERDICTS = EvidenceComparison("differential", "a/b", 400, 400, rule="official", commit="1234567890")
OTHER_LANGUAGE = EvidenceComparison(
    "differential", "a/b", 399, 400, rule="official", commit="1234567890", setting="lang=cn"
)


def test_summary_of_evidence_without_comparison() -> None:
    evidence = BenchmarkEvidence("from the text")
    assert evidence.summary() == evidence.brief() == "from the text: nothing was compared"


def test_the_summary_names_every_source() -> None:
    evidence = BenchmarkEvidence("reproduced", (PUBLISHED, VERDICTS, OTHER_LANGUAGE))
    assert evidence.summary() == (
        "reproduced: 3 of 4 numbers of a table; 400 of 400 verdicts of a/b 1234567 "
        "(--rule official); 399 of 400 verdicts of a/b 1234567 (lang=cn, --rule official)"
    )


def test_the_brief_form_adds_up_what_one_rule_was_compared_with() -> None:
    evidence = BenchmarkEvidence("reproduced", (PUBLISHED, VERDICTS, OTHER_LANGUAGE))
    assert evidence.brief() == ("reproduced: 3 of 4 published numbers; 799 of 800 verdicts under --rule official")


def test_too_little_for_a_level_is_not_called_nothing() -> None:
    few = BenchmarkEvidence("from the text", (VERDICTS,))
    assert few.summary().startswith("from the text, compared in part: 400 of 400 verdicts")
    assert few.brief().startswith("from the text, compared in part: 400 of 400 verdicts")


def test_no_line_of_a_page_is_long() -> None:
    assert max(len(evidence.brief()) for evidence in load_evidence().values()) < 240
