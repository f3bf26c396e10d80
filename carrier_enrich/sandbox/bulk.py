"""Bulk tasks: submit, query, and the work between (spec, Bulk task)."""

from __future__ import annotations

import asyncio
import itertools
import secrets
import threading
from array import array
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from carrier_enrich.sandbox.allocation import is_undetermined, load_tables
from carrier_enrich.sandbox.config import SandboxConfig
from carrier_enrich.sandbox.limits import IDEMPOTENCY_KEY_CHARACTERS, NUMBERS_PER_BULK_TASK
from carrier_enrich.sandbox.numbering import is_country
from carrier_enrich.sandbox.refusals import BAD_REQUEST, NO_BALANCE, QUOTA, Refused
from carrier_enrich.sandbox.result_files import Row, load_rows, rows_of, save_rows
from carrier_enrich.sandbox.store import Counts, Store, StoredTask
from carrier_enrich.sandbox.task_files import (
    Sorting,
    lines_of,
    sort_carrier_batch,
    sort_global_carrier_batch,
)
from carrier_enrich.sandbox.task_scripts import TaskScript

#: How long a query waits for the work of a task that is due, so that a small one is finished.
_GRACE_SECONDS = 1.0

#: Two clocks never agree to the last millisecond, so a poll this little early is on time.
_POLL_TOLERANCE = 0.05


@dataclass(frozen=True, slots=True)
class Upload:
    """A multipart form as it arrived: its fields in their order, and the file."""

    field_names: tuple[str, ...]
    service_type: str | None
    country: str | None
    file_name: str
    file: bytes | None


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    counts: Counts
    answered: array[int]


class BulkTasks:
    """The asynchronous half of the service.

    Files are worked on in one thread; a task ends when its work is done and its time has come,
    at the next request of whatever kind. `held` says what an account's checks in flight may
    still cost, which a reservation must leave alone.
    """

    def __init__(
        self,
        store: Store,
        config: Callable[[], SandboxConfig],
        folder: Path,
        clock: Callable[[], float],
        held: Callable[[str], int],
    ) -> None:
        self._store = store
        self._held = held
        self._config = config
        self._folder = folder
        self._clock = clock
        self._worker = ThreadPoolExecutor(1, "sandbox-bulk")
        self._closing = threading.Event()
        self._works: dict[str, asyncio.Future[_Work]] = {}

    def resume(self) -> None:
        """Take up the work of tasks that an earlier process left open."""
        self._worker.submit(load_tables)
        for task in self._store.open_tasks():
            self._start(task)

    def close(self) -> None:
        """Stop working; what is open stays open."""
        self._closing.set()
        self._worker.shutdown(wait=True, cancel_futures=True)

    async def submit(
        self, account: str, upload: Upload, key: str | None, scripted: Callable[[], TaskScript]
    ) -> StoredTask:
        """The task of an upload: a new one, or the one that its idempotency key already made.

        Args:
            account: who pays.
            upload: the form.
            key: the ``Idempotency-Key`` header; empty is none.
            scripted: what a new task shall do wrong; asked only where one is made.
        """
        if key and len(key) > IDEMPOTENCY_KEY_CHARACTERS:
            raise Refused(BAD_REQUEST, f"Idempotency-Key: {IDEMPOTENCY_KEY_CHARACTERS} characters")
        if key and (known := self._store.task_with_key(account, key)):
            self._store.count_submission(known.id)
            return known
        config = self._config()
        product, country, file = _checked(upload, config)
        lines = await asyncio.to_thread(lines_of, file)
        least, most = NUMBERS_PER_BULK_TASK[product]
        if not least <= len(lines) <= most:
            raise Refused(BAD_REQUEST, f"{product} takes {least} to {most} numbers")
        if product == "global_carrier_batch" and config.global_foreign == "refuse":
            sorting = await asyncio.to_thread(
                sort_global_carrier_batch, lines, country, foreign=False
            )
            if sorting.unchecked:
                raise Refused(BAD_REQUEST, "the file holds numbers that are not of the country")
        # from here on without a pause, so that one key can't make two tasks
        if key and (known := self._store.task_with_key(account, key)):
            self._store.count_submission(known.id)
            return known
        is_open = [task for task in self._store.open_tasks() if task.account == account]
        if config.max_open_tasks is not None and len(is_open) >= config.max_open_tasks:
            raise Refused(QUOTA, "too many unfinished orders")
        price = config.bulk_price(product)
        if self._store.balance(account) - self._held(account) < price * len(lines):
            raise Refused(NO_BALANCE, "insufficient balance")
        now = self._clock()
        script = scripted()
        task = StoredTask(
            id=f"task_{secrets.token_hex(12)}",
            account=account,
            key=key or None,
            product=product,
            country=country,
            status="processing",
            created=now,
            due=None if script.never_ends else now + config.task_seconds,
            script=script.as_json(),
            price=price,
            reserved=price * len(lines),
            submitted_lines=len(lines),
            total=len(lines),
        )
        self._store.add_task(task, file)
        self._start(task)
        return task

    async def query(self, account: str, task_id: str) -> StoredTask:
        """A task after it was polled; the poll is counted (spec, Limits: polling interval)."""
        now = self._clock()
        task = self._store.task(account, task_id)
        if task is None:
            raise Refused(BAD_REQUEST, "no such task", status=404)
        pause = self._config().poll_seconds
        self._store.count_poll(task, now, pause - min(_POLL_TOLERANCE, pause / 10))
        work = self._works.get(task_id)
        if work is not None and task.due is not None and task.due <= now:
            await asyncio.wait([work], timeout=_GRACE_SECONDS)
        self.settle()
        return self._store.task(account, task_id) or task

    def settle(self) -> None:
        """End the tasks whose work is done and whose time has come."""
        now = self._clock()
        for task in self._store.open_tasks() if self._works else ():
            work = self._works.get(task.id)
            if work is None or not work.done() or task.due is None or task.due > now:
                continue
            del self._works[task.id]
            if TaskScript.of(task.script).fails:
                self._store.fail(task)
            else:
                self._store.succeed(task, work.result().counts, work.result().answered)

    async def finish(self) -> None:
        """End all open tasks now, those that never end included."""
        self._store.make_due(self._clock())
        if self._works:
            await asyncio.wait(list(self._works.values()))
        self.settle()

    def rows_path(self, task: StoredTask) -> Path:
        """The rows of a finished task, written anew where an earlier process took them along."""
        path = self._rows_path(task.id)
        if not path.exists():
            save_rows(path, rows_of(self._store.answered(task.id)))
        return path

    def rows(self, task: StoredTask) -> list[Row]:
        """The rows of a finished task."""
        return list(load_rows(self.rows_path(task)))

    def _rows_path(self, task_id: str) -> Path:
        return self._folder / f"{task_id}.rows"

    def _start(self, task: StoredTask) -> None:
        file = self._store.file(task.id)
        config = self._config()
        loop = asyncio.get_running_loop()
        self._works[task.id] = loop.run_in_executor(self._worker, self._work, task, file, config)

    def _work(self, task: StoredTask, file: bytes, config: SandboxConfig) -> _Work:
        script = TaskScript.of(task.script)
        sorting = script.after_exclusion(_sorted(task, lines_of(file), config))
        share = config.undetermined_share
        answered = array("q", (n for n in sorting.numbers if not is_undetermined(str(n), share)))
        # a sandbox that ends does not wait for half a million rows, and nobody reads them then
        rows = itertools.takewhile(lambda _: not self._closing.is_set(), rows_of(answered))
        save_rows(self._rows_path(task.id), rows)
        total = len(sorting.numbers) + sorting.unchecked
        counts = Counts(
            total=total,
            invalid_cnt=sorting.invalid,
            no_code_cnt=sorting.no_code,
            other_country_cnt=sorting.other_country,
            duplicate_cnt=sorting.duplicate,
            success_cnt=len(answered),
            failure_cnt=total - len(answered),
        )
        return _Work(counts, answered)


def task_data(task: StoredTask, link: str | None) -> dict[str, Any]:
    """A task as the service describes it (spec, Bulk task)."""
    created = datetime.fromtimestamp(task.created, UTC).isoformat(timespec="seconds")
    data: dict[str, Any] = {
        "id": task.id,
        "product": task.product,
        "status": task.status,
        "country": task.country,
        "total": task.total,
        "created_at": created.replace("+00:00", "Z"),
    }
    if task.status == "success":
        data |= {"success_cnt": task.success_cnt, "failure_cnt": task.failure_cnt}
        data |= {"result_url": link}
    if task.status == "failed":
        data |= {"success_cnt": 0, "failure_cnt": task.total}
    if task.product == "carrier_batch":
        data |= {
            "submitted_lines": task.submitted_lines,
            "invalid_cnt": task.invalid_cnt,
            "no_code_cnt": task.no_code_cnt,
            "other_country_cnt": task.other_country_cnt,
            "duplicate_cnt": task.duplicate_cnt,
            "preparing": task.status == "processing",
        }
    return data


def _sorted(task: StoredTask, lines: list[str], config: SandboxConfig) -> Sorting:
    if task.product == "carrier_batch":
        return sort_carrier_batch(lines, task.country)
    foreign = config.global_foreign == "check"
    return sort_global_carrier_batch(lines, task.country, foreign=foreign)


def _checked(upload: Upload, config: SandboxConfig) -> tuple[str, str, bytes]:
    """Product, country and bytes of an upload (spec, POST /api/v1/bulk-tasks)."""
    names = upload.field_names
    if upload.service_type not in NUMBERS_PER_BULK_TASK:
        raise Refused(BAD_REQUEST, "unsupported service_type")
    if upload.file is None:
        raise Refused(BAD_REQUEST, "file is missing")
    country = (upload.country or "").upper()
    if not is_country(country):
        raise Refused(BAD_REQUEST, "country must be an ISO 3166-1 code")
    if names.index("country") > names.index("file"):
        raise Refused(BAD_REQUEST, "country must precede file")
    if len(set(names)) < len(names):
        raise Refused(BAD_REQUEST, "a field was given twice")
    if not upload.file_name.lower().endswith((".txt", ".csv")):
        raise Refused(BAD_REQUEST, "file must be .txt or .csv")
    if len(upload.file) > config.max_file_bytes:
        raise Refused(BAD_REQUEST, f"file must not pass {config.max_file_bytes} bytes")
    return upload.service_type, country, upload.file
