"""Read a table of any source as a stream of batches that know where they stand."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from fairpca.scale.frames import NO_NUMBERS, ColumnChoice

__all__ = ["batches", "csv_names", "expanded", "files_of", "is_csv", "is_files", "of_file", "state_of"]

_BYTES = 2**25  # of a batch of float64 values
_NO_NUMBER = re.compile(r"CSV column #(\d+): Row #(\d+): CSV conversion error to double: invalid value ('.*')", re.S)
_PARQUET, _CSV = (".parquet", ".pq"), (".csv", ".csv.gz", ".csv.bz2", ".csv.zst")


def arrow(module: str = "pyarrow") -> Any:
    """Import a module of pyarrow, or say how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            "Parquet, CSV in batches, Arrow, DuckDB and Polars need pyarrow: pip install 'fairpca[scale]'."
        ) from error


def batches(source: Any, columns: ColumnChoice) -> Iterator[tuple[str, Any]]:
    """Yield (where, frame) of a source that is no list of files; frames are of pandas or record batches of Arrow."""
    kind = type(source)
    if isinstance(source, pd.DataFrame):
        yield "the frame", source
    elif kind.__module__.startswith("pyarrow") and hasattr(source, "get_fragments"):
        yield from _of_dataset(source, columns)
    elif hasattr(source, "collect_batches"):  # a lazy frame of Polars
        for number, frame in enumerate(source.collect_batches(chunk_size=65536, maintain_order=True)):
            yield from _of_stream(frame, f"batch {number}")
    elif hasattr(source, "__arrow_c_stream__") or hasattr(source, "__arrow_c_array__"):
        yield from _of_stream(source, "")
    elif isinstance(source, Iterable) and not isinstance(source, str | bytes | dict):
        for number, frame in enumerate(source):
            if isinstance(frame, pd.DataFrame):
                yield f"batch {number}", frame
            elif hasattr(frame, "__arrow_c_stream__") or hasattr(frame, "__arrow_c_array__"):
                yield from _of_stream(frame, f"batch {number}")
            else:
                raise TypeError(
                    f"batch {number} is of type {type(frame).__name__}; give frames of pandas, Polars or Arrow. "
                    "Pairs of arrays (X, sensitive_features) go to GroupMoments.from_chunks."
                )
    else:
        raise TypeError(
            f"source is of type {kind.__name__}; give the name of Parquet or CSV files, a pyarrow dataset, a DuckDB "
            "relation, a Polars lazy frame, or an iterable of frames."
        )


def _of_stream(source: Any, where: str) -> Iterator[tuple[str, Any]]:
    pa = arrow()
    if not hasattr(source, "__arrow_c_stream__"):
        yield from _counted(where or "the batch", _pieces(pa.record_batch(source)))
        return
    for number, batch in enumerate(pa.RecordBatchReader.from_stream(source)):
        yield from _counted(where or f"batch {number}", _pieces(batch))


def _counted(where: str, frames: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """Yield record batches with the row, counted from 0 in a file, a row group or a batch, at which they begin."""
    start = 0
    for frame in frames:
        yield (f"{where}, counting from row {start}" if start else where), frame
        start += frame.num_rows


def _pieces(batch: Any) -> Iterator[Any]:
    """Cut a record batch so that its numbers take little memory; rows stay counted from the batch's first."""
    rows = _batch_rows(batch.num_columns)
    if batch.num_rows <= 2 * rows:
        yield batch
        return
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def _batch_rows(n_columns: int) -> int:
    return max(512, min(65536, _BYTES // (8 * max(n_columns, 1))))


def _of_dataset(dataset: Any, columns: ColumnChoice) -> Iterator[tuple[str, Any]]:
    names = columns.names
    rows = _batch_rows(len(names or dataset.schema.names))
    try:
        fragments = list(dataset.get_fragments())
    except ValueError:  # filtered or projected: its rows are known by the dataset only
        for number, batch in enumerate(dataset.to_batches(columns=names, batch_size=rows)):
            yield f"batch {number}", batch
        return
    for fragment in fragments:
        pieces = fragment.split_by_row_group() if hasattr(fragment, "split_by_row_group") else [fragment]
        for piece in pieces:
            name = getattr(fragment, "path", "the table")
            where = f"{name}, row group {piece.row_groups[0].id}" if hasattr(piece, "row_groups") else name
            with naming(where):
                yield from _counted(where, piece.to_batches(schema=dataset.schema, columns=names, batch_size=rows))


# --------------------------------------------------------------------------------------------------------------------
# Files


def is_files(source: Any) -> bool:
    """Whether a source is the name of files, or a list of names."""
    if isinstance(source, str | os.PathLike):
        return True
    return (
        isinstance(source, list | tuple)
        and bool(source)
        and all(isinstance(name, str | os.PathLike) for name in source)
    )


def is_csv(source: Any) -> bool:
    """Whether a source is CSV files."""
    if not is_files(source):
        return False
    names = [source] if isinstance(source, str | os.PathLike) else source
    return _format(expanded(os.fspath(names[0]))[0]) == "csv"


def files_of(source: Any) -> list[str]:
    """Return the files that a path, glob, folder or list of those means, in order: all of them Parquet, or all CSV."""
    names = [source] if isinstance(source, str | os.PathLike) else source
    paths = [path for name in names for path in expanded(os.fspath(name))]
    real = list(map(os.path.realpath, paths))
    twice = sorted({path for path, target in zip(paths, real, strict=True) if real.count(target) > 1})
    if twice:
        raise ValueError(f"{', '.join(twice[:5])}: given twice, so that its rows would count twice.")
    if len(set(map(_format, paths))) > 1:
        raise ValueError("there are Parquet and CSV files among the sources; read them one after the other and merge.")
    return paths


def of_file(path: str, columns: ColumnChoice) -> Iterator[tuple[str, Any]]:
    """Yield (where, record batch) of a file."""
    with naming(path):
        yield from (_of_csv if _format(path) == "csv" else _of_parquet)(path, columns)


def state_of(path: str) -> tuple[int, ...]:
    """Return size, time of change and number of a file, by which one that was replaced is known."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns, status.st_ino


def expanded(name: str) -> list[str]:
    """Return the files that a path, glob or folder means, in order."""
    if os.path.isdir(name):
        found = sorted(str(path) for path in Path(name).rglob("*") if str(path).lower().endswith((*_PARQUET, *_CSV)))
        what = "folder holds no Parquet or CSV file"
    elif glob.has_magic(name) and not os.path.exists(name):
        found, what = sorted(glob.glob(name, recursive=True)), "matches no file"
    else:
        found, what = [name], ""
        if not os.path.exists(name):
            raise FileNotFoundError(f"There is no file {name!r}.")
    if not found:
        raise FileNotFoundError(f"{name!r} {what}.")
    return found


def _format(path: str) -> str:
    lower = path.lower()
    if lower.endswith(_PARQUET):
        return "parquet"
    if lower.endswith(_CSV):
        return "csv"
    raise ValueError(f"{path!r} is neither Parquet ({', '.join(_PARQUET)}) nor CSV ({', '.join(_CSV)}) by its name.")


def _of_parquet(path: str, columns: ColumnChoice) -> Iterator[tuple[str, Any]]:
    # Pages that carry a checksum are verified; many writers give none.
    with arrow("pyarrow.parquet").ParquetFile(path, page_checksum_verification=True) as file:
        present = file.schema_arrow.names
        names = _to_read(columns, present)
        rows = _batch_rows(len(names or present))
        for number in range(file.metadata.num_row_groups):
            frames = file.iter_batches(batch_size=rows, row_groups=[number], columns=names)
            yield from _counted(f"{path}, row group {number}", frames)


def _to_read(columns: ColumnChoice, present: list[str]) -> list[str] | None:
    """Return the columns to read; None reads all, where whoever settles the columns has something to say about them."""
    names = columns.names
    if names is None or not set(names) <= set(present) or (columns.closed and len(names) < len(present)):
        return None
    return names


def csv_names(path: str) -> list[str]:
    """Return the columns of a CSV file."""
    with naming(path):
        return list(_csv_schema(path).names)


def _csv_schema(path: str) -> Any:
    """Columns of a CSV file, with the types that its first block suggests."""
    with arrow().input_stream(path, compression="detect") as stream:
        return arrow("pyarrow.csv").open_csv(stream).schema


def _of_csv(path: str, columns: ColumnChoice) -> Iterator[tuple[str, Any]]:
    """Read a CSV file in blocks: features and weights as numbers, groups as text, whatever the first block has."""
    pa, csv = arrow(), arrow("pyarrow.csv")
    schema = _csv_schema(path)
    present = schema.names
    # Words stay text, so that whoever settles the columns can say which these are.
    texts = {*columns.sensitive, *(field.name for field in schema if not _may_be_numbers(field.type))}
    types = {name: pa.string() if name in texts else pa.float64() for name in present}
    names = _to_read(columns, present)
    options = csv.ConvertOptions(column_types=types, strings_can_be_null=True, include_columns=names or present)
    with pa.input_stream(path, compression="detect") as stream:
        reader = csv.open_csv(
            stream, convert_options=options, read_options=csv.ReadOptions(block_size=2**22, use_threads=False)
        )
        try:
            yield from _counted(path, reader)
        except pa.ArrowInvalid as error:
            wrong = _NO_NUMBER.search(str(error))
            if wrong is None:
                raise
            raise ValueError(
                f"{path}: column {present[int(wrong[1])]!r} holds numbers, but {wrong[3]} in row {wrong[2]} (the "
                f"header is row 1); {NO_NUMBERS}."
            ) from None


def _may_be_numbers(kind: Any) -> bool:
    types = arrow("pyarrow.types")
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_null(kind))


@contextmanager
def naming(where: str) -> Iterator[None]:
    """Let errors of readers name the file."""
    try:
        yield
    except Exception as error:
        unnamed = isinstance(error, OSError) and not isinstance(error, FileNotFoundError) and where not in str(error)
        if unnamed or type(error).__module__.startswith("pyarrow"):
            raise ValueError(f"{where} cannot be read: {' '.join(str(error).split())}") from error
        raise
