"""Words that a parameter may take: declared once, shown in the docstring, checked from the declaration."""

import importlib
import inspect
import pkgutil
import re
from ast import literal_eval
from dataclasses import FrozenInstanceError, dataclass
from typing import Literal

import pytest
from sklearn.base import clone

import fairpca
from fairpca._options import Options, choices

ESTIMATORS = [
    getattr(fairpca, name) for name in fairpca.__all__ if hasattr(getattr(fairpca, name), "fit") and name[0:4] != "Base"
]
DECLARING = [
    *ESTIMATORS,
    *sorted(
        {getattr(kind, "_options_class", Options) for kind in ESTIMATORS} - {Options}, key=lambda kind: kind.__name__
    ),
]


def documented(kind):
    """Words in braces after each name of the parameters' (an options class: the attributes') section."""
    heading = "Attributes" if issubclass(kind, Options) else "Parameters"
    section = inspect.getdoc(kind).split(f"{heading}\n{'-' * len(heading)}\n")[1]
    section = re.split(r"\n\w+\n-{3,}\n", section)[0]
    found = {}
    for name, described in re.findall(r"^(\w+) : (.*)$", section, flags=re.M):
        braces = re.search(r"\{(.*?)\}", described)
        if braces:
            found[name] = tuple(re.findall(r'"([^"]*)"', braces[1]))
    return found


@pytest.mark.parametrize("kind", DECLARING, ids=lambda kind: kind.__name__)
def test_docstrings_list_the_words_of_the_annotations(kind):
    assert documented(kind) == {name: words for name, (words, _) in choices(kind).items()}


@pytest.mark.parametrize("kind", DECLARING, ids=lambda kind: kind.__name__)
def test_docstrings_describe_every_parameter(kind):
    names = [name for name in inspect.signature(kind).parameters if name != "self"]
    heading = "Attributes" if issubclass(kind, Options) else "Parameters"
    section = inspect.getdoc(kind).split(f"{heading}\n{'-' * len(heading)}\n")[1]
    lines = re.findall(r"^(\w[\w, ]*) : ", re.split(r"\n\w+\n-{3,}\n", section)[0], flags=re.M)
    assert [name for line in lines for name in line.split(", ")] == names


def documented_defaults():
    """Yield (what, default in the docstring, default in the signature) for all that modules export."""
    for info in pkgutil.walk_packages(fairpca.__path__, "fairpca."):
        module = importlib.import_module(info.name) if "__main__" not in info.name else None
        for thing in (getattr(module, name) for name in getattr(module, "__all__", [])):
            text = (callable(thing) and getattr(thing, "__module__", "") == info.name and inspect.getdoc(thing)) or ""
            for line in re.findall(r"^(\w[\w, ]*) : .*?default=(.*)$", text, flags=re.M):
                parameters = inspect.signature(thing).parameters
                names, values = line[0].split(", "), re.split(r" and (?:\w+, default=)?", line[1])
                for name, value in zip(names, values * (len(names) // len(values)), strict=True):
                    if name in parameters:
                        yield f"{thing.__qualname__}({name})", literal_eval(value.strip(", ")), parameters[name].default


def test_documented_defaults_are_those_that_act():
    found = list(documented_defaults())
    assert len(found) > 100
    assert [one for one in found if one[1] != one[2]] == []


@dataclass(frozen=True)
class Switches(Options):
    mode: Literal["fast", "slow"] = "fast"
    size: Literal["auto"] | float | None = "auto"


def test_options_come_from_a_mapping_an_object_or_nothing():
    assert Switches.of(None) == Switches()
    assert Switches.of({"mode": "slow", "size": 2.0}) == Switches("slow", 2.0)
    assert Switches.of(Switches(size=None)).size is None


def test_clones_keep_options():
    for kind, given in ((fairpca.MinMaxFairPCA, {"rounding": "none"}), (fairpca.RFPCA, {"keep": "best"})):
        assert clone(kind(options=given))._options == kind(options=given)._options
        assert clone(kind(options=kind._options_class(**given)))._options == kind(options=given)._options


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_constructors_are_short_and_speak_one_vocabulary(kind):
    parameters = inspect.signature(kind).parameters
    assert len(parameters) <= 10, "what is rarely changed belongs into the options"
    strange = {
        "k",
        "d",
        "n_iter",
        "seed",
        "center",
        "schedule",
        "paper_variant",
        "tolerance",
        "steps",
        "method_variant",
    }
    assert not strange & set(parameters)
    assert parameters["n_components"].default == 2 if "n_components" in parameters else not hasattr(kind, "path")


def test_there_is_one_path():
    signatures = {
        tuple(
            (name, parameter.kind, parameter.default)
            for name, parameter in inspect.signature(kind.path).parameters.items()
        )
        for kind in ESTIMATORS
        if hasattr(kind, "path")
    }
    assert len(signatures) == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mode": "medium"}, "mode='medium' is not known; choose one of 'fast', 'slow'"),
        ({"size": "large"}, "size='large' is not known; choose one of 'auto'"),
        ({"speed": 1}, "options has no 'speed'; Switches knows mode, size"),
        ("fast", "give a mapping with some of the names mode, size"),
    ],
)
def test_wrong_options_are_explained(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Switches.of(given)
    with pytest.raises(FrozenInstanceError):
        Switches().mode = "slow"
