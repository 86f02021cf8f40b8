"""Pictures made for the asking: stitched, boxed, black, or none."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from snellen.core.errors import MediaError
from snellen.core.media import InlineSource, decode_image, digest_bytes
from snellen.core.place import Box
from snellen.core.sample import MediaRef, Rotation, Sample
from snellen.prompts.control import blacken_images, remove_media
from snellen.prompts.referring import apply_referring, mark_colours
from snellen.prompts.stitch import GAP, combine_images, keep_first_image, stitch_images

RGB = {"red": (255, 0, 0), "green": (0, 128, 0), "blue": (0, 0, 255), "white": (255, 255, 255)}


def picture(colour: str, size: tuple[int, int] = (100, 100)) -> MediaRef:
    buffer = io.BytesIO()
    Image.new("RGB", size, RGB[colour]).save(buffer, "PNG")
    return MediaRef(digest_bytes(buffer.getvalue()), InlineSource(buffer.getvalue()))


def shown(ref: MediaRef) -> Image.Image:
    return decode_image(ref.source.read())


BROKEN = MediaRef("0" * 64, InlineSource(b"no picture"))
TWO = Sample(
    "1",
    "choice",
    "Is <image 1> like <image 2>?",
    ("A",),
    {"A": "yes", "B": "as <image 2>"},
    media=(picture("red"), picture("blue", (50, 100))),
)


def test_stitching_keeps_the_pictures_side_by_side_at_equal_height() -> None:
    sheet = shown(combine_images((picture("red"), picture("blue", (25, 50))), ("one", "two")))
    middle = sheet.height - GAP - 50
    assert sheet.getpixel((GAP + 50, middle)) == RGB["red"]
    assert sheet.getpixel((GAP + 100 + GAP + 25, middle)) == RGB["blue"]
    assert sheet.getpixel((GAP + 100 + GAP // 2, middle)) == RGB["white"]


def test_more_than_five_images_are_arranged_in_rows() -> None:
    sheet = shown(combine_images([picture("red")] * 8, [str(at) for at in range(8)]))
    assert sheet.width == 3 * 100 + 4 * GAP
    assert 3 * 100 < sheet.height < 3 * 160


def test_high_pictures_are_made_smaller_and_long_strips_stay_whole() -> None:
    sheet = shown(combine_images((picture("red", (1000, 2000)), picture("blue", (3000, 30))), ("a", "b")))
    assert sheet.height == 520
    red = [sheet.getpixel((at, 300)) for at in range(sheet.width)].count(RGB["red"])
    assert red == pytest.approx(224, abs=3)
    blue = [sheet.getpixel((2000, at)) for at in range(sheet.height)].count(RGB["blue"])
    assert blue == pytest.approx(36, abs=3)


def test_a_stitched_picture_is_named_by_its_own_bytes_and_the_same_each_time() -> None:
    one, two = stitch_images(TWO), stitch_images(TWO)
    (ref,) = one.media
    assert ref.digest == digest_bytes(ref.source.read())
    assert ref.digest == two.media[0].digest
    assert ref.digest not in {old.digest for old in TWO.media}
    assert stitch_images(TWO, ("Query", "Candidate")).media[0].digest != ref.digest


def test_placeholders_become_the_names_above_the_pictures() -> None:
    sample = stitch_images(TWO)
    assert sample.question == "Is Image 1 like Image 2?"
    assert sample.options == {"A": "yes", "B": "as Image 2"}


def test_single_image_is_unchanged() -> None:
    one = Sample("1", "choice", "What is it?", media=(picture("red"),))
    assert stitch_images(one) is one
    assert keep_first_image(one) is one


def test_the_first_image_alone_keeps_its_place_in_the_text() -> None:
    sample = keep_first_image(TWO)
    assert sample.media == TWO.media[:1]
    assert sample.question == "Is <image 1> like ?"


def test_a_broken_picture_fails_when_the_stitched_one_is_read() -> None:
    (ref,) = stitch_images(Sample("1", "choice", "?", media=(picture("red"), BROKEN))).media
    with pytest.raises(MediaError, match="cannot be stitched: the image cannot be decoded"):
        ref.source.read()


def test_blind_shows_nothing_and_names_no_picture() -> None:
    turn = Rotation("9", {"A": "as <image 2>", "B": "yes"}, "B")
    sample = remove_media(Sample("1", "choice", TWO.question, ("A",), TWO.options, TWO.media, rotations=(turn,)))
    assert sample.media == ()
    assert "<image" not in str((sample.question, sample.options))
    assert sample.options["B"] == sample.rotations[0].options["A"]


def test_black_pictures_have_the_size_of_the_others() -> None:
    sample = blacken_images(TWO)
    assert [shown(ref).size for ref in sample.media] == [(100, 100), (50, 100)]
    assert all(shown(ref).getextrema() == ((0, 0),) * 3 for ref in sample.media)
    assert sample.question == TWO.question
    (broken,) = blacken_images(Sample("1", "choice", "?", media=(BROKEN,))).media
    with pytest.raises(MediaError):
        broken.source.read()


ASKED = "What do they feel (with each face marked with a GREEN bounding box)?"
MARKED = Sample(
    "1",
    "choice",
    ASKED,
    media=(picture("white", (200, 100)), picture("red")),
    regions=(Box(20, 10, 60, 50), Box(100, 20, 180, 90)),
)


def test_boxes_are_drawn_on_the_first_image_in_the_colour_the_question_names() -> None:
    sample = apply_referring(MARKED, "box")
    drawn = shown(sample.media[0])
    assert sample.question == ASKED
    assert drawn.getpixel((20, 30)) == (0, 255, 0)
    assert drawn.getpixel((140, 20)) == (0, 255, 0)
    assert drawn.getpixel((40, 30)) == RGB["white"]
    assert sample.media[1] == MARKED.media[1]


def test_corners_are_written_in_pixels_on_a_clean_image() -> None:
    sample = apply_referring(MARKED, "pixel")
    assert sample.media == MARKED.media
    assert sample.question == (
        "What do they feel (with each face at [20, 10, 60, 50] and [100, 20, 180, 90])? Corners "
        "are given as [x1, y1, x2, y2], in pixels of the image, whose width is 200 and whose "
        "height is 100."
    )


def test_corners_are_written_as_shares() -> None:
    question = apply_referring(MARKED, "normalised").question
    assert "[0.100, 0.100, 0.300, 0.500] and [0.500, 0.200, 0.900, 0.900]" in question
    assert "normalised to 0..1" in question


def test_both_draws_and_writes() -> None:
    sample = apply_referring(MARKED, "both")
    assert "marked with a GREEN bounding box, at [20, 10, 60, 50]" in sample.question
    assert sample.media[0] == apply_referring(MARKED, "box").media[0]


def test_a_question_without_words_for_the_mark_gets_a_sentence() -> None:
    plain = Sample("1", "choice", "What is it?", media=MARKED.media, regions=MARKED.regions[:1])
    assert apply_referring(plain, "pixel").question.startswith(
        "What is it? The region in question: [20, 10, 60, 50]. Corners"
    )


@pytest.mark.parametrize(
    ("question", "colours"),
    [
        ("Here is an object (marked as RED box) in the first image.", ["red"]),
        ("According to the prompts in the Support Image (marked in red), detect it.", ["red"]),
        ("What is in the region marked by the bounding box?", ["green"]),
        ("What do the people (marked as RED) do to it (marked as GREEN)?", ["red", "green"]),
        ("What is it?", ["green"]),
        ("Who marked within a year?", ["green"]),
    ],
)
def test_the_colours_of_the_marks(question: str, colours: list[str]) -> None:
    assert list(mark_colours(question)) == colours


def test_each_of_two_marks_has_its_own_region() -> None:
    question = "What do the people (marked as RED) do to it (marked as GREEN)?"
    sample = Sample("1", "choice", question, media=MARKED.media, regions=MARKED.regions[:2])
    first, second = (f"[{', '.join(f'{value:g}' for value in region)}]" for region in sample.regions)
    text = apply_referring(sample, "pixel").question
    assert text.startswith(f"What do the people (at {first}) do to it (at {second})?")
    drawn = shown(apply_referring(sample, "box").media[0])
    left, top, *_ = (int(value) for value in sample.regions[0])
    assert drawn.getpixel((left, top)) == (255, 0, 0)
    left, top, *_ = (int(value) for value in sample.regions[1])
    assert drawn.getpixel((left, top)) == (0, 255, 0)


def test_referring_without_regions_changes_nothing() -> None:
    assert apply_referring(TWO, "both") is TWO


def test_a_broken_picture_with_regions_fails_when_read() -> None:
    sample = apply_referring(Sample("1", "choice", "?", media=(BROKEN,), regions=MARKED.regions), "pixel")
    with pytest.raises(MediaError, match="no regions can be shown"):
        sample.media[0].source.read()
