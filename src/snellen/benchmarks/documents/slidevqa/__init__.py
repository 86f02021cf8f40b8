"""SlideVQA, and its authors' comparison of answers."""
