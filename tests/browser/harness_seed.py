"""Jobs in every state, schedules, and the texts that somebody who means harm would send."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.browser.harness import Cloud

HOSTILE: dict[str, str] = {
    "script": "<script>window.harmed = 1</script>",
    "image": '"><img src=x onerror="window.harmed = 1">',
    "link": "javascript:window.harmed = 1",
    "template": "${window.harmed = 1} {{7*7}} %3Cscript%3E",
    "closing": "</script></style></textarea></title>--><svg onload=window.harmed=1>",
    "right to left": "\u202egnp.exe\u202c \u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd",
    "controls": "bell\u0007 escape\u001b[31m back\u0008 line\u2028separator del\u007f",
    "zero width": "a\u200bb\u200dc\ufeffd e\u0301\u0323" + "\u0300" * 40,
    "astral": "\U0001f469\u200d\U0001f680 \U00020000",
    "prototype": "__proto__",
    "long word": "x" * 100_000,
    "many lines": "line\n" * 5_000,
}
"""By what each tries. The page must show them as they are, and `HARMED` must stay undefined."""

RIVALS = 8
"""Jobs that are due with one that shall expire: more than there are workers."""

HARMED = "window.harmed"
"""To evaluate in the page: what the scripts above would have set."""


class Seeds:
    """Puts into a cloud what a test wants to see. Each call makes new things."""

    def __init__(self, cloud: Cloud) -> None:
        """Take the cloud."""
        self._cloud = cloud

    def succeeded(self, payload: Any = None, **fields: Any) -> str:
        """Return the id of a job that is SUCCEEDED; its result holds the payload."""
        return self._reach("SUCCEEDED", "greet", payload, fields)

    def dead(self, error: str | None = None, *, handler: str = "charge-card", **fields: Any) -> str:
        """Return the id of a job that is DEAD, of ``charge-card`` or ``import-file``."""
        payload = None if error is None else {"error": error}
        return self._reach("DEAD", handler, payload, fields)

    def retrying(self, **fields: Any) -> str:
        """Return the id of a job that failed once, and is tried again in an hour."""
        return self._reach("RETRYING", "sync-stock", None, fields)

    def running(self, seconds: int = 300, **fields: Any) -> str:
        """Return the id of a job that is RUNNING, telling its progress, until it is cancelled.

        It keeps one of the cloud's four workers busy: cancel it.
        """
        return self._reach("RUNNING", "build-report", {"seconds": seconds}, fields)

    def pending(self, **fields: Any) -> str:
        """Return the id of a job that is due in an hour."""
        return self._reach("PENDING", "greet", None, {"delay_seconds": 3600, **fields})

    def enqueued(self, **fields: Any) -> str:
        """Return the id of a job that is due in 200 s, so that its message is sent already."""
        return self._reach("ENQUEUED", "greet", None, {"delay_seconds": 200, **fields})

    def cancelled(self, **fields: Any) -> str:
        """Return the id of a job that was CANCELLED before it began."""
        job_id = self.pending(**fields)
        self._cloud.ask("POST", f"/jobs/{job_id}/cancel")
        return job_id

    def expired(self, **fields: Any) -> str:
        """Return the id of a job that was not begun in time."""
        while True:
            job_id = self._expiring(fields)
            if self._has_expired(job_id):
                return job_id

    def one_of_each(self, **fields: Any) -> dict[str, str]:
        """Return the id of a job of every status, by status."""
        # First, since it takes longest: the others are made meanwhile.
        expiring = self._expiring(fields)
        others = {
            "SUCCEEDED": self.succeeded({"user": 1}, **fields),
            "DEAD": self.dead(**fields),
            "RETRYING": self.retrying(**fields),
            "RUNNING": self.running(**fields),
            "PENDING": self.pending(**fields),
            "ENQUEUED": self.enqueued(**fields),
            "CANCELLED": self.cancelled(**fields),
        }
        has_expired = self._has_expired(expiring)
        return {**others, "EXPIRED": expiring if has_expired else self.expired(**fields)}

    def dead_letters(self) -> dict[str, list[str]]:
        """Return the ids of dead jobs by what they died of: two handlers, three errors."""
        return {
            "declined": [self.dead(f"Card {number} was declined.") for number in (4242, 1881, 7)],
            "no customer": [self.dead("There is no customer of that name.")],
            "no file": [self.dead("stock.csv", handler="import-file") for _ in range(2)],
        }

    def hostile(self) -> dict[str, str]:
        """Return the ids of jobs with hostile payloads and results, by what each tries."""
        return {name: self.succeeded({name: text, text[:200]: 1}) for name, text in HOSTILE.items()}

    def hostile_dead(self) -> dict[str, str]:
        """Return the ids of dead jobs with hostile errors, by what each tries."""
        return {name: self.dead(text) for name, text in HOSTILE.items()}

    def schedule(self, schedule_id: str, expression: str = "rate(1 hour)", **fields: Any) -> str:
        """Put a schedule and return its id."""
        body = {"handler": "greet", "expression": expression, **fields}
        self._cloud.ask("PUT", f"/schedules/{schedule_id}", body)
        return schedule_id

    def dead_graph(self) -> str:
        """Return the id of a graph that is DEAD: its second node failed."""
        nodes = {
            "extract": {"handler": "load-table"},
            "clean": {"handler": "charge-card", "after": ["extract"]},
            "images": {"map": {"over": [1, 2, 3], "handler": "resize-image"}},
            "load": {"handler": "load-table", "after": ["clean", "images"]},
        }
        graph_id = str(self._cloud.ask("POST", "/graphs", {"nodes": nodes})["id"])
        self._cloud.reach(graph_id, "DEAD")
        return graph_id

    def calendar(self, name: str, *exclude: Any) -> str:
        """Put a calendar of excluded dates, ranges and expressions, and return its name."""
        self._cloud.ask("PUT", f"/calendars/{name}", {"exclude": list(exclude) or ["2027-01-01"]})
        return name

    def _reach(self, status: str, handler: str, payload: Any, fields: dict[str, Any]) -> str:
        job_id = self._cloud.submit(handler, payload, **fields)
        self._cloud.reach(job_id, status)
        return job_id

    def _expiring(self, fields: dict[str, Any]) -> str:
        # Wanted for a millisecond only, in which the workers begin others; one that is very quick
        # begins it all the same.
        run_at = datetime.now(UTC) + timedelta(seconds=1)
        expires_at = run_at + timedelta(milliseconds=1)
        times = {"run_at": run_at.isoformat(), "expires_at": expires_at.isoformat()}
        for _ in range(RIVALS):
            self._cloud.submit("greet", run_at=times["run_at"])
        return self._cloud.submit("greet", **{**times, **fields})

    def _has_expired(self, job_id: str) -> bool:
        return bool(self._cloud.reach(job_id, "EXPIRED", "SUCCEEDED")["status"] == "EXPIRED")
