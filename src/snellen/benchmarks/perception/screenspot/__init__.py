"""ScreenSpot, its second version and ScreenSpot-Pro: files and rows, grading, sub-scores."""
