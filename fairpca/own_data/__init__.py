"""Somebody's own table: read it, prepare it, keep a fitted projection in a file, apply it to new rows."""

from fairpca.own_data._bytes import read_text_file
from fairpca.own_data._decisions import Decision, Rules, words_of
from fairpca.own_data._far import DrawIn, column_limits
from fairpca.own_data.model_file import SavedModel, load_model
from fairpca.own_data.preparation import Prepared, as_numbers, as_words, column_transformer, prepare
from fairpca.own_data.reading import Table, as_table, read_table
from fairpca.own_data.writing import csv_bytes, plain, provenance, versions

__all__ = [
    "Decision",
    "DrawIn",
    "Prepared",
    "Rules",
    "SavedModel",
    "Table",
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
