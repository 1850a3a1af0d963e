"""The benchmarks: figures that users pay for, each counted or measured in one run."""
