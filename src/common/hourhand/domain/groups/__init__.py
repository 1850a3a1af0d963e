"""A group of jobs that share room: overlap policies, slots and admission."""
