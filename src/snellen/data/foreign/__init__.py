"""Result files of other tools, one file per tool.

`detect` says which tool wrote a file; files that Snellen writes for other tools are in
`store.export`.
"""
