"""CC-OCR: its subsets and files, how a transcript is graded by words, tables and fields, and the
mean of the four tracks."""
