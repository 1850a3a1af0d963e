"""PartiQL statements of ours as the calls that moto knows, conditions and all.

moto hands each statement all items of all tables, and does not look at the condition of an UPDATE.
Here an INSERT is a put where nothing is under the key yet, and an UPDATE is moto's own UpdateItem:
its expressions are the statement's, word by word. What is written otherwise is left to moto, but
for an UPDATE, which is refused: moto would change the item whatever its condition.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from moto.core.exceptions import JsonRESTError
from moto.dynamodb.exceptions import ConditionalCheckFailed
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType

from hourhand.local.moto_parts import Part, replace_parts

KNOWN_STATEMENTS = 1_024
"""How many statements are kept in their parts; ours differ by the attributes that they name."""

_moto_batch = DynamoDBBackend.batch_execute_statement

_INSERT = re.compile(r"""INSERT INTO "([^"]+)" VALUE \{((?:'[^']+': \?(?:, )?)+)\}""")
_INSERTED = re.compile(r"'([^']+)': \?")
_UPDATE = re.compile(r'UPDATE "([^"]+)" ((?:SET|REMOVE) .+) WHERE "([^"]+)" = \?(.*)')
_CHANGE = re.compile(
    r'(?P<verb>SET|REMOVE) (?P<what>"[^"]+"(?:\[\d+\])?)(?: = (?P<to>(?:"[^"]+" \+ )?\?))?(?: |$)'
)
_KEY_TOO = re.compile(r' AND "([^"]+)" = \?')
_MISSING = re.compile(r'("[^"]+") IS MISSING')
_CHOICE = re.compile(r"IN \[([?, ]+)\]")
_WORD = re.compile(r'"([^"]+)"|\?')
_CONDITION = re.compile(r'(?:"[^"]+"|\?|IS MISSING|IN \[[?, ]+\]|size|AND|<>|<=|>=|[=<>()]| )*')

Parameters = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Insert:
    """Makes an item of ``names``, which take the parameters in order."""

    table: str
    names: tuple[str, ...]

    @property
    def parameters(self) -> int:
        """How many parameters it takes."""
        return len(self.names)


@dataclass(frozen=True, slots=True)
class Update:
    """UpdateItem's arguments: parameter n is ``:vn``, and ``key`` says which ones are the key."""

    table: str
    expression: str
    condition: str
    names: Mapping[str, str]
    key: Mapping[str, int]
    values: tuple[int, ...]

    @property
    def parameters(self) -> int:
        """How many parameters it takes."""
        return len(self.key) + len(self.values)


def understand_statements() -> bool:
    """Let moto do our statements as DynamoDB does; return whether this moto can be told to."""
    return replace_parts(
        [Part(DynamoDBBackend, "batch_execute_statement", _batch_execute, "self statements")]
    )


def _batch_execute(backend: Any, statements: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [_execute(backend, statement) for statement in statements]


def _execute(backend: Any, statement: dict[str, Any]) -> dict[str, Any]:
    parsed = read_statement(statement["Statement"])
    parameters = statement.get("Parameters", [])
    if parsed is None or parsed.parameters != len(parameters):
        if statement["Statement"].startswith("UPDATE"):
            return _failed("", "ValidationError", "The local cloud does not know this UPDATE")
        (answer,) = _moto_batch(backend, [statement])
        return answer
    if parsed.table not in backend.tables:
        return _failed(parsed.table, "ResourceNotFound", "Requested resource not found")
    try:
        if isinstance(parsed, Insert):
            return _insert(backend.tables[parsed.table], parsed, parameters)
        return _update(backend, parsed, parameters, statement)
    except JsonRESTError as error:
        return _failed(parsed.table, "ValidationError", str(error.message))


def _insert(table: Any, insert: Insert, parameters: Parameters) -> dict[str, Any]:
    item = dict(zip(insert.names, parameters, strict=True))
    keys = [DynamoType(dict(item[name])) for name in table.table_key_attrs if name in item]
    is_whole = len(keys) == len(table.table_key_attrs)
    if is_whole and table.get_item(*keys) is not None:
        return _failed(table.name, "DuplicateItem", "Duplicate primary key exists in table")
    # One request is answered after the other: nothing can have come in between.
    table.put_item(item, overwrite=True)
    return {"TableName": table.name}


def _update(
    backend: Any, update: Update, parameters: Parameters, statement: Mapping[str, Any]
) -> dict[str, Any]:
    try:
        backend.update_item(
            update.table,
            {name: parameters[number] for name, number in update.key.items()},
            update_expression=update.expression,
            expression_attribute_names=dict(update.names),
            expression_attribute_values={f":v{n}": parameters[n] for n in update.values},
            condition_expression=update.condition,
            return_values_on_condition_check_failure=statement.get(
                "ReturnValuesOnConditionCheckFailure"
            ),
        )
    except ConditionalCheckFailed as refused:
        answer = _failed(update.table, "ConditionalCheckFailed", "The conditional request failed")
        # moto keeps the item in the text of its error alone.
        if item := json.loads(refused.description).get("Item"):
            answer["Error"]["Item"] = item
        return answer
    return {"TableName": update.table}


def _failed(table: str, code: str, message: str) -> dict[str, Any]:
    return {"Error": {"Code": code, "Message": message}, "TableName": table}


# --- reading ------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=KNOWN_STATEMENTS)
def read_statement(statement: str) -> Insert | Update | None:
    """Return a statement in its parts, or ``None`` where it is none that we write."""
    if insert := _INSERT.fullmatch(statement):
        return Insert(insert[1], tuple(_INSERTED.findall(insert[2])))
    if update := _UPDATE.fullmatch(statement):
        return _read_update(update)
    return None


def _read_update(update: re.Match[str]) -> Update | None:
    table, changes, first_key, rest = update.groups()
    words = _Words()
    expression = _read_changes(changes, words)
    key = {first_key: words.take_parameter()}
    if second := _KEY_TOO.match(rest):
        key[second[1]] = words.take_parameter()
        rest = rest[second.end() :]
    if expression is None or not _CONDITION.fullmatch(rest):
        return None
    # An UpdateItem would make an item that is not there.
    condition = f"attribute_exists({words.name(first_key)})" + words.translate(
        _CHOICE.sub(r"IN (\1)", _MISSING.sub(r"attribute_not_exists(\1)", rest))
    )
    values = tuple(n for n in range(words.parameters) if n not in key.values())
    return Update(table, expression, condition, words.names, key, values)


def _read_changes(changes: str, words: _Words) -> str | None:
    """Return what UpdateItem calls them: one SET and one REMOVE, each with commas."""
    parts: dict[str, list[str]] = {"SET": [], "REMOVE": []}
    end = 0
    while change := _CHANGE.match(changes, end):
        if (change["verb"] == "SET") != (change["to"] is not None):
            return None
        to = "" if change["to"] is None else f" = {change['to']}"
        parts[change["verb"]].append(words.translate(change["what"] + to))
        end = change.end()
    if end != len(changes):
        return None
    return " ".join(f"{verb} {', '.join(each)}" for verb, each in parts.items() if each)


class _Words:
    """Replaces quoted names and question marks by placeholders, in the order of a statement."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.parameters = 0

    def name(self, name: str) -> str:
        """Return the placeholder of a name."""
        placeholder = f"#n{name.encode().hex()}"
        self.names[placeholder] = name
        return placeholder

    def take_parameter(self) -> int:
        """Return the number of the next parameter."""
        self.parameters += 1
        return self.parameters - 1

    def translate(self, text: str) -> str:
        """Return ``text``, which comes next in the statement, with placeholders."""
        return _WORD.sub(
            lambda word: self.name(word[1]) if word[1] else f":v{self.take_parameter()}", text
        )
