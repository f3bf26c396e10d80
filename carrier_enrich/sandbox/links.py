"""Result links: made at each query, alive for a while, opened without a key."""

from __future__ import annotations

import secrets
from collections.abc import Callable


class Links:
    """The tokens of result links; they do not outlive the process."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._tokens: dict[str, tuple[str, float]] = {}

    def new(self, task_id: str, seconds: float) -> str:
        """A token that leads to a task's result for so many seconds."""
        token = secrets.token_urlsafe(24)
        self._tokens[token] = (task_id, self._clock() + seconds)
        return token

    def task_id(self, token: str) -> str | None:
        """The task to whose result a token leads, None where it leads nowhere any more."""
        task_id, until = self._tokens.get(token, ("", 0.0))
        return task_id if until > self._clock() else None

    def end(self, token: str) -> None:
        """Let a link lead nowhere from now on."""
        self._tokens.pop(token, None)
