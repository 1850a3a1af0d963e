"""``hourhand calendars``: create, list and delete sets of exclusions that schedules share."""
