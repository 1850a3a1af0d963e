"""``hourhand doctor``: checks a deployment and prints how to fix each problem.

One module a thing that is checked: each asks AWS (`hourhand.cli.doctor.asking`) and hands the
answer to pure functions, ``judge_...``, which return findings (`hourhand.cli.doctor.findings`).
"""
