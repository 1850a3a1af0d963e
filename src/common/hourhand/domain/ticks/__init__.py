"""A tick: buckets, the watermark, leases, clock skew and every default duration."""
