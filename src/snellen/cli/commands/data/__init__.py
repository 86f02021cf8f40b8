"""`snellen data ACTION`."""

ACTIONS = {
    "pull": "fetch and index the data of benchmarks, several at once",
    "check": "list everything wrong or doubtful in a data file, with row numbers",
    "convert": "convert between TSV, JSONL and Parquet",
    "referring": "give MMT-Bench's visual referring clean pictures and boxes",
}
