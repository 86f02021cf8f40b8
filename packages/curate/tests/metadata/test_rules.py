"""The rules that need no file: drawing, positions, options, perturbations, by hand and by
properties."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from itertools import islice
from random import Random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.place import box_iou
from snellen_curate.metadata.distractors import OptionFilter, choose_options
from snellen_curate.metadata.draw import (
    AnswerFrequencies,
    balance_positions,
    draw_weighted_set,
    fill_evenly,
    plan_answers,
)
from snellen_curate.metadata.perturbations import (
    BoxSettings,
    CharacterSettings,
    KeypointSettings,
    KnownBoxes,
    NumberSettings,
    NumberWindow,
    OrderSettings,
    count_inversions,
    perturb_keypoints,
    perturb_number,
    perturb_order,
    perturb_text,
    wrong_boxes,
)
from snellen_curate.metadata.records import CategoryTree, Corners, MetadataRecord, option_key
from snellen_curate.metadata.targets import find_targets
from snellen_curate.metadata.templates import QuestionTemplate

SIZES = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(0, 50), max_size=6)


@pytest.mark.parametrize(
    ("sizes", "limit", "taken"),
    [
        ({"a": 100, "b": 100}, 10, {"a": 5, "b": 5}),
        ({"a": 100, "b": 3}, 10, {"a": 7, "b": 3}),
        ({"a": 2, "b": 3}, 10, {"a": 2, "b": 3}),
        ({"a": 9, "b": 9, "c": 9}, 10, {"a": 4, "b": 3, "c": 3}),
        ({"a": 1, "b": 5, "c": 50}, 20, {"a": 1, "b": 5, "c": 14}),
        ({"a": 5}, 0, {"a": 0}),
        ({}, 5, {}),
    ],
)
def test_sources_give_equally(sizes: dict[str, int], limit: int, taken: dict[str, int]) -> None:
    assert fill_evenly(sizes, limit) == taken


@given(SIZES, st.integers(0, 200))
def test_shares_are_even_and_grow(sizes: dict[str, int], limit: int) -> None:
    taken = fill_evenly(sizes, limit)
    assert sum(taken.values()) == min(limit, sum(sizes.values()))
    left = [taken[name] for name in sizes if taken[name] < sizes[name]]
    assert not left or max(taken.values()) - min(left) <= 1
    more = fill_evenly(sizes, limit + 1)
    assert all(more[name] >= taken[name] for name in sizes)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(2, 8)), max_size=120), st.integers(0, 9))
def test_positions_are_balanced(items: list[tuple[str, int]], seed: int) -> None:
    places = balance_positions(items, seed)
    for keys in (lambda subtask, size: size, lambda subtask, size: (subtask, size)):
        for key in {keys(*item) for item in items}:
            chosen = [(item[1], place) for item, place in zip(items, places, strict=True) if keys(*item) == key]
            size = chosen[0][0]
            counts = Counter(place for _, place in chosen)
            assert set(counts) <= set(range(size))
            by_place = [counts[place] for place in range(size)]
            assert max(by_place) - min(by_place) <= 1


@given(st.integers(0, 40), st.integers(0, 40), st.integers(2, 8))
def test_more_items_move_few_positions(count: int, more: int, size: int) -> None:
    few = balance_positions([("a", size)] * count, 1)
    many = balance_positions([("a", size)] * (count + more), 1)
    assert few[: count - count % size] == many[: count - count % size]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("dog", "Dog"),
        ("dog", "a dog."),
        ("three", "3"),
        ("3", "3.0"),
        ("1,000", "1000"),
        ("3 kg", "3.0 kg"),
        ("ﬁsh", "fish"),
        ("red  and blue", "red and blue"),
    ],
)
def test_same_options(one: str, other: str) -> None:
    assert option_key(one) == option_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("dog", "hot dog"),
        ("3", "4"),
        ("3 kg", "3 g"),
        ("-3", "3"),
        ("1.5", "15"),
        ("?", "!"),
        ("[1, 2, 3, 4]", "[1, 2, 3, 5]"),
        ("a, b", "b, a"),
        ("A", "B"),
        ("a", "the"),
    ],
)
def test_different_options(one: str, other: str) -> None:
    assert option_key(one) != option_key(other)


@given(st.text(min_size=1, max_size=12), st.lists(st.text(max_size=12), max_size=40), st.booleans())
def test_no_two_options_say_the_same(gold: str, proposals: list[str], alike: bool) -> None:
    true = proposals[:2]
    wrong = choose_options(
        gold, iter(proposals), OptionFilter.for_target(gold, true), 3, alike_length=alike, rng=Random(0)
    )
    assert len(wrong) <= 3
    assert len({option_key(text) for text in (gold, *wrong)}) == len(wrong) + 1
    assert not {option_key(text) for text in (gold, *true)} & set(map(option_key, wrong))


def test_labels_that_say_the_same_are_one_option() -> None:
    wrong = OptionFilter.for_target("sofa", (), [["sofa", "couch"], ["cup", "mug"]])
    assert not wrong.accept("Couch")
    assert wrong.accept("mug")
    assert not wrong.accept("cup")


def test_alike_lengths_leave_no_longest() -> None:
    """Proposals are shorter than the right option, or longer: it is the longest of four as often as
    any other."""
    longest = 0
    for seed in range(400):
        rng = Random(seed)
        gold = "x" * 10
        proposals = [f"{index:02}" + "y" * rng.randint(0, 16) for index in range(40)]
        rng.shuffle(proposals)
        wrong = choose_options(gold, iter(proposals), OptionFilter.for_target(gold, ()), 3, alike_length=True, rng=rng)
        assert len(wrong) == 3
        longest += len(gold) > max(map(len, wrong))
    # Ties are for nobody; 100 of 400 would be chance.
    assert 40 < longest < 140


@pytest.mark.parametrize(
    ("text", "settings", "among"),
    [
        ("5", NumberSettings(spread=1, share=0), {"3", "4", "6", "7"}),
        ("1", NumberSettings(spread=1), {"0", "2", "3"}),
        ("1", NumberSettings(spread=1, minimum=1), {"2", "3"}),
        ("2.5 kg", NumberSettings(spread=1, share=0), {"2.3 kg", "2.4 kg", "2.6 kg", "2.7 kg"}),
        (
            "1,000 people",
            NumberSettings(spread=1, share=0),
            {"998 people", "999 people", "1,001 people", "1,002 people"},
        ),
        ("-1", NumberSettings(spread=1), {"-2", "-3"}),
    ],
)
def test_numbers_by_hand(text: str, settings: NumberSettings, among: set[str]) -> None:
    """With a spread of 1 the right one is in a window of three numbers."""
    proposed = {number for seed in range(60) for number in perturb_number(text, settings, Random(seed), count=2)}
    assert proposed == among


def test_a_share_widens_the_window() -> None:
    """Around 40, 30% are 12: from 28 to 52. 40 is an option around 31 (whose 30% reach 40.3) to 57
    (39.9), and around no others."""
    window = NumberWindow(3, 0.3, 0)
    assert window.around(40) == range(28, 53)
    assert window.centres(40) == range(31, 58)
    assert window.around(31)[-1] == 40
    assert window.around(57)[0] == 40


@given(st.integers(0, 500), st.integers(0, 500), st.integers(1, 9), st.floats(0, 0.9))
def test_numbers_and_hidden_numbers_are_one_relation(number: int, hidden: int, spread: int, share: float) -> None:
    window = NumberWindow(spread, share, 0)
    if hidden >= spread:
        assert (number in window.around(hidden)) == (hidden in window.centres(number))


def test_text_without_a_number_has_no_neighbours() -> None:
    assert not (perturb_number("many", NumberSettings(), Random(0)))


@given(st.integers(0, 10_000), st.integers(0, 10**6))
def test_the_right_number_has_any_rank(value: int, seed: int) -> None:
    proposed = list(perturb_number(str(value), NumberSettings(), Random(seed)))
    assert len(proposed) == len(set(proposed)) >= 6
    assert str(value) not in proposed
    assert all(int(number) >= 0 for number in proposed)


def test_no_number_is_likelier_than_its_neighbours() -> None:
    """Numbers are right with known frequencies. Given the options, the frequency of the number says
    nothing about which of them is right, nor does its rank."""
    frequencies = AnswerFrequencies({str(n): 40 if n % 2 else 10 for n in range(40, 80)}, 1000)
    texts = list(frequencies.counts)
    ranks: Counter[int] = Counter()
    odd = {"right": 0, "options": 0}
    rng = Random(0)
    for _ in range(4000):
        gold = rng.choices(texts, weights=list(frequencies.counts.values()))[0]
        proposed = perturb_number(gold, NumberSettings(), rng, 4, frequencies)
        options = [gold, *proposed[:3]]
        ranks[sorted(map(int, options)).index(int(gold))] += 1
        odd["right"] += int(gold) % 2
        odd["options"] += sum(int(text) % 2 for text in options)
    # 1000 each; 5 standard deviations are 137.
    assert all(863 < ranks[rank] < 1137 for rank in range(4))
    # Four fifths are odd: of those that are right, and of all.
    assert odd["right"] / 4000 == pytest.approx(odd["options"] / 16000, abs=0.03)


def test_answers_are_drawn_as_often_as_they_are_right() -> None:
    frequencies = AnswerFrequencies({"a": 6, "b": 3, "c": 1}, 10)
    first = Counter(frequencies.order("abcd", Random(seed))[0] for seed in range(2000))
    assert first["a"] == pytest.approx(1200, abs=120)
    assert first["b"] == pytest.approx(600, abs=110)
    assert first["c"] == pytest.approx(200, abs=75)
    # What is never right comes last.
    assert all(frequencies.order("dabc", Random(seed))[-1] == "d" for seed in range(20))
    assert frequencies.prefer_seen(["x", "b", "y", "a"]) == ["b", "a", "x", "y"]


SKEWED = {"1": 680.0, "2": 130.0, "3": 60.0, "4": 30.0, "5": 30.0, "6": 20.0, "9": 20.0, "14": 30.0}
"""How often counts are right in photographs: most things are there once."""


def test_each_answer_is_right_once_in_k_times_that_it_is_offered() -> None:
    plan = plan_answers(SKEWED, 4, 6)
    keys = {text: count * plan.keep[text] for text, count in SKEWED.items()}
    assert max(keys.values()) / sum(keys.values()) == pytest.approx(1 / plan.size)
    assert plan.keep["3"] == 1
    rng, right, offered = Random(0), Counter[str](), Counter[str]()
    for gold in rng.choices(list(keys), list(keys.values()), k=20_000):
        options = [gold, *plan.draw_wrong(gold, list(SKEWED), rng)]
        assert len(set(options)) == plan.size
        right[gold] += 1
        offered.update(options)
    # The rarest is right 400 times: a standard error is a tenth of its share.
    for text in SKEWED:
        assert right[text] / offered[text] == pytest.approx(1 / plan.size, rel=0.25)


def test_records_with_several_answers_count_by_what_is_asked_of_them() -> None:
    several = [("1", "1", "2"), ("1", "3", "4")] * 100 + [("1", "2")] * 100
    counts = Counter[str]({"1": 200}) + Counter(text for texts in several for text in texts)
    plan = plan_answers(counts, 2, 4, several)
    rng, asked = Random(1), Counter[str]()
    for texts in [("1",)] * 200 + several:
        kept = [text for text in texts if rng.random() < plan.keep[text]]
        asked.update(rng.sample(kept, min(1, len(kept))))
    assert max(asked.values()) / asked.total() == pytest.approx(1 / plan.size, abs=0.06)


def test_too_few_answers_are_all_kept() -> None:
    plan = plan_answers({"cat": 90, "dog": 10}, 4, 4)
    assert (plan.size, plan.keep, plan.draw_wrong("cat", ["dog"], Random(0))) == (4, {}, [])


def test_sets_are_as_likely_as_the_product_of_their_weights() -> None:
    weights, rng = {"a": 1.0, "b": 2.0, "c": 3.0}, Random(0)
    drawn = Counter("".join(sorted(draw_weighted_set(weights, 2, rng))) for _ in range(11_000))
    for name, product in (("ab", 2), ("ac", 3), ("bc", 6)):
        assert drawn[name] == pytest.approx(1000 * product, rel=0.08)


def test_absent_labels_are_asked_for_as_often_as_present_ones() -> None:
    """Of 1,000 pictures 900 show a dog, 100 a cat, and all a floor."""
    rng, asked = Random(0), Counter[tuple[str, str]]()
    tree = CategoryTree(dict.fromkeys(("dog", "cat", "floor", "cow"), ""))
    frequencies = AnswerFrequencies({"dog": 900, "cat": 100, "floor": 1000}, 1000)
    template = QuestionTemplate(subtask="a", answer="presence", options=2)
    for number in range(4000):
        shown = ["floor", *["dog"] * (number % 10 > 0), *["cat"] * (number % 10 == 5)]
        record = MetadataRecord(id=str(number), source="s", images=("a",), labels=tuple(shown))
        for target in find_targets(record, template, tree, frequencies, rng):
            asked[target.fields["label"], target.gold] += 1
    assert {label for label, _ in asked} == {"dog", "cat"}
    for label in ("dog", "cat"):
        assert asked[label, "Yes"] == pytest.approx(asked[label, "No"], rel=0.25)
        assert asked[label, "Yes"] > 150


@pytest.mark.parametrize(
    ("one", "other", "overlap"),
    [
        ((0, 0, 10, 10), (0, 0, 10, 10), 1.0),
        ((0, 0, 10, 10), (5, 0, 15, 10), 1 / 3),
        ((0, 0, 10, 10), (10, 0, 20, 10), 0.0),
        ((0, 0, 4, 4), (2, 2, 6, 6), 4 / 28),
    ],
)
def test_iou_by_hand(one: tuple[float, ...], other: tuple[float, ...], overlap: float) -> None:
    assert box_iou(one, other) == pytest.approx(overlap)


def right_boxes(number: int, seed: int) -> list[Corners]:
    """Boxes as people annotate them: some large ones, one in four at the left border."""
    rng = Random(seed)
    boxes: list[Corners] = []
    for _ in range(number):
        width, height = (round(640 * rng.betavariate(1, 2)) + 4, round(480 * rng.betavariate(1, 2)) + 4)
        width, height = min(width, 620), min(height, 460)
        left = 0 if rng.random() < 0.25 else rng.randint(1, 639 - width)
        top = rng.randint(1, 479 - height)
        boxes.append((left, top, left + width, top + height))
    return boxes


@pytest.mark.parametrize("number", [3, 200])
def test_boxes_stay_in_bounds(number: int) -> None:
    known, boxes, settings = KnownBoxes(), right_boxes(number, 1), BoxSettings()
    for box in boxes:
        known.add("cup", box, (640, 480), 1.0)
    other = (0.0, 0.0, 100.0, 100.0)
    made = 0
    for seed, gold in enumerate(boxes):
        wrong = list(wrong_boxes("cup", gold, (640, 480), [other], known, settings, 3, Random(seed)))
        made += len(wrong) >= 3
        for place, box in enumerate(wrong):
            assert 0 <= box[0] < box[2] <= 640
            assert 0 <= box[1] < box[3] <= 480
            assert all(number == round(number) for number in box)
            others = (gold, other, *wrong[:place])
            assert all(box_iou(box, each) <= settings.max_iou for each in others)
    assert made >= 0.7 * number


def test_no_feature_of_a_box_shows_that_it_is_right() -> None:
    """The control, boxes that are nowhere at the border, shows it."""
    known, boxes = KnownBoxes(), right_boxes(600, 2)
    for box in boxes:
        known.add("cup", box, (640, 480), 1.0)
    features: dict[str, Callable[[Corners], float]] = {
        "largest": lambda box: (box[2] - box[0]) * (box[3] - box[1]),
        "smallest": lambda box: -(box[2] - box[0]) * (box[3] - box[1]),
        "at the border": lambda box: box[0] == 0,
        "most to the left": lambda box: -box[0] - box[2],
    }

    def excess(propose: Callable[[Corners, Random], Iterable[Corners]]) -> list[float]:
        found: dict[str, list[float]] = {feature: [] for feature in features}
        for seed, gold in enumerate(boxes):
            options = [gold, *islice(propose(gold, Random(seed)), 3)]
            for feature, value in features.items() if len(options) == 4 else ():
                values = [value(box) for box in options]
                best = [place for place, each in enumerate(values) if each == max(values)]
                found[feature].append((0 in best) / len(best) - 1 / 4)
        return [abs(fmean(each)) for each in found.values()]

    settings = BoxSettings()
    # Of 500 questions: a standard error is 2 points.
    assert max(excess(lambda gold, rng: wrong_boxes("cup", gold, (640, 480), [], known, settings, 3, rng))) < 0.07
    evenly = [box for box in right_boxes(600, 3) if box[0] > 0]
    assert max(excess(lambda gold, rng: rng.sample(evenly, 3))) > 0.10


@given(st.text(min_size=1, max_size=30), st.integers(0, 10**6))
def test_edited_texts_stay_alike(text: str, seed: int) -> None:
    for _, other in zip(range(8), perturb_text(text, CharacterSettings(), Random(seed)), strict=False):
        assert other != text
        assert abs(len(other) - len(text)) <= 2


def test_edits_keep_letters_and_digits() -> None:
    for seed in range(50):
        for _, other in zip(range(5), perturb_text("AB 12", CharacterSettings(), Random(seed)), strict=False):
            shape = "".join("a" if c.isalpha() else "9" if c.isdigit() else c for c in other)
            assert set(shape) <= {"a", "9", " "}
            assert other.upper() == other


def test_texts_without_letters_have_no_edits() -> None:
    assert not list(perturb_text("???", CharacterSettings(), Random(0)))


@given(st.permutations(list("abcde")), st.integers(0, 10**6))
def test_orders_are_other_orders(items: list[str], seed: int) -> None:
    settings = OrderSettings(min_moves=2, max_moves=4)
    orders = list(perturb_order(items, settings, Random(seed)))
    assert len(orders) == len(set(orders)) >= 3
    for order in orders:
        assert sorted(order) == sorted(items)
        assert 2 <= count_inversions([items.index(item) for item in order]) <= 4


@pytest.mark.parametrize(("order", "moves"), [([0, 1, 2], 0), ([1, 0, 2], 1), ([2, 1, 0], 3)])
def test_inversions_by_hand(order: list[int], moves: int) -> None:
    assert count_inversions(order) == moves


def test_keypoints_stay_in_the_image() -> None:
    points = {"left eye": (5.0, 5.0), "right eye": (30.0, 6.0), "nose": (18.0, 20.0)}
    moved = [
        other
        for _, other in zip(range(50), perturb_keypoints(points, (40, 30), KeypointSettings(), Random(2)), strict=False)
    ]
    for other in moved:
        assert other.keys() == points.keys()
        assert other != points
        assert all(0 <= x <= 40 and 0 <= y <= 30 for x, y in other.values())


TREE = CategoryTree(
    {
        "dog": "animal/pet",
        "cat": "animal/pet",
        "cow": "animal/farm",
        "car": "vehicle",
        "poodle": "animal/pet/dog",
        "animal": "",
    }
)


def test_distances_in_a_hierarchy() -> None:
    assert TREE.distance("dog", "cat") == 2
    assert TREE.distance("dog", "cow") == 4
    assert TREE.distance("dog", "car") == 5
    nearest = [label for _, label in TREE.nearest_by_hierarchy("dog")]
    assert nearest.index("cat") < nearest.index("cow") < nearest.index("car")


def test_labels_implied_by_a_label() -> None:
    """A poodle is a dog, a pet and an animal; a dog may be a poodle."""
    assert set(TREE.also_true("poodle")) == {"animal", "pet", "dog"}
    assert "poodle" in TREE.also_true("dog")
    assert {"dog", "cat", "cow", "poodle"} <= set(TREE.also_true("animal"))
    assert "cat" not in TREE.also_true("dog")


def test_nearest_by_spelling() -> None:
    tree = CategoryTree(dict.fromkeys(["cat", "car", "horse"], ""))
    assert [label for _, label in tree.nearest_by_text("cat")] == ["cat", "car", "horse"]
