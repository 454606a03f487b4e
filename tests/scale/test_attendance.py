"""Clusters that are lost while they are asked."""

import concurrent.futures

import pytest

from fairpca.scale import attendance
from fairpca.scale.attendance import Attendance


class Finished:
    """A task that a worker has finished, whose bytes do not come."""

    def __init__(self, status, error):
        self.status, self.error = status, error

    def result(self, timeout):
        assert timeout > 0, "a worker that dies with its results must not be waited for without end"
        raise self.error


class Client:
    """A client whose connection breaks whenever it is used."""

    status = "running"

    def __init__(self, error):
        self.error = error

    def nthreads(self):
        raise self.error


ERRORS = [OSError("closed"), TimeoutError(), concurrent.futures.CancelledError()]


@pytest.mark.parametrize("error", ERRORS)
def test_results_that_went_with_their_worker_are_computed_again(error):
    assert Attendance.result(Finished("finished", error)) is None
    with pytest.raises(type(error)):
        Attendance.result(Finished("error", error))
    with pytest.raises(ValueError, match="of the task"):
        Attendance.result(Finished("error", ValueError("of the task")))


@pytest.mark.parametrize("error", ERRORS)
def test_connections_that_break_are_absence_and_end_with_the_callers_error(error, monkeypatch):
    pytest.importorskip("distributed")
    there = Attendance(Client(error), lambda: LookupError("nobody is left"))
    assert there.threads() == 0 and there.finished([]) == set()
    monkeypatch.setattr(attendance, "PATIENCE", -1.0)
    with pytest.raises(LookupError, match="nobody is left"):
        there.finished([])
