"""The registry of handlers by name, which ``@job`` fills and workers read."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

from hourhand.domain.errors import InvalidInput, TooLarge
from hourhand.domain.jobs.job import OnLostChoice, PriorityChoice
from hourhand.domain.jobs.policies import HandlerPolicies
from hourhand.domain.jobs.retry import RetryPolicy
from hourhand.domain.jobs.run_times import DEFAULT_RUN, MAX_RUN
from hourhand.domain.limits.debounce import Debounce
from hourhand.domain.limits.declarations import Limit
from hourhand.domain.limits.unique_keys import Unique
from hourhand.handlers._binding import PayloadBinder
from hourhand.handlers._errors import (
    HandlersNotLoaded,
    InvalidHandler,
    InvalidPayload,
    UnknownHandler,
)
from hourhand.handlers._limits import check_shared_limits, read_limits
from hourhand.handlers._policy import read_policies, whole_number
from hourhand.handlers._schedule import (
    MAX_DECLARED_SCHEDULES,
    check_schedule,
    read_schedule,
)
from hourhand.handlers._submission import Registration, let_submit
from hourhand.ports.handler_directory import DeclaredSchedule, HandlerInfo

if TYPE_CHECKING:
    from hourhand.domain.graphs.definition import GraphDefinition
    from hourhand.handlers._payload_type import PayloadType

HANDLER_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
DESCRIPTION_CHARACTERS = 200
MAX_NAMES_IN_MESSAGE = 20

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Handler:
    """A registered function, with the policies that its ``@job`` states.

    ``payload``: reads the payload from its JSON text; ``None`` where the function takes none.
    ``validates_on_submit``: whether a submission is refused if its payload does not fit.
    ``run_timeout_seconds``: how long a run of a durable handler may take; ``None`` for any other.
    ``definition``: returns the definition of the graph that the handler runs, if it runs one.
    """

    name: str
    function: Callable[..., Any]
    policies: HandlerPolicies = field(default_factory=HandlerPolicies)
    payload: PayloadBinder | None = None
    validates_on_submit: bool = True
    schedule: DeclaredSchedule | None = None
    limits: tuple[Limit, ...] = ()
    unique: Unique | None = None
    debounce: Debounce | None = None
    run_timeout_seconds: int | None = None
    definition: Callable[[], GraphDefinition] | None = None

    @property
    def is_durable(self) -> bool:
        """Whether its jobs are durable runs."""
        return self.run_timeout_seconds is not None

    def arguments(self, payload_text: str) -> tuple[Any, ...]:
        """Return the arguments of ``function`` after the context.

        Raises `hourhand.handlers.InvalidPayload` if the payload does not fit its type.
        """
        return () if self.payload is None else (self.payload(payload_text),)

    def check(self) -> None:
        """Raise `InvalidHandler` if its payload's type, its graph or its schedule is invalid."""
        if self.payload is not None:
            self.payload.binder()
        if self.definition is not None:
            self._check_definition(self.definition)
        if self.schedule is not None:
            check_schedule(self.name, self.schedule)
            self._check_null_payload()

    def _check_definition(self, definition: Callable[[], GraphDefinition]) -> None:
        try:
            definition()
        except (InvalidInput, TooLarge) as error:
            raise InvalidHandler(f"The graph {self.name}: {error.detail}") from error

    def _check_null_payload(self) -> None:
        try:
            self.arguments("null")
        except InvalidPayload as error:
            raise InvalidHandler(
                f"The schedule of the handler {self.name} creates jobs with a null payload, which "
                "the handler does not take. Make its payload optional, or put the schedule with a "
                f"payload by `hourhand schedules apply`. {error}"
            ) from None

    @property
    def place(self) -> str:
        """Where the function is written, for messages."""
        module = getattr(self.function, "__module__", "?")
        name = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        return f"{module}.{name}"

    @cached_property
    def payload_type(self) -> PayloadType | None:
        """What can be said of the payload; ``None`` where the function takes none."""
        # Imported here: a worker describes no payloads, and its start is 10 ms shorter.
        from hourhand.handlers._payload_type import PayloadType  # noqa: PLC0415

        return None if self.payload is None else PayloadType(self.payload)

    @cached_property
    def info(self) -> HandlerInfo:
        """The handler as a manifest describes it, without examples of its payload."""
        taken = self.payload_type
        return HandlerInfo(
            name=self.name,
            description=_first_line(self.function),
            policies=self.policies,
            payload_schema=taken.schema if taken else None,
            payload_check=taken.check if taken and self.validates_on_submit else None,
            schedule=self.schedule,
            limits=self.limits,
            unique=self.unique,
            debounce=self.debounce,
            run_timeout_seconds=self.run_timeout_seconds,
        )


class Registry:
    """Handlers by name. Each name belongs to one function."""

    def __init__(self) -> None:
        """Start with no handlers."""
        self._handlers: dict[str, Handler] = {}

    def __len__(self) -> int:
        return len(self._handlers)

    def __iter__(self) -> Iterator[Handler]:
        return iter([self._handlers[name] for name in sorted(self._handlers)])

    def __contains__(self, name: object) -> bool:
        return name in self._handlers

    def add(  # noqa: PLR0913 - all that a handler states, each by its name
        self,
        name: str,
        function: Callable[..., Any],
        policies: HandlerPolicies | None = None,
        schedule: DeclaredSchedule | None = None,
        *,
        limits: tuple[Limit, ...] = (),
        unique: Unique | None = None,
        debounce: Debounce | None = None,
        validates_on_submit: bool = True,
        run_timeout_seconds: int | None = None,
        definition: Callable[[], GraphDefinition] | None = None,
    ) -> Handler:
        """Register ``function`` under ``name``.

        Raises `InvalidHandler` for a bad name, one that is taken, or a function that cannot be
        called with a context and a payload.
        """
        _require_name(name)
        handler = Handler(
            name=name,
            function=function,
            policies=policies or HandlerPolicies(),
            payload=_payload_binder(name, function),
            validates_on_submit=validates_on_submit,
            schedule=schedule,
            limits=limits,
            unique=unique,
            debounce=debounce,
            run_timeout_seconds=run_timeout_seconds,
            definition=definition,
        )
        taken = self._handlers.get(name)
        if taken is not None:
            raise InvalidHandler(
                f"Two handlers are named {name}: {taken.place} and {handler.place}."
            )
        self._handlers[name] = handler
        return handler

    def get(self, name: str) -> Handler:
        """Return the handler of that name; raise `UnknownHandler` naming those that exist."""
        handler = self._handlers.get(name)
        if handler is None:
            raise UnknownHandler(f"No handler is named {name}. {self._names()}")
        return handler

    def forget_failed_modules(self) -> None:
        """Forget the handlers of modules whose import failed half-way.

        So the next import registers their handlers again, instead of failing for names that are
        taken, which would hide the real reason.
        """
        self._handlers = {
            name: handler
            for name, handler in self._handlers.items()
            if getattr(handler.function, "__module__", None) in sys.modules
        }

    def _names(self) -> str:
        names = sorted(self._handlers)
        shown = ", ".join(names[:MAX_NAMES_IN_MESSAGE])
        more = len(names) - MAX_NAMES_IN_MESSAGE
        if not names:
            return "There are no handlers."
        return (
            f"The handlers are {shown} and {more} more."
            if more > 0
            else f"The handlers are {shown}."
        )


default_registry = Registry()
"""Where ``@job`` registers by default."""


def job(  # noqa: PLR0913 - all that a handler states, each by its name
    name: str,
    *,
    timeout: int | None = None,
    retry: RetryPolicy | None = None,
    priority: PriorityChoice | None = None,
    on_lost: OnLostChoice | None = None,
    retention_seconds: int | None = None,
    validate_on_submit: bool = True,
    schedule: str | Sequence[str] | None = None,
    timezone: str | None = None,
    limits: Sequence[Limit] | None = None,
    unique: Unique | None = None,
    debounce: Debounce | None = None,
    durable: bool = False,
    run_timeout: int | timedelta | None = None,
    registry: Registry | None = None,
) -> Registration:
    """Register a function as the handler ``name``; the function itself stays as it is.

    It takes ``(context, payload)``, or the context alone, and may be ``async``. ``timeout``: the
    seconds that an attempt may take (1..840). ``on_lost``: ``retry`` or ``dead``, what to do with
    a job whose worker is lost. ``retention_seconds``: how long the job is kept after
    its end. A submission may override each of them. ``validate_on_submit``: whether the API
    refuses a payload that the function cannot take; without it, the worker finds out. The function
    gets two attributes, ``submit`` and ``submit_async``, by which it is submitted.

    ``schedule``: an expression such as ``30 2 * * *``, or a list of them, and ``timezone``, an IANA
    name (default UTC), declare a schedule. Its id is the handler's name, its jobs have a null
    payload, and the next deployment applies it.

    ``limits``: at most three of `Concurrency` and `Rate`, which bound how many jobs run at a time
    and how many start. ``unique``: a `Unique`, which lets one job of a key exist at a time.
    ``debounce``: a `Debounce`, by which submissions that come shortly after one another are one
    job.

    ``durable``: the function takes a `RunContext`, whose steps are recorded, so that its jobs
    survive crashes and wait without a worker. ``run_timeout``: the seconds that such a run may take
    (default 30 days, at most 366); ``timeout`` then bounds each invocation. Raises
    `InvalidHandler`.
    """
    if callable(name):
        raise InvalidHandler('A handler needs a name: write @job("some-name").')
    policies = read_policies(
        timeout=timeout,
        retry=retry,
        priority=priority,
        on_lost=on_lost,
        retention_seconds=retention_seconds,
    )
    _require_name(name)
    declared = read_schedule(name, schedule, timezone)
    declared_limits = read_limits(limits)
    if unique is not None and not isinstance(unique, Unique):
        raise InvalidHandler(f"unique must be a Unique, not {unique!r}.")
    if debounce is not None and not isinstance(debounce, Debounce):
        raise InvalidHandler(f"debounce must be a Debounce, not {debounce!r}.")
    if unique is not None and debounce is not None:
        raise InvalidHandler("unique and debounce cannot both be given: each names the job.")

    run_timeout_seconds = _run_timeout(run_timeout, durable=durable)

    def register(function: F) -> F:
        to = default_registry if registry is None else registry
        to.add(
            name,
            function,
            policies,
            declared,
            limits=declared_limits,
            unique=unique,
            debounce=debounce,
            validates_on_submit=validate_on_submit,
            run_timeout_seconds=run_timeout_seconds,
        )
        let_submit(name, function)
        return function

    # A function's type cannot express that its result has more attributes than its argument.
    return cast("Registration", register)


def _run_timeout(run_timeout: int | timedelta | None, *, durable: bool) -> int | None:
    """Return the seconds of a durable run; ``None`` for a handler that is not durable."""
    if not durable:
        if run_timeout is not None:
            raise InvalidHandler("run_timeout needs durable=True.")
        return None
    if run_timeout is None:
        run_timeout = DEFAULT_RUN
    if isinstance(run_timeout, timedelta):
        run_timeout = int(run_timeout.total_seconds())
    whole_number("run_timeout", run_timeout, 1, int(MAX_RUN.total_seconds()))
    return run_timeout


def _require_name(name: object) -> None:
    if not isinstance(name, str) or not HANDLER_NAME.fullmatch(name):
        raise InvalidHandler(
            f"A handler's name is 1 to 64 of the characters A-Z a-z 0-9 _ . -, not {name!r}."
        )


def _payload_binder(name: str, function: Callable[..., Any]) -> PayloadBinder | None:
    """Return how ``function`` takes its payload, by its signature."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise InvalidHandler(f"The handler {name} is not a function: {error}.") from error
    parameters = list(signature.parameters.values())
    if _takes(signature, 2):
        annotation = parameters[1].annotation if len(parameters) > 1 else inspect.Parameter.empty
        return PayloadBinder(inspect.unwrap(function), annotation)
    if _takes(signature, 1) and parameters[0].name != "payload":
        return None
    raise InvalidHandler(
        f"The handler {name} must take (context, payload), or the context alone, not {signature}."
    )


def _takes(signature: inspect.Signature, positional: int) -> bool:
    """Whether a call with that many positional arguments fits."""
    try:
        signature.bind(*[None] * positional)
    except TypeError:
        return False
    return True


def _first_line(function: Callable[..., Any]) -> str:
    lines = (inspect.getdoc(function) or "").strip().splitlines()
    return lines[0][:DESCRIPTION_CHARACTERS] if lines else ""


_MODULE_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


def load_handlers(module: str, registry: Registry | None = None) -> Registry:
    """Import ``module`` and return the registry that it filled (the default one).

    Raises `HandlersNotLoaded` with the reason, whatever error the module's own code raised; that
    error is its cause. May be called again after a failure.
    """
    target = default_registry if registry is None else registry
    if not _MODULE_NAME.fullmatch(module):
        raise HandlersNotLoaded(
            f"Handlers are named by their module, such as examples.quickstart, not {module!r}."
        )
    try:
        importlib.import_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        target.forget_failed_modules()
        raise HandlersNotLoaded(_reason(module, error)) from error
    if not len(target):
        raise HandlersNotLoaded(f'{module} registers no handlers: none has @job("name").')
    return target


MAX_SCHEMA_BYTES = 65_536
"""What a manifest says of the payload of one handler: its schema, check and examples."""

MAX_SCHEMAS_BYTES = 1_048_576
"""The same of all handlers: each cold start of the API reads the manifest, and one answer, of at
most 4.5 MB, lists it."""


def describe(registry: Registry, warn: Callable[[str], None] | None = None) -> list[HandlerInfo]:
    """Return the manifest's entry of every handler, by name.

    ``warn`` is called with a sentence for each handler whose payload cannot be described, or only
    by too much. Raises `hourhand.handlers.InvalidHandler` for a handler whose payload type cannot
    be used, or whose schedule cannot, and for a shared limit that two handlers declare differently:
    packing reports it.
    """
    from hourhand.handlers._payload_type import size_bytes  # noqa: PLC0415 - see `payload_type`

    for handler in registry:
        handler.check()
    check_shared_limits((handler.name, handler.limits) for handler in registry)
    declared = sum(handler.schedule is not None for handler in registry)
    if declared > MAX_DECLARED_SCHEDULES:
        raise InvalidHandler(
            f"{declared:,} handlers declare a schedule; at most {MAX_DECLARED_SCHEDULES:,} may. "
            "Put the others with `hourhand schedules apply`."
        )
    described = []
    room = MAX_SCHEMAS_BYTES
    for handler in registry:
        examples = handler.payload_type.examples if handler.payload_type else ()
        info = replace(handler.info, payload_examples=examples)
        taken = size_bytes([info.payload_schema, info.payload_check, info.payload_examples]) or 0
        problem = _problem(handler, info)
        if taken > min(MAX_SCHEMA_BYTES, room):
            problem = _TOO_LARGE.format(name=info.name, taken=taken)
            info = replace(info, payload_schema=None, payload_check=None, payload_examples=())
        else:
            room -= taken
        if problem is not None and warn is not None:
            warn(problem)
        described.append(info)
    return described


_TOO_LARGE = (
    "The payload schema of {name} is left out: it is {taken:,} bytes. At most "
    f"{MAX_SCHEMA_BYTES:,} for one handler and {MAX_SCHEMAS_BYTES:,} for all are published. "
    "Only the worker will validate its payloads."
)


def _problem(handler: Handler, info: HandlerInfo) -> str | None:
    """Return what pydantic could not say of a payload, as a sentence."""
    taken = handler.payload_type
    if taken is None or taken.takes_any:
        return None
    if info.payload_schema is None:
        return f"The payload of {info.name} has no JSON Schema: generating it failed."
    if info.payload_check is None and handler.validates_on_submit:
        return f"The payloads of {info.name} cannot be checked at submission, only by the worker."
    return None


def _reason(module: str, error: BaseException) -> str:
    parents = {module.rsplit(".", depth)[0] for depth in range(module.count(".") + 1)}
    if isinstance(error, ModuleNotFoundError) and error.name in parents:
        return f"There is no module {error.name} on the import path."
    return f"Importing {module} failed: {type(error).__name__}: {error}"
