"""``hourhand doctor``: checks a deployment and prints how to fix each problem.

Each module checks one thing: it asks AWS (`hourhand.cli.doctor.asking`) and hands the
answer to pure functions, ``judge_...``, which return findings (`hourhand.cli.doctor.findings`).
"""
