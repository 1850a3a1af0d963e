"""``hourhand quotas``: how many jobs a tenant or a caller may submit and have."""
