"""Read a user's table, prepare it, keep a fitted projection in a file, apply it to new rows."""

from fairpca.tables._encoding import read_text_file
from fairpca.tables._outliers import Winsorizer, column_limits
from fairpca.tables._roles import Decision, Rules, words_of
from fairpca.tables.models import SavedModel, load_model
from fairpca.tables.preparation import Prepared, as_numbers, as_words, column_transformer, prepare
from fairpca.tables.reading import Table, as_table, read_table
from fairpca.tables.writing import csv_bytes, plain, provenance, versions

__all__ = [
    "Decision",
    "Prepared",
    "Rules",
    "SavedModel",
    "Table",
    "Winsorizer",
    "as_numbers",
    "as_table",
    "as_words",
    "column_limits",
    "column_transformer",
    "csv_bytes",
    "load_model",
    "plain",
    "prepare",
    "provenance",
    "read_table",
    "read_text_file",
    "versions",
    "words_of",
]
