"""Metrics of places: functions of the places of a reply and those of the gold answer."""
