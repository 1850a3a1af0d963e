"""A lean client for the few calls that a sweep makes by the thousand.

botocore takes 1.4 ms of CPU for a call and 18 ms to read a page of an index, since it walks a
model of the service each time. This client speaks the same protocol for the few operations that
it names, and does no more: it signs, sends over a connection that stays open, tries again what
may help, and raises botocore's own exceptions, so that its callers do not know which of the two
they hold. Endpoint, Region, credentials, timeouts and the number of tries are taken from the
boto3 client that it stands in for; where something about that client asks for more (a proxy),
the boto3 client itself goes on to be used.
"""

from hourhand.aws.lean._client import Failure, LeanClient, NotLean, lean_or_same
from hourhand.aws.lean._round import Flight

__all__ = ["Failure", "Flight", "LeanClient", "NotLean", "lean_or_same"]
