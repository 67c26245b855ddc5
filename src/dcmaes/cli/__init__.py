"""The command line: ``dcmaes minimize SPEC.toml`` and its companions."""
