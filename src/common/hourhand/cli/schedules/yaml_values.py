"""Reads YAML as JSON would be read: text stays text, and each value knows its line.

YAML 1.1 takes words such as ``yes`` for booleans, ``12:30`` for a number and ``2026-12-25`` for a
date. Here a date is the text that was written. A word or number that readers of YAML understand
differently is refused, with the field's name and the line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml  # type: ignore[import-untyped]  # its stubs are no dependency of ours

MAX_VALUES = 100_000
"""Values of one file. An alias counts each time it is used: few lines may stand for billions."""

MAX_DEPTH = 100

_TAG = "tag:yaml.org,2002:"
_TEXTS = frozenset({f"{_TAG}str", f"{_TAG}timestamp"})
_TRUTHS = {"true": True, "false": False}
_NUMBERS = frozenset({f"{_TAG}int", f"{_TAG}float"})
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
"""A number of JSON."""


class YamlProblem(Exception):
    """The text is not YAML, or holds too much. The message names the line."""


@dataclass(slots=True)
class YamlDocument:
    """One document: its value, the line of each field by its path, and what is wrong with it.

    A problem has the path of its field, its line and what is wrong.
    """

    value: Any = None
    lines: dict[str, int] = field(default_factory=dict)
    problems: list[tuple[str, int, str]] = field(default_factory=list)


def read_documents(text: str) -> Iterator[YamlDocument]:
    """Yield the documents of ``text``. Raises `YamlProblem`."""
    # Only nodes are composed: no object is constructed, whatever the tags say.
    nodes = yaml.compose_all(text, Loader=yaml.SafeLoader)
    left = [MAX_VALUES]
    while True:
        try:
            node = next(nodes, None)
        except (yaml.YAMLError, RecursionError) as error:
            raise YamlProblem(_reason(error)) from None
        if node is None:
            return
        document = YamlDocument()
        document.value = _Reader(document, left).read(node, "", 0)
        yield document


@dataclass(slots=True)
class _Reader:
    document: YamlDocument
    left: list[int]

    def read(self, node: yaml.Node, path: str, depth: int) -> Any:
        line = node.start_mark.line + 1
        self.document.lines.setdefault(path, line)
        self.left[0] -= 1
        if self.left[0] < 0:
            raise YamlProblem(f"line {line}: the file has more than {MAX_VALUES:,} values")
        if depth > MAX_DEPTH:
            raise YamlProblem(f"line {line}: values are nested more than {MAX_DEPTH} deep")
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
            return self._mapping(node, path, depth)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
            return [
                self.read(each, f"{path}[{index}]", depth + 1)
                for index, each in enumerate(node.value)
            ]
        return self._scalar(node, path, line)

    def _mapping(self, node: yaml.MappingNode, path: str, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                self._refuse(path, line, "must have names as keys")
                continue
            name = str(key.value)
            at = f"{path}.{name}" if path else name
            if key.tag == f"{_TAG}merge":
                self._refuse(at, line, "is a merge key, which is not supported: repeat the fields")
            elif _is_ambiguous_word(key):
                self._refuse(at, line, f'has a key that YAML reads as a boolean: write "{name}"')
            elif name in found:
                self._refuse(at, line, "is given twice")
            found[name] = self.read(value, at, depth + 1)
        return found

    def _scalar(self, node: yaml.Node, path: str, line: int) -> Any:
        text, tag = str(node.value), str(node.tag)
        is_quoted = isinstance(node, yaml.ScalarNode) and node.style is not None
        problem = f"has the tag {tag}, which is not supported"
        if tag in _TEXTS or (is_quoted and tag.startswith(_TAG)):
            return text
        if tag == f"{_TAG}null":
            return None
        if tag == f"{_TAG}bool":
            if text.lower() in _TRUTHS:
                return _TRUTHS[text.lower()]
            problem = f'is {text}, which YAML reads as a boolean: write true or false, or "{text}"'
        elif tag in _NUMBERS:
            if _NUMBER.fullmatch(text):
                return json.loads(text)
            problem = f'is {text}, which YAML reads as a number of its own: for text write "{text}"'
        self._refuse(path, line, problem)
        return None

    def _refuse(self, path: str, line: int, message: str) -> None:
        self.document.problems.append((path, line, message))


def _is_ambiguous_word(node: yaml.ScalarNode) -> bool:
    is_plain_boolean = node.style is None and node.tag == f"{_TAG}bool"
    return is_plain_boolean and str(node.value).lower() not in _TRUTHS


def _reason(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return f"it is not valid YAML: {error}"
    return f"line {mark.line + 1}: it is not valid YAML: {getattr(error, 'problem', error)}"
