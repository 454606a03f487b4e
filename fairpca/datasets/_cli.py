"""``fairpca data``: list the data sets, tell what is known of one, write one, fetch what is missing, verify."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from fairpca.datasets._catalog import CATALOG
from fairpca.datasets._fetch import fetch, verify, where
from fairpca.datasets._files import DataError, cache_folder, mirror_folder

__all__ = ["add_parser"]


def add_parser(subparsers: argparse._SubParsersAction) -> None:
    """Add ``data`` with its five commands to the subparsers of the ``fairpca`` command."""
    parser = subparsers.add_parser("data", help="list, describe, export, fetch and verify the data sets")
    commands = parser.add_subparsers(dest="data_command", required=True, metavar="{list,info,export,fetch,verify}")

    listing = commands.add_parser("list", help="all data sets with their sizes and where they are")
    listing.set_defaults(func=_list)

    info = commands.add_parser("info", help="source, groups, licence and known concerns of one data set")
    info.add_argument("name", choices=list(CATALOG), metavar="NAME")
    info.set_defaults(func=_info)

    export = commands.add_parser("export", help="write one data set as CSV, to try the other commands on")
    export.add_argument("name", choices=list(CATALOG), metavar="NAME")
    export.add_argument("--out", metavar="FILE", help="default NAME.csv; '-': standard output")
    export.set_defaults(func=_export)

    fetching = commands.add_parser("fetch", help="download what is neither bundled, nor in the cache, nor in a mirror")
    fetching.add_argument("names", nargs="*", metavar="NAME", help="data sets (default: all)")
    fetching.set_defaults(func=_fetch)

    verifying = commands.add_parser("verify", help="compare the checksums of all files that are here")
    verifying.add_argument("names", nargs="*", metavar="NAME", help="data sets (default: all)")
    verifying.set_defaults(func=_verify)


def _chosen(given: list[str]) -> tuple[str, ...]:
    unknown = [name for name in given if name not in CATALOG]
    if unknown:
        raise SystemExit(f"No data set is called {', '.join(unknown)}; there are: {', '.join(CATALOG)}.")
    return tuple(given) or tuple(CATALOG)


def _list(arguments: argparse.Namespace) -> int:
    print(f"{'name':<16}{'rows':>7}{'features':>10}  {'groups':<48}{'where':<9}paper")
    for name, entry in CATALOG.items():
        sizes = ", ".join(f"{word} {n}" for word, n in zip(entry.group_names, entry.group_sizes, strict=True))
        print(f"{name:<16}{entry.n_samples:>7}{entry.n_features:>10}  {sizes:<48}{where(name):<9}{entry.paper}")
    print(f"\ncache: {cache_folder()}\nmirror: {mirror_folder() or 'none (FAIRPCA_MIRROR is not set)'}")
    return 0


def _info(arguments: argparse.Namespace) -> int:
    print(CATALOG[arguments.name].description)
    print(f"Where: {where(arguments.name)}")
    return 0


def _export(arguments: argparse.Namespace) -> int:
    """Write features, the column `group`, and the column `label` where there is one."""
    from fairpca._outputs import Outputs

    load = import_module("fairpca.datasets").load  # by name: the package is above its modules
    out = arguments.out or f"{arguments.name}.csv"
    with Outputs({"--out": out}) as outputs:
        data = load(arguments.name, as_frame=True)
        table = data.X.assign(group=data.sensitive_features.astype(str).to_numpy())
        if data.y is not None:
            table["label"] = data.y.to_numpy()
        if len(table.columns) != data.X.shape[1] + 1 + (data.y is not None):
            raise ValueError(f"{arguments.name} has a feature called group or label; nothing is written.")
        outputs.write({"--out": table.to_csv(index=False, lineterminator="\n").encode()})
    if out != "-":
        print(f"wrote {out}: {len(table)} rows; try: fairpca fit minmax {out} --sensitive group --out projected.csv")
    return 0


def _fetch(arguments: argparse.Namespace) -> int:
    failed = 0
    for name in _chosen(arguments.names):
        try:
            print(f"{name}: {fetch(name, progress=sys.stderr.isatty())[name]}", flush=True)
        except DataError as error:
            failed += 1
            print(f"{name}: {error}", file=sys.stderr)
    return 1 if failed else 0


def _verify(arguments: argparse.Namespace) -> int:
    """Exit code 1 when a file is not the pinned one; a data set that is not here is not an error."""
    failed = 0
    for name, place, error in verify(_chosen(arguments.names)):
        if error is not None:
            failed += 1
            print(f"{name}: {error}", file=sys.stderr)
        elif place == "missing":
            print(f"{name}: not here (fairpca data fetch {name})")
        else:
            print(f"{name}: {place}, checksums agree")
    return 1 if failed else 0
