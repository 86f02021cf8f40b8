import msgspec
from synthetic import build_report, record

from snellen.core.output import CandidateScore, Generated, ParsedAnswer, Ranked
from snellen.core.record import Pass
from snellen.report.page.samples import describe, in_data_order, page_media, record_result, select_samples


def outcome_set(records):
    return [each.outcome if each.outcome != "answered" else record_result(each) for each in records]


def test_failed_samples_come_first_and_none_is_dropped_if_all_fit():
    _, records, _ = build_report(count=120, failed=4)
    chosen = select_samples(records)
    assert {each.id for each in chosen} == {each.id for each in records}
    kinds = outcome_set(chosen)
    first_right = kinds.index("right")
    assert set(kinds[first_right:]) == {"right"}
    assert kinds[:first_right].count("failed") == 4


def test_selection_is_the_same_in_any_order_and_keeps_every_kind():
    _, records, _ = build_report(count=400, failed=6)
    chosen = select_samples(records, max_samples=30)
    assert len(chosen) == 30
    again = select_samples(reversed(records), max_samples=30)
    assert {each.id for each in again} == {each.id for each in chosen}
    kinds = outcome_set(chosen)
    assert kinds.count("failed") == 6
    assert kinds.count("wrong") >= 10
    assert "right" not in kinds


def test_shown_media_hold_the_first_sample():
    _, records, _ = build_report(count=200)
    first = next(each for each in records if record_result(each) == "right")
    ordered = [first, *(each for each in records if each is not first)]
    chosen = {digest for each in select_samples(ordered, 10) for digest in each.media}
    assert set(first.media).isdisjoint(chosen)
    assert set(page_media(ordered, 10)) == chosen | set(first.media)


def test_evidence_is_cut_by_characters_not_by_utf16():
    reply = "🙂🙂 The answer is B."
    at = reply.index("B")
    turn = Pass((), Generated(reply), ParsedAnswer("B", "label", (at, at + 1)), options={"B": "two"})
    shown = describe(replaced(turn))["passes"][0]["output"]
    assert shown["text"] == ["🙂🙂 The answer is ", "B", "."]


def test_a_span_outside_the_reply_highlights_nothing():
    turn = Pass((), Generated("B"), ParsedAnswer("B", "label", (4, 9)))
    assert describe(replaced(turn))["passes"][0]["output"]["text"] == ["B", "", ""]


def test_ranked_candidates_carry_their_labels():
    output = Ranked((CandidateScore(-1.5, 2), CandidateScore(-0.5, 3)))
    shown = describe(replaced(Pass((), output, options={"A": "x", "B": "y"})))
    assert [each["label"] for each in shown["passes"][0]["output"]["candidates"]] == ["A", "B"]


def test_the_first_pass_shows_the_options_of_its_sample():
    bare = msgspec.structs.replace(record(3, True, ()).passes[0], options={})
    shown = describe(msgspec.structs.replace(record(3, True, ()), passes=(bare, bare)))
    assert shown["passes"][0]["options"] == shown["options"] != {}
    assert shown["passes"][1]["options"] == {}


def test_samples_keep_the_order_of_the_data():
    _, records, _ = build_report(count=12)
    shuffled = [records[at] for at in (10, 2, 9, 0)]
    assert [each.id for each in in_data_order(shuffled)] == ["0", "2", "9", "10"]
    positions = zip(shuffled, (3, 1, 0, 2), strict=True)
    noted = [msgspec.structs.replace(each, position=at) for each, at in positions]
    assert [each.id for each in in_data_order(noted)] == ["9", "2", "0", "10"]


def replaced(turn: Pass):
    return msgspec.structs.replace(record(1, False, ()), passes=(turn,))
