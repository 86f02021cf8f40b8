"""What commands show, as documents: one file for each command or kind of table.

Their values and tables are in `report.document`; each format has its writer in `report.writers`;
findings of `snellen analyse` are in `report.findings`.
"""
