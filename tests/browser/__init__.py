"""The console in a real browser. A package, so that its tests can share what a package has."""
