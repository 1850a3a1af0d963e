"""``hourhand doctor``: its flags and its help."""

from __future__ import annotations

from hourhand.cli.connection import DeploymentFlags
from hourhand.cli.exits import DONE, FAILED, NO_ACCESS, NOT_FOUND
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb


@verb(
    example="hourhand doctor --stack hourhand-prod --profile operations",
    codes={
        DONE: "no check failed (warnings are allowed)",
        FAILED: "a check failed",
        NOT_FOUND: "no check failed, but at least one is UNKNOWN",
        **NO_ACCESS,
    },
    asks_api=False,
    tells_times=False,
)
def doctor(session: Session, deployment: DeploymentFlags) -> int:
    """Check a deployment and print how to fix each problem.

    It checks the credentials, this machine's clock, the stack, the drift of its resources, the
    queues, the functions, their versions, the tick rule and the event sources, the last tick, the
    scheduler's clock, dead jobs, shards that DynamoDB throttles and the API. Drift is the
    difference between a resource and the stack's template: CloudFormation detects it, which takes
    up to five minutes. Everything else takes half a minute. The command changes nothing.

    Each check prints lines that begin with OK, WARNING (it works, but look at it), FAILED, SKIPPED
    (the check could not run, for a reason outside the deployment) or UNKNOWN (the check could not
    run, and a working deployment depends on its result). The line below says what to do. Without
    credentials or a network nothing is checked, and the command says only what is missing.
    """
    from hourhand.cli.doctor.run import run_doctor

    return run_doctor(session, deployment)
