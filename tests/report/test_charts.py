import xml.etree.ElementTree as ET

from snellen.core.summary import Interval, Metric
from snellen.report.page.charts import bar
from snellen.report.ticks import metric_scale

SVG = "{http://www.w3.org/2000/svg}"


def metric(value, low=None, high=None):
    interval = None if low is None else Interval(low, high, "wilson")
    return Metric("accuracy", value, 10, interval)


def draw_bar(value):
    return ET.fromstring(bar(value, metric_scale([])))


def test_axis_is_0_to_100_for_points_and_widens_in_round_steps():
    assert metric_scale([metric(60, 50, 70)]).ticks == (0, 25, 50, 75, 100)
    assert metric_scale([metric(1487.6)]).ticks == (0, 500, 1000, 1500)
    assert metric_scale([metric(-3, -8, 2)]).ticks[0] == -50


def test_an_axis_ends_with_the_highest_value_there_can_be():
    mme = Metric("total", 1487.6, 2374, None, top=2800.0)
    assert metric_scale([mme]).ticks == (0, 1000, 2000, 2800)
    assert metric_scale([mme]).position(2800) == 100.0
    assert metric_scale([Metric("grade", 3.2, 9, None, top=5.0)]).ticks == (0, 2, 4, 5)
    assert metric_scale([Metric("kappa", 0.4, 9, None, top=1.0)]).ticks == (0, 0.25, 0.5, 0.75, 1)
    assert metric_scale([Metric("more", 130.0, 9, None, top=100.0)]).ticks == (0, 50, 100, 150)


def test_bar_shows_value_and_whisker():
    root = draw_bar(metric(60, 50, 70))
    assert root.get("aria-label") == "accuracy 60.0 (50.0–70.0)"
    rect = root.find("rect")
    assert (rect.get("x"), rect.get("width")) == ("0.00%", "60.00%")
    whisker = [line for line in root.iter("line") if line.get("class") == "whisker"]
    assert (whisker[0].get("x1"), whisker[0].get("x2")) == ("50.00%", "70.00%")


def test_bar_without_a_value_is_empty():
    root = draw_bar(metric(None))
    assert root.find("rect") is None
