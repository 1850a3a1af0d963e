"""``hourhand calendars``: put, look at and delete sets of exclusions that schedules share."""
