"""A small client of the controls of a running sandbox, made of the standard library only."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

_SECONDS = 120.0


class SandboxControl:
    """Reads the report of a running sandbox and makes it misbehave.

    Args:
        base_url: of the sandbox, ``http://127.0.0.1:PORT``.

    Every method raises ValueError with the sandbox's own words where it can't do what is asked,
    and OSError where no sandbox answers.
    """

    def __init__(self, base_url: str) -> None:
        if urlsplit(base_url).scheme != "http":
            raise ValueError("a sandbox is reached by http")
        self._base_url = base_url.rstrip("/")
        # a proxy from the environment would never find this machine's loopback
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def report(self, *, summary: bool = False) -> dict[str, Any]:
        """What the sandbox has seen; with `summary` without the charges per number."""
        return self._call("GET", f"report?summary={int(summary)}")

    def charges(self) -> dict[int, int]:
        """How often each number was charged, by checks and tasks together."""
        return {int(number): times for number, times in self.report()["charges"].items()}

    def requests(self) -> list[dict[str, Any]]:
        """The most recent requests, oldest first."""
        found: list[dict[str, Any]] = self._call("GET", "requests")["requests"]
        return found

    def fault(
        self, on: str, kind: str, *, times: int | None = 1, after: int = 0, **options: Any
    ) -> None:
        """Script a fault.

        Args:
            on: "check", "batch-check", "bulk-submit", "bulk-query", "balance" or "result".
            kind: a name of the fault table.
            times: how often; None for ever.
            after: matches to let pass first.
            options: of the kind; one that is no name in Python goes in as ``**{"as": ...}``.
        """
        asked = {"on": on, "kind": kind, "times": times, "after": after, **options}
        self._call("POST", "faults", asked)

    def clear_faults(self) -> None:
        """Let the sandbox behave again."""
        self._call("DELETE", "faults")

    def set_balance(self, micros: int, *, account: int = 0) -> None:
        """Set what an account can spend, as if somebody else had paid in or spent."""
        self._call("POST", "balance", {"micros": micros, "account": account})

    def configure(self, **changes: Any) -> None:
        """Change fields of the config while the sandbox runs."""
        self._call("POST", "config", changes)

    def finish_tasks(self) -> None:
        """End all open bulk tasks now."""
        self._call("POST", "finish")

    def _call(
        self, method: str, path: str, values: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        body = None if values is None else json.dumps(values).encode()
        request = urllib.request.Request(  # noqa: S310 - the scheme was checked
            f"{self._base_url}/sandbox/{path}", data=body, method=method
        )
        try:
            with self._opener.open(request, timeout=_SECONDS) as response:
                answer: dict[str, Any] = json.load(response)
                return answer
        except urllib.error.HTTPError as error:
            with error:
                problem = json.load(error)
            raise ValueError(problem.get("error", problem)) from None
