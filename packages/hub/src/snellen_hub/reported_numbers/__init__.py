"""Numbers that others reported: the tables of five papers, and files of anybody, put on boards."""
