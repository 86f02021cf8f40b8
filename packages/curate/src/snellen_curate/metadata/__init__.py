"""Questions made of metadata, as MMT-Bench was made (Sec. 3.2, Appendix I): records of what is
known about images, question templates, and options by rules or by a language model.

`records` is the format, `importers` writes it from other data sets, `templates` and `targets` say
what is asked, `distractors` has the strategies for wrong options, `draw` chooses
the records, `build` makes the items. Images are not read before their record is drawn.
"""
