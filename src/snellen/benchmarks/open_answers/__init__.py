"""Open answers, graded by a judge, by checks of their form or by measures of captions."""
