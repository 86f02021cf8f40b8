"""CC-OCR: its subsets and files, how a transcript is graded, and the mean of the four tracks."""
