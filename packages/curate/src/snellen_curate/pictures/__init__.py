"""What is to be known of pictures before anything is asked about them: quality, duplicates, what
they say about people and places, and whose they are."""
