"""What is to be known of images before anything is asked about them: quality, duplicates, what
they say about people and places, and whose they are."""

from __future__ import annotations

KINDS = {
    "broken": "it cannot be read whole",
    "duplicate": "a copy of another picture of the data",
    "blurred": "nothing in it is sharp",
    "dark": "hardly any light",
    "bleached": "hardly any shade",
    "empty": "nearly of one colour",
    "odd-size": "fewer than 64 pixels a side, or four times as long as wide",
    "animated": "several frames, of which the first is shown",
    "16-bit": "grey values that most programs cut to white",
    "outside": "a link that leads out of the folder",
    "position": "EXIF says where it was taken",
    "faces": "people can be recognised",
}
"""What is looked for, in the order in which it is named."""
