import xml.etree.ElementTree as ET

from snellen.core.summary import Interval, Metric
from snellen.report import charts


def metric(value, low=None, high=None):
    interval = None if low is None else Interval(low, high, "wilson")
    return Metric("accuracy", value, 10, interval)


def test_axis_is_0_to_100_for_points_and_widens_in_round_steps():
    assert charts.axis([metric(60, 50, 70)]).ticks == (0, 25, 50, 75, 100)
    assert charts.axis([metric(1487.6)]).ticks == (0, 500, 1000, 1500)
    assert charts.axis([metric(-3, -8, 2)]).low == -50


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
