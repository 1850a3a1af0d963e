"""What the body of a durable handler must not do: by its syntax tree, without running it.

A replay runs the body again and must come to the same calls. So the body reads no clock, draws no
random numbers, and calls nothing outside. The functions of its steps may do all that, and a check
does not look into them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

IGNORED = "hourhand: ok"
"""A comment with these words takes its line out of the check."""

MAX_HELPERS = 200
"""Functions of the file that the check follows from one handler."""

_CLOCK = "reads a clock. Use ctx.now(), or read it in a step"
_SLEEP = "holds the worker, and sleeps again in every replay. Use ctx.sleep(name, seconds)"
_CHANCE = "differs in every replay. Use ctx.uuid(name), or draw it in a step"
_ENVIRONMENT = "may differ after a deployment. Read it in a step"
_OUTSIDE = "calls something outside, again in every replay. Do it in a step"
_RACE = (
    "lets the call that ends first decide, which differs in every replay. Use "
    'ctx.gather(..., mode="any"), which records the winner'
)
_TIMEOUT = (
    "cancels calls by a clock, at another place in every replay. Use timeout= of ctx.wait_for, "
    "ctx.callback, ctx.submit_and_wait, ctx.gather, ctx.map or the result() of a child, or a "
    'branch that sleeps in ctx.gather(..., mode="any")'
)
_PROCESS = "differs between processes. Decide by the payload and by results of steps"
_ORDER = "iterates over a set, whose order differs between processes. Use sorted(...)"
_LEAVES = (
    "leaves the rows of ctx.iterate early, and a replay does not see the rows before again. Go on "
    "to their end, and record in a step what the loop has to decide"
)
_UNAWAITED = (
    "is not awaited: it does not run, and it is no value. Write await before it. A run that "
    "returns without awaiting it fails"
)
_UNUSED = "does nothing until a loop goes through it. Write for row in it, or async for"
_NO_EFFECT = (
    "has compensate and counts as without effect if it raises. Name the errors after which its "
    "effect is not known: effect_unknown=(TimeoutError, ...), or () if there are none"
)
_CATCHES = "also catches the suspension of the run. Catch Exception"

CALLS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            *("time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns"),
            *("time.perf_counter", "time.perf_counter_ns", "time.localtime", "time.gmtime"),
            *("time.ctime", "time.strftime", "datetime.datetime.now", "datetime.datetime.utcnow"),
            *("datetime.datetime.today", "datetime.date.today"),
        ),
        _CLOCK,
    ),
    **dict.fromkeys(("time.sleep", "asyncio.sleep"), _SLEEP),
    **dict.fromkeys(("uuid.uuid1", "uuid.uuid4", "os.urandom"), _CHANCE),
    **dict.fromkeys(("os.getenv", "os.environ.get"), _ENVIRONMENT),
    **dict.fromkeys(("open", "input", "print", "os.system", "os.listdir"), _OUTSIDE),
    **dict.fromkeys(("id", "hash", "os.getpid"), _PROCESS),
    **dict.fromkeys(
        (
            *("asyncio.wait", "asyncio.as_completed", "concurrent.futures.wait"),
            "concurrent.futures.as_completed",
        ),
        _RACE,
    ),
    **dict.fromkeys(("asyncio.wait_for", "asyncio.timeout", "asyncio.timeout_at"), _TIMEOUT),
}
"""Calls by their full names. `print` is output: each replay would print the line again."""

MODULES: Mapping[str, str] = {
    **dict.fromkeys(("random", "secrets", "numpy.random"), _CHANCE),
    **dict.fromkeys(
        (
            *("requests", "httpx", "aiohttp", "urllib", "urllib3", "http", "socket", "smtplib"),
            *("boto3", "botocore", "aioboto3", "subprocess", "shutil", "sqlite3", "psycopg"),
            *("psycopg2", "asyncpg", "pymysql", "pymongo", "redis", "sqlalchemy", "openai"),
            *("anthropic", "stripe"),
        ),
        _OUTSIDE,
    ),
}
"""Modules whose every call is meant."""

AWAITED = frozenset(
    {
        *("callback", "gather", "map", "now", "restart", "sleep", "sleep_until", "step", "submit"),
        *("submit_and_wait", "take_async", "version", "wait_for"),
    }
)
"""Calls of the context that an ``async`` handler awaits."""

_PURE = frozenset({"urllib.parse", "http.HTTPStatus", "sqlalchemy.select"})


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A place in a durable handler, or in a function that it calls, and what is wrong there."""

    line: int
    column: int
    handler: str
    message: str


def check_source(source: str) -> list[Finding]:
    """Return what is wrong in the durable handlers of a file. Raises `SyntaxError`."""
    tree = ast.parse(source)
    lines = source.splitlines()
    module = _Module(tree)
    found = {
        finding
        for name, function in module.handlers()
        for finding in _Body(module, name).findings(function, _first(function))
    }
    return sorted(one for one in found if IGNORED not in lines[one.line - 1])


_Function = ast.FunctionDef | ast.AsyncFunctionDef


class _Module:
    """The names of a file: what its imports mean, and its functions."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._names: dict[str, str] = {}
        self.functions: dict[str, _Function] = {
            node.name: node for node in tree.body if isinstance(node, _Function)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    # `import a.b` binds `a`; `import a.b as c` binds all of it.
                    first = alias.name.split(".")[0]
                    self._names[alias.asname or first] = alias.name if alias.asname else first
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    self._names[alias.asname or alias.name] = f"{node.module}.{alias.name}"

    def handlers(self) -> Iterator[tuple[str, _Function]]:
        """Yield each durable handler with its name."""
        for node in ast.walk(self._tree):
            if not isinstance(node, _Function):
                continue
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and self._is_durable(decorator):
                    yield _name_in(decorator) or node.name, node

    def full_name(self, node: ast.expr) -> str | None:
        """Return the dotted name that an expression stands for; ``None`` for no plain name."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return None
        return ".".join([self._names.get(node.id, node.id), *reversed(parts)])

    def _is_durable(self, decorator: ast.Call) -> bool:
        name = self.full_name(decorator.func) or ""
        return name.split(".")[-1] == "job" and any(
            keyword.arg == "durable"
            and isinstance(keyword.value, ast.Constant)
            and keyword.value.value is True
            for keyword in decorator.keywords
        )


class _Body:
    """Walks what runs in a replay: a handler and the functions of its file that it calls."""

    def __init__(self, module: _Module, handler: str) -> None:
        self._module, self._handler = module, handler
        self._seen: set[str] = set()

    def findings(self, function: _Function, outer: frozenset[str]) -> Iterator[Finding]:
        """Yield what is wrong in a function, and in those of the file that it calls.

        ``outer``: the names that stand for contexts where it is called.
        """
        local = {node.name: node for node in ast.walk(function) if isinstance(node, _Function)}
        contexts = outer | _contexts(function)
        for statement in function.body:
            for node in _executed(statement):
                yield from self._judged(node)
                awaited = AWAITED if isinstance(function, ast.AsyncFunctionDef) else frozenset()
                yield from self._judged_uses(node, contexts, awaited)
                called = self._called(node, local)
                if called is not None:
                    yield from self.findings(called, contexts)

    def _called(self, node: ast.AST, local: Mapping[str, _Function]) -> _Function | None:
        """Return the function of this file that a node calls, once."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            return None
        name = node.func.id
        function = local.get(name) or self._module.functions.get(name)
        if function is None or name in self._seen or len(self._seen) >= MAX_HELPERS:
            return None
        self._seen.add(name)
        return function

    def _judged(self, node: ast.AST) -> Iterator[Finding]:
        if isinstance(node, ast.Call):
            name = self._module.full_name(node.func)
            message = None if name is None else _message_of(name)
            if message is not None:
                yield self._finding(node, f"{name}() {message}.")
            given = {keyword.arg for keyword in node.keywords}
            is_step = isinstance(node.func, ast.Attribute) and node.func.attr == "step"
            # A `**` among the arguments may hold it.
            if is_step and "compensate" in given and not given & {"effect_unknown", None}:
                yield self._finding(node, f"This step {_NO_EFFECT}.")
        elif isinstance(node, ast.Subscript):
            if self._module.full_name(node.value) == "os.environ":
                yield self._finding(node, f"os.environ {_ENVIRONMENT}.")
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            yield from self._judged_loop(node)
        elif isinstance(node, ast.ExceptHandler):
            name = "" if node.type is None else self._module.full_name(node.type)
            if name in {"", "BaseException"}:
                yield self._finding(node, f"This {_CATCHES}.")

    def _judged_uses(
        self, node: ast.AST, contexts: frozenset[str], awaited: frozenset[str]
    ) -> Iterator[Finding]:
        """Yield the calls of a context that a node uses, or drops, as if they had been awaited."""
        for used in _used_as_values(node):
            call = used.func if isinstance(used, ast.Call) else None
            if not isinstance(call, ast.Attribute) or not _is_context(call.value, contexts):
                continue
            if call.attr == "iterate":
                yield self._finding(used, f"{ast.unparse(call)}() {_UNUSED}.")
            elif call.attr in awaited:
                yield self._finding(used, f"{ast.unparse(call)}() {_UNAWAITED}.")

    def _judged_loop(self, node: ast.For | ast.AsyncFor | ast.comprehension) -> Iterator[Finding]:
        if _is_set(node.iter):
            yield self._finding(node.iter, f"This {_ORDER}.")
        if not isinstance(node, ast.comprehension) and _is_call_of(node.iter, "iterate"):
            for exit_ in _exits(node.body, in_loop=False):
                yield self._finding(exit_, f"This {_LEAVES}.")

    def _finding(self, node: ast.expr | ast.stmt | ast.ExceptHandler, message: str) -> Finding:
        return Finding(node.lineno, node.col_offset + 1, self._handler, message)


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run where ``node`` runs: not the bodies of functions defined there."""
    yield node
    if isinstance(node, _Function | ast.Lambda | ast.ClassDef):
        return
    for child in ast.iter_child_nodes(node):
        yield from _executed(child)


def _message_of(name: str) -> str | None:
    if name in CALLS:
        return CALLS[name]
    parts = name.split(".")
    # Longest first; a name alone, such as a variable `requests`, is no call into a module.
    prefixes = [".".join(parts[:length]) for length in range(len(parts) - 1, 0, -1)]
    if any(one in _PURE for one in (name, *prefixes)):
        return None
    return next((MODULES[one] for one in prefixes if one in MODULES), None)


def _first(function: _Function) -> frozenset[str]:
    return frozenset(one.arg for one in function.args.args[:1])


def _contexts(function: _Function) -> frozenset[str]:
    """Return the names that stand for contexts in a function: by their type, and branches."""
    arguments = [one for one in function.args.args if one.annotation is not None]
    names = {one.arg for one in arguments if "RunContext" in ast.unparse(one.annotation or one)}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and _is_call_of(node.value, "branch"):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return frozenset(names)


def _is_context(node: ast.expr, names: frozenset[str]) -> bool:
    """Whether it is a context, or a limit of one, whose calls are awaited, too."""
    makes_one = _is_call_of(node, "branch") or _is_call_of(node, "limit")
    return makes_one or (isinstance(node, ast.Name) and node.id in names)


def _used_as_values(node: ast.AST) -> Sequence[ast.expr]:
    """Return what a node drops, or asks for its truth or value: it must have been awaited."""
    match node:
        case ast.Expr(value=value):
            return [value]
        case (
            ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) | ast.Assert(test=test)
        ):
            return [test]
        case ast.BoolOp(values=values):
            return values
        case ast.UnaryOp(operand=operand):
            return [operand]
        case ast.Compare(left=left, comparators=others):
            return [left, *others]
    return []


def _is_set(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in {"set", "frozenset"}
    return isinstance(node, ast.Set | ast.SetComp)


def _is_call_of(node: ast.expr, method: str) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == method
    )


def _exits(body: Sequence[ast.stmt], *, in_loop: bool) -> Iterator[ast.stmt]:
    """Yield the statements that leave a loop with this body; a `break` of a loop inside does not.

    An error leaves it, too; the attempt then fails, and the next one goes on at the saved place.
    """
    for statement in body:
        if isinstance(statement, ast.Return) or (isinstance(statement, ast.Break) and not in_loop):
            yield statement
        if isinstance(statement, _Function | ast.ClassDef):
            continue
        is_loop = isinstance(statement, ast.For | ast.AsyncFor | ast.While)
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            for inner in getattr(statement, name, []):
                nested = [inner] if isinstance(inner, ast.stmt) else inner.body
                yield from _exits(nested, in_loop=in_loop or is_loop)


def _name_in(decorator: ast.Call) -> str | None:
    first = decorator.args[0] if decorator.args else None
    return str(first.value) if isinstance(first, ast.Constant) else None
