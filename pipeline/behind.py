"""Work done in a thread behind the caller."""

import threading
from queue import Queue
from typing import Any


class Behind:
    """Runs calls one after another in a thread behind the caller, so that writing overlaps computing.

    At most `depth` calls wait; an error in one is raised at the next call or at the end.
    """

    def __init__(self, depth: int = 2) -> None:
        self._queue: Queue[Any] = Queue(depth)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> "Behind":
        self._thread.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._queue.put(None)
        self._thread.join()
        if kind is None and self._error:
            raise self._error

    def __call__(self, function: Any, *arguments: Any) -> None:
        if self._error:
            raise self._error
        self._queue.put((function, arguments))

    def _work(self) -> None:
        while (call := self._queue.get()) is not None:
            if self._error is None:
                try:
                    call[0](*call[1])
                except BaseException as error:
                    self._error = error
