"""The oldest boto3 and botocore that Hourhand is tested with.

Their versions have the same first two numbers. With an older one the functions still work, as far
as that one has the calls that they make: `hourhand.aws.clients` replaces what of ours it cannot
carry. Packing refuses it, and ``hourhand doctor`` warns of it.
"""

from __future__ import annotations

import re

OLDEST = (1, 40)
OLDEST_TEXT = ".".join(map(str, OLDEST))

_RELEASE = re.compile(r"(\d+)\.(\d+)")


def is_too_old(version: str) -> bool:
    """Whether a version of boto3 or botocore, such as ``1.40.3``, is below the oldest.

    One that is not written in that way is not judged.
    """
    found = _RELEASE.match(version)
    return found is not None and (int(found[1]), int(found[2])) < OLDEST
