"""One file per command: `add(parser)` adds its arguments, `main(arguments)` runs it and returns the
exit code. What several commands share is in `snellen.cli`; a file is imported when its command is
typed, so heavy imports are inside `main`."""
