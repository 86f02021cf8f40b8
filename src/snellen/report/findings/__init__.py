"""An analysis as tables, notices and a plot. One file per kind of finding."""
