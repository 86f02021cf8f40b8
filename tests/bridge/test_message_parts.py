"""What adapters make of the values of a peer: parts of messages, cells, and how right a sample is."""

import base64
import json
import math
from pathlib import Path

import msgspec
import pytest

from snellen.bridge.protocol import SampleData
from snellen.bridge.worker.main import DataMissing, as_correct, plain
from snellen.bridge.worker.message_parts import label_options, linked_part, row_cells


def test_a_data_uri_and_a_file_keep_their_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.JPG").write_bytes(b"pixels")
    uri = "data:image/jpeg;base64," + base64.b64encode(b"pixels").decode()
    of_uri, of_file = linked_part(tmp_path, "image", uri), linked_part(tmp_path, "image", str(tmp_path / "a.JPG"))
    assert of_uri == of_file
    assert of_uri["media_type"] == "image/jpeg"
    assert Path(of_uri["path"]).read_bytes() == b"pixels"


@pytest.mark.parametrize(
    ("link", "says"),
    [
        ("https://example.org/a.png", "not fetched"),
        ("/no/such.png", "does not exist"),
        ("data:image/png;base64,a", "no base64"),
    ],
)
def test_media_that_are_not_there_are_absent_data(tmp_path: Path, link: str, says: str) -> None:
    with pytest.raises(DataMissing, match=says):
        linked_part(tmp_path, "image", link)


def test_a_row_with_nan_fits_the_exchange() -> None:
    row = {"year": math.nan, "size": math.inf, "name": "red", "part": 2, "picture": object(), "seen": True}
    sent = json.dumps(plain({"id": "1", "messages": [], "row": row_cells(row)}))
    assert msgspec.json.decode(sent, type=SampleData).row == {"name": "red", "part": 2, "seen": True}
    assert row_cells(None) == {}
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(json.dumps(plain({"id": "1", "messages": [], "row": {"year": math.nan}})), type=SampleData)


def test_options_have_letters_as_far_as_there_are_some() -> None:
    assert label_options(["red", 2]) == {"options": {"A": "red", "B": "2"}}
    for none in (None, [], "red", ["x"] * 27):
        assert label_options(none) == {}


def test_a_rating_of_a_judge_is_not_how_right_a_sample_is() -> None:
    assert as_correct(1, ["gpt_eval_score"], judged=True) is None
    assert as_correct(1, ["mean", "stderr"], judged=True) is None
    assert as_correct(True, ["gpt_eval_score"], judged=True) == 1.0
    assert as_correct(0.5, ["gpt_eval_accuracy"], judged=True) == 0.5
    assert as_correct(0.5, ["anls"], judged=False) == 0.5
    for value in (None, 4, -1):
        assert as_correct(value, ["accuracy"], judged=False) is None


def test_sets_are_the_same_list_in_each_process() -> None:
    assert plain({"b", "c", "a"}) == ["a", "b", "c"]
