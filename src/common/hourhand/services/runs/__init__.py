"""Durable runs: invocations over a journal, signals, callbacks, compensation, views."""
