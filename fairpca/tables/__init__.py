"""Read a user's table, prepare it, keep a fitted projection in a file, apply it to new rows."""

from fairpca.tables.models import SavedModel, load_model
from fairpca.tables.outliers import Winsorizer
from fairpca.tables.preparation import Prepared, column_transformer, prepare
from fairpca.tables.reading import Table, as_table, read_table
from fairpca.tables.roles import Decision, Rules

__all__ = [
    "Decision",
    "Prepared",
    "Rules",
    "SavedModel",
    "Table",
    "Winsorizer",
    "as_table",
    "column_transformer",
    "load_model",
    "prepare",
    "read_table",
]
