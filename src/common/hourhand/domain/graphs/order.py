"""The order of the nodes of a graph, and its cycles.

``after`` maps each node to the nodes that come before it. All of those must be keys of it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

After = Mapping[str, Collection[str]]


def followers(after: After) -> dict[str, list[str]]:
    """Return the nodes directly after each node."""
    following: dict[str, list[str]] = {name: [] for name in after}
    for name, before in after.items():
        for one in before:
            following[one].append(name)
    return following


def topological_order(after: After) -> tuple[str, ...]:
    """Return the nodes, each behind all nodes before it.

    The nodes of a cycle, and those behind it, are left out.
    """
    following = followers(after)
    missing = {name: len(before) for name, before in after.items()}
    order = [name for name, count in missing.items() if not count]
    # The list grows while it is read. Each node is appended at most once.
    for name in order:
        for one in following[name]:
            missing[one] -= 1
            if not missing[one]:
                order.append(one)
    return tuple(order)


def find_cycle(after: After) -> tuple[str, ...]:
    """Return the nodes of one cycle, each before the next; empty if there is none.

    It begins with the node that ``after`` has first.
    """
    ordered = set(topological_order(after))
    # Each node that is left out of the order has another such node before it.
    name = next((one for one in after if one not in ordered), None)
    path: dict[str, None] = {}
    while name is not None and name not in path:
        path[name] = None
        name = next(one for one in after[name] if one not in ordered)
    if name is None:
        return ()
    walked = list(path)
    cycle = walked[walked.index(name) :][::-1]
    start = cycle.index(next(one for one in after if one in cycle))
    return (*cycle[start:], *cycle[:start])


def nodes_before(after: After) -> dict[str, int]:
    """Return all nodes before each node, directly or not, as bits in the order of ``after``.

    Bits, because a graph of 1,000 nodes can have half a million such pairs. Nodes of a cycle, and
    those behind it, are left out.
    """
    bits = {name: 1 << place for place, name in enumerate(after)}
    before: dict[str, int] = {}
    for name in topological_order(after):
        before[name] = 0
        for one in after[name]:
            before[name] |= before[one] | bits[one]
    return before
