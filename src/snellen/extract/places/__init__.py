"""Read the places that a reply states: boxes, points and spans of time, in the spellings of the
model families, and in the one coordinate space that is declared."""
