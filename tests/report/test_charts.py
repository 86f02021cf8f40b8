import xml.etree.ElementTree as ET

from snellen.core.summary import Interval, Metric
from snellen.report.page import charts

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


def test_bar_shows_value_and_whisker():
    root = ET.fromstring(charts.bar(metric(60, 50, 70), charts.axis([])))
    assert root.get("aria-label") == "accuracy 60.0 (50.0–70.0)"
    rect = root.find("rect")
    assert (rect.get("x"), rect.get("width")) == ("0.00%", "60.00%")
    whisker = [line for line in root.iter("line") if line.get("class") == "whisker"]
    assert (whisker[0].get("x1"), whisker[0].get("x2")) == ("50.00%", "70.00%")


def test_bar_without_a_value_is_empty():
    root = ET.fromstring(charts.bar(metric(None), charts.axis([])))
    assert root.find("rect") is None
