"""The composition root: settings in, wired services out. No other module imports concrete adapters.

Each function wires only what it needs, so that its cold start imports only that.
"""
