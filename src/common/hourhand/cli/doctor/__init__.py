"""``hourhand doctor``: looks at a deployment and says what to mend.

One module a thing that is looked at: each asks AWS (`hourhand.cli.doctor.asking`) and hands the
answer to pure functions, ``judge_...``, which return findings (`hourhand.cli.doctor.findings`).
"""
