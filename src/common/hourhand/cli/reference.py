"""``python -m hourhand.cli.reference``: prints docs/cli.md, made of the commands themselves."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby

from hourhand.cli import connection, verbs
from hourhand.cli.exits import MEANINGS
from hourhand.cli.introspection import Flag, Verb, verbs_of
from hourhand.cli.main import app

SHARED_PANELS = (connection.PANEL, verbs.PANEL)
"""Flags that many verbs share are told once."""

HEAD = """\
# The command line

This page is made of the commands themselves by `python -m hourhand.cli.reference > docs/cli.md`;
do not edit it. `hourhand VERB --help` says the same in a terminal.

`pip install 'hourhand[cli]'` installs it. With `make dev` running in another terminal, all of it
works without any flag:

```console
$ hourhand jobs submit send-welcome '{{"email": "ada@example.org", "name": "Ada"}}' --watch
$ hourhand jobs list
$ hourhand jobs submit check-report '{{}}' --max-attempts 1 --watch
$ hourhand dead-letters list
$ hourhand schedules put nightly -x '0 3 * * *' --handler check-report --payload '{{}}'
$ hourhand schedules show nightly
$ hourhand stats --watch
```

Against a deployment, name its API once, which is the stack's output `ApiUrl`:

```console
$ export HOURHAND_ENDPOINT=https://a1b2c3d4e5.execute-api.eu-central-1.amazonaws.com
```

Requests are then signed with your own AWS credentials, of the environment or of `--profile`. Who
may do what is said in [deploying](deploy.md#who-may-call).

## What all verbs have in common

- **Flags and the environment.** Every flag has a twin in the environment, named beside it; a flag
  goes before its twin.
- **Output.** Tables fit the terminal: a narrow one shows fewer columns. In a pipe nothing is
  shortened. Colour is for terminals, and `NO_COLOR=1` turns it off. Progress, questions and
  remarks go to standard error.
- **Times** are told as how far away they are, or as when they are where you live. A time that you
  type without an offset is meant where you are; `2027-01-31T09:00Z` is UTC. Durations are `90`,
  `90s`, `5m`, `1.5h` or `2d`.
- **Many at once.** What is done to many is counted first, and asked about: `--yes` answers
  beforehand. Without a terminal there is nobody to ask, and nothing is done without it.
- **Ctrl-C** ends any verb at once and cleanly.
- **Completion.** `hourhand --install-completion` teaches it to your shell (bash, zsh, fish,
  PowerShell), `--show-completion` prints it. It knows verbs and flags, and asks the API for the
  names of jobs, handlers, schedules and calendars.

Every verb that asks an API has the flags of its connection:

{connection}

Every verb that tells things has the flags of output:

{output}

{codes}

## The verbs

{contents}
"""
_BOLD = re.compile(r"\[bold\](.*?)\[/\]")
_DIM = re.compile(r"\[dim\](.*?)\[/\]")


def page() -> str:
    """Return docs/cli.md as the commands are."""
    known = list(verbs_of(app))
    shared = {
        panel: list(
            dict.fromkeys(flag for verb in known for flag in verb.flags if flag.panel == panel)
        )
        for panel in SHARED_PANELS
    }
    head = HEAD.format(
        connection="\n".join(_flag_table(shared[connection.PANEL])),
        output="\n".join(_flag_table(shared[verbs.PANEL])),
        codes="\n".join(_code_table()),
        contents="\n".join(_contents(known)),
    )
    return "\n".join([head, *(line for verb in known for line in _section(verb))]).rstrip() + "\n"


def _code_table() -> Iterator[str]:
    yield "| exit code | means |"
    yield "| ---: | --- |"
    yield from (f"| {code} | {meaning} |" for code, meaning in sorted(MEANINGS.items()))


def _contents(known: Sequence[Verb]) -> Iterator[str]:
    for noun, found in groupby(known, key=lambda verb: verb.path[1]):
        links = [f"[{verb.path[-1]}](#{_anchor(verb)})" for verb in found]
        is_alone = links == [f"[{noun}](#hourhand-{noun})"]
        yield f"- {links[0] if is_alone else f'{noun}: ' + ', '.join(links)}"


def _anchor(verb: Verb) -> str:
    return verb.name.replace(" ", "-")


def _section(verb: Verb) -> Iterator[str]:
    yield f"### {verb.name}\n"
    yield f"`{verb.usage}`\n"
    for text in verb.texts:
        yield f"{_marked_up(text)}\n"
    if verb.example is not None:
        yield f"```sh\n{verb.example}\n```\n"
    if verb.arguments:
        yield "\n".join(_argument_table(verb.arguments)) + "\n"
    own = [flag for flag in verb.flags if flag.panel not in SHARED_PANELS]
    if own:
        yield "\n".join(_flag_table(own)) + "\n"
    also = [panel.lower() for panel in SHARED_PANELS if any(f.panel == panel for f in verb.flags)]
    if also:
        yield f"And the flags of {' and '.join(also)}, [above](#what-all-verbs-have-in-common).\n"
    codes = "; ".join(f"{code} {_marked_up(meaning)}" for code, meaning in verb.codes)
    yield f"Exit codes: {codes}.\n"


def _argument_table(arguments: Sequence[Flag]) -> Iterator[str]:
    yield "| argument | | |"
    yield "| --- | --- | --- |"
    for each in arguments:
        needed = "required" if each.is_required else each.default and f"`{each.default}`"
        yield f"| `{_cell(each.written)}` | {_cell(_marked_up(each.help))} | {needed} |"


def _flag_table(flags: Sequence[Flag]) -> Iterator[str]:
    yield "| flag | | default | in the environment |"
    yield "| --- | --- | --- | --- |"
    for flag in flags:
        default = "required" if flag.is_required else flag.default and f"`{_cell(flag.default)}`"
        twins = ", ".join(f"`{twin}`" for twin in flag.twins)
        told = _cell(_marked_up(flag.help))
        yield f"| `{_cell(flag.written)}` | {told} | {default} | {twins} |"


def _marked_up(text: str) -> str:
    return _DIM.sub(r"\1", _BOLD.sub(r"**\1**", text))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(page())
