"""Every crash point and interleaving of the real services: the explorer.

The shipped services run over scripted ports: every call of a port is a point at which anything
else may happen first. What a call does is decided by the shipped memory adapters, which pass the
contract tests. `explore` goes breadth first through all that may happen, checks the invariants in
every state (`rules`), and runs on to the end what is left when faults stop (`continuation`).

    from proof.explorer.search import explore, Result
    from proof.explorer.scenario import Limits, Scenario
    from proof.explorer.scenarios import ALL          # by name

    result: Result = explore(ALL["one-job"], Limits(crashes=1, expiries=1))
    result.violations        # a list of Violation(sentence, choices): empty is what we want
    result.is_complete       # every state within the limits was seen
    result.states, result.steps, result.worlds, result.seconds

Without limits a scenario's own are taken: those in which it is explored quickly. It stops at the
first violation, which has the shortest trace. A violation is told by
`proof.explorer.story.tell(scenario, limits, violation)`, a list of lines; the choices replay
it. A mutant runs in a process of its own, patched before anything of `hourhand` is imported:

    python -m proof.explorer --scenario one-job [--crashes 1] [--expiries 1] ...

ends with 1 where a rule was broken. ``Limits.liveness``: ``rest`` continues from every state in
which nobody is in the middle of something, ``all`` from every state (everybody dies there).
"""
