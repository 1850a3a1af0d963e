"""How the command tells things: texts made harmless, times, tables, JSON lines, progress."""
