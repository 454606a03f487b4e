"""What is read ahead comes in order, is read while the consumer works, and stops with it."""

import threading

import pytest

from fairpca.scale.ahead import read_ahead


def readers():
    return [thread for thread in threading.enumerate() if thread.name == "fairpca reads ahead"]


def test_items_come_in_order_and_the_thread_ends():
    assert list(read_ahead(range(1000))) == list(range(1000))
    assert list(read_ahead([])) == []
    assert list(read_ahead([None, 1, None])) == [None, 1, None]
    assert readers() == []


def test_the_next_items_are_read_while_one_is_used_and_no_more_than_that():
    made, third = [], threading.Event()

    def items():
        for number in range(100):
            made.append(number)
            if number == 2:
                third.set()
            yield number

    ahead = read_ahead(items())
    assert next(ahead) == 0
    assert third.wait(10), "nothing was read ahead"
    assert len(made) <= 5  # one used, two waiting, one that finds no place, one in the making
    ahead.close()
    assert readers() == []


def test_an_error_comes_after_what_was_before_it():
    def items():
        yield 1
        yield 2
        raise ValueError("the third is damaged")

    seen = []
    with pytest.raises(ValueError, match="the third is damaged"):
        for item in read_ahead(items()):
            seen.append(item)
    assert seen == [1, 2]
    assert readers() == []


def test_a_consumer_that_fails_stops_the_reading():
    def items():
        yield from range(10**9)

    with pytest.raises(ZeroDivisionError):
        for item in read_ahead(items()):
            1 / (item - 3)
    assert readers() == []
