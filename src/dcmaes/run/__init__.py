"""A run as data and rules: what was evaluated, which points are handed out, when it is over, what it found.

Nothing here knows files or processes: `dcmaes.store` writes runs to files, `dcmaes.optimizer` drives them.
"""
