"""Which samples are counted as one draw."""

from __future__ import annotations

from snellen.core.record import Record
from snellen.scoring.accuracy import cluster_samples, summarise
from snellen.stats.intervals import wilson


def record(number: int, score: float, unit: str = "", *media: str) -> Record:
    return Record(
        str(number),
        "choice",
        "q",
        "answered",
        score,
        gold=("A",),
        unit=unit,
        media=media,
        groups={"kind": "x" if number < 4 else "y"},
    )


def named(*records: Record) -> list[str]:
    return cluster_samples(list(records))


def test_samples_without_unit_and_images_form_no_cluster() -> None:
    assert named(record(1, 1), record(2, 0), record(3, 1, "u"), record(4, 1, "", "p")) == [""] * 4


def test_same_unit_or_images_form_a_cluster() -> None:
    one, two, three = named(record(1, 1, "u"), record(2, 0, "u"), record(3, 1, "v"))
    assert one == two != ""
    assert three == ""
    first, again, other = named(record(1, 1, "", "p", "q"), record(2, 1, "", "q", "p"), record(3, 1, "", "p"))
    assert first == again != ""
    assert other == ""


def test_samples_linked_through_others_form_one_cluster() -> None:
    found = named(
        record(1, 1, "u", "p"),
        record(2, 1, "v", "q"),
        record(3, 1, "w"),
        record(4, 1, "v", "p"),
        record(5, 1, "w", "q"),
    )
    assert len(set(found)) == 1
    assert "" not in found


def test_every_number_of_a_summary_is_over_clusters() -> None:
    alike = [record(at, float(at % 4 < 2), "", f"picture {at // 2}") for at in range(80)]
    apart = [record(at, float(at % 4 < 2)) for at in range(80)]
    held, alone = summarise(alike), summarise(apart)
    assert held.headline.value == alone.headline.value == 50.0
    assert held.headline.interval is not None
    assert alone.headline.interval is not None
    expected = wilson(20, 40)
    assert alone.headline.interval.method == "wilson"
    assert held.headline.interval.method == "wilson, clustered"
    # Both questions of a picture are right or wrong together: as many draws as pictures.
    assert abs(held.headline.interval.high - 100 * expected.high) < 1
    group = held.groups["kind"]["y"].interval
    assert group is not None
    assert group.method == "wilson, clustered"


def test_reports_samples_of_one_image_as_one_cluster() -> None:
    shared = [record(number, number % 2, "", "p") for number in range(20)]
    assert summarise(shared).notices == (
        "all 20 samples share an image or a unit and form 1 cluster: the interval is that of a single question",
    )
    assert summarise([*shared, record(20, 1, "", "q")]).notices == ()
    assert summarise([record(1, 1, "", "p")]).notices == ()
