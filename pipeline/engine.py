"""Many small tasks on what this machine has.

A task is whatever its function takes; the function writes its own result atomically and is not called for
a task that is done. So a kill loses at most the tasks in hand, and correctness never rests on the engine.
"""

import multiprocessing
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from pipeline.errors import ResourceError
from pipeline.progress import progress

Task = TypeVar("Task")


def run(
    tasks: Sequence[Task], function: Callable[[Task], None], done: Callable[[Task], bool], slots: int, what: str
) -> None:
    """Calls `function` for every task that is not done, `slots` at a time.

    One slot works in this process. More are spawned, never forked: a forked child inherits locks that
    threads of this process hold.
    """
    waiting = [task for task in tasks if not done(task)]
    finished = len(tasks) - len(waiting)
    if slots == 1:
        for task in progress(waiting, len(tasks), what, "tasks", finished):
            function(task)
        return
    with ProcessPoolExecutor(slots, multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(function, task) for task in waiting]
        try:
            for future in progress(as_completed(futures), len(tasks), what, "tasks", finished):
                future.result()
        except BrokenProcessPool as error:
            raise ResourceError(
                f"{what}: a worker was killed; lower machine.slots, or give the machine more memory"
            ) from error
        finally:
            pool.shutdown(cancel_futures=True)  # after a failure, what has not begun is not begun
