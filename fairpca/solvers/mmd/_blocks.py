"""Products of vectors with a Gaussian kernel matrix that is never formed: by blocks, for any number of threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from queue import SimpleQueue
from threading import Event, Lock

import numpy as np

from fairpca.solvers.mmd._loops import run_pairs
from fairpca.solvers.mmd._plain import FAR

__all__ = ["block_products", "padded", "squared_lengths"]

_BLOCK = 1024  # rows of a block; pairs of blocks are the unit of work that threads share
_PIECE = 16  # pairs of blocks that compiled code works through without a look at signals
_THREADING_PAYS = 3000  # rows below which the hand-over between threads costs more than it saves


@lru_cache(maxsize=8)
def _schedule(n_blocks: int) -> np.ndarray:
    """Return all pairs of blocks in the rounds of a tournament, one row (a, b), a <= b, each; the diagonal comes first.

    No two pairs of a round share a block. A block receives its contributions in the order of its pairs here, which
    makes the sums independent of the number of threads.
    """
    rounds = [np.column_stack((np.arange(n_blocks), np.arange(n_blocks)))]
    ring = list(range(1, n_blocks))
    for _ in ring:
        circle = [0, *ring]
        rounds.append(np.array(sorted(sorted((circle[i], circle[-1 - i])) for i in range(n_blocks // 2))))
        ring = ring[1:] + ring[:1]
    return np.concatenate(rounds)


def _in_order(tasks: np.ndarray, run: Callable[[int], None], n_threads: int) -> None:
    """Call ``run(t)`` for every pair of blocks, a pair as soon as it is the next one for both of its blocks.

    There is no barrier between rounds: a thread that is done takes whatever can be done. No two running pairs share a
    block, so that nothing has to be locked while they run.
    """
    agenda = [deque(np.flatnonzero((tasks == block).any(axis=1)).tolist()) for block in range(int(tasks.max()) + 1)]
    pairs = [tuple(set(pair)) for pair in tasks.tolist()]
    ready: SimpleQueue[int | None] = SimpleQueue()
    turn, stopped = Lock(), Event()

    def following(block: int) -> int | None:
        """Return the next pair of the block if it is the next one of its other block too."""
        if not agenda[block]:
            return None
        task = agenda[block][0]
        return task if all(agenda[other][0] == task for other in pairs[task]) else None

    def work() -> None:
        try:
            while (task := ready.get()) is not None and not stopped.is_set():
                run(task)
                with turn:
                    for block in pairs[task]:
                        agenda[block].popleft()
                    for block in pairs[task]:
                        if (next_task := following(block)) is not None:
                            ready.put(next_task)
                    if not any(agenda):
                        return
        finally:
            ready.put(None)  # wakes the next thread, which ends too

    for task, pair in enumerate(pairs):
        if len(pair) == 1:
            ready.put(task)
    with ThreadPoolExecutor(n_threads) as pool:
        workers = [pool.submit(work) for _ in range(n_threads)]
        try:
            for worker in workers:
                worker.result()
        finally:
            stopped.set()  # for Ctrl-C: the pool waits for its threads


def _layout(n: int) -> tuple[int, int]:
    """Return number and size of the blocks that cover n rows (number 1 or even, size a multiple of 8)."""
    n_blocks = 1 if n <= _BLOCK else 2 * -(-n // (2 * _BLOCK))
    size = -(-n // n_blocks)
    return n_blocks, max(8, -(-size // 8) * 8)


def padded(n: int, *shape: int) -> np.ndarray:
    """Return zeros with the last axis long enough for whole blocks; the padding carries no weight."""
    n_blocks, size = _layout(n)
    return np.zeros((*shape, n_blocks * size))


def squared_lengths(U: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return |u|² of every column, and whether any is so far out that differences have to be squared."""
    squares = np.einsum("ij,ij->j", U, U)
    return squares, bool(squares.max(initial=0.0) > FAR)


def block_products(U: np.ndarray, W: np.ndarray, n: int, n_threads: int) -> np.ndarray:
    """Return W K for padded, scaled coordinates U (d × padded) and vectors W (r × padded)."""
    n_blocks, size = _layout(n)
    squares, far = squared_lengths(U)
    Y = W.copy()  # the diagonal of K is one
    tasks = _schedule(n_blocks)
    if n_threads == 1 or n < _THREADING_PAYS:
        for start in range(0, len(tasks), _PIECE):  # Ctrl-C is heeded between the pieces
            run_pairs(U, squares, far, W, Y, tasks[start : start + _PIECE], size)
    else:
        _in_order(tasks, lambda t: run_pairs(U, squares, far, W, Y, tasks[t : t + 1], size), n_threads)
    return Y
