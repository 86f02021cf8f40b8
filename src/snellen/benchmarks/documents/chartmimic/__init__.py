"""ChartMimic: its data, how a reply's program becomes scores, and the summary."""
