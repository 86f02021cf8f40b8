import xml.etree.ElementTree as ET

import pytest

from snellen.core.summary import Interval, Metric
from snellen.report.page import charts
from snellen.report.page.text_width import text_width

SVG = "{http://www.w3.org/2000/svg}"


def metric(value, low=None, high=None):
    interval = None if low is None else Interval(low, high, "wilson")
    return Metric("accuracy", value, 10, interval)


def test_axis_is_0_to_100_for_points_and_widens_in_round_steps():
    assert charts.axis([metric(60, 50, 70)]).ticks == (0, 25, 50, 75, 100)
    assert charts.axis([metric(1487.6)]).ticks == (0, 500, 1000, 1500)
    assert charts.axis([metric(-3, -8, 2)]).low == -50


def test_an_axis_ends_with_the_highest_value_there_can_be():
    mme = Metric("total", 1487.6, 2374, None, top=2800.0)
    assert charts.axis([mme]).ticks == (0, 1000, 2000, 2800)
    assert charts.axis([mme]).fraction(2800) == 1.0
    assert charts.axis([Metric("grade", 3.2, 9, None, top=5.0)]).ticks == (0, 2, 4, 5)
    assert charts.axis([Metric("kappa", 0.4, 9, None, top=1.0)]).ticks == (0, 0.25, 0.5, 0.75, 1)
    assert charts.axis([Metric("more", 130.0, 9, None, top=100.0)]).ticks == (0, 50, 100, 150)


def test_long_names_around_a_radar_are_whole_and_inside():
    names = ["commonsense reasoning about everyday physics", "OCR", "text translation", "W" * 30]
    groups = [(name, metric(50, 40, 60)) for name in names]
    root = ET.fromstring(charts.radar("m", groups, charts.axis([])))
    left, top, wide, high = map(float, root.get("viewBox").split())
    told = []
    for text in root.iter("text"):
        if text.get("class") != "name":
            continue
        lines = [text.text, *(one.text for one in text if one.get("class") != "value")]
        told.append(" ".join(lines))
        x, y = float(text.get("x")), float(text.get("y"))
        assert y > top
        assert y + 14 * len(lines) < top + high
        long = max(text_width(line, 12.5) for line in lines)
        start = {"middle": x - long / 2, "end": x - long}.get(text.get("text-anchor"), x)
        assert left < start
        assert start + long < left + wide
    assert [one.replace(" ", "") for one in told] == [one.replace(" ", "") for one in names]


@pytest.mark.parametrize(("text", "least"), [("W" * 10, 94.4), ("i" * 10, 22.2), ("语", 10)])
def test_widths_are_those_of_the_type(text, least):
    assert least <= text_width(text, 10) <= 1.1 * least


def test_bar_tells_value_and_whisker():
    root = ET.fromstring(charts.bar(metric(60, 50, 70), charts.axis([])))
    assert root.get("aria-label") == "accuracy 60.0 (50.0–70.0)"
    rect = root.find("rect")
    assert (rect.get("x"), rect.get("width")) == ("0.00%", "60.00%")
    whisker = [line for line in root.iter("line") if line.get("class") == "whisker"]
    assert (whisker[0].get("x1"), whisker[0].get("x2")) == ("50.00%", "70.00%")


def test_bar_without_a_value_is_empty():
    root = ET.fromstring(charts.bar(metric(None), charts.axis([])))
    assert root.find("rect") is None


def test_radar_needs_three_groups_with_values_and_escapes_names():
    groups = [("<b>&", metric(50, 40, 60)), ("two", metric(20, 10, 30)), ("three", metric(0, 0, 9))]
    scale = charts.axis([])
    root = ET.fromstring(charts.radar("m", groups, scale))
    assert root.get("aria-label") == "m: <b>& 50.0, two 20.0, three 0.0"
    assert len(list(root.iter("circle"))) == 3
    assert charts.radar("m", groups[:2], scale) == ""
    assert charts.radar("m", [*groups, ("four", metric(None))], scale) == ""
    assert charts.radar("m", groups * 5, scale) == ""
