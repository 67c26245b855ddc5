"""What users of the optimizer rely on: public names, arguments, and that the guide says what happens."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path

import dcmaes
import dcmaes.optimizer
import dcmaes.strategies

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "ask-and-tell.md"
SEARCH = ["x0", "constraints", "time_limit", "target", "duplicates", "on_error", "callbacks"]


def keywords(function):
    return {name for name, p in inspect.signature(function).parameters.items() if p.kind is p.KEYWORD_ONLY}


def test_public_names():
    assert sorted(dcmaes.optimizer.__all__) == [
        *(
            "Distribution",
            "EvaluationError",
            "History",
            "Interaction",
            "Optimizer",
            "Outcome",
            "Record",
            "Result",
        ),
        *("StopReason", "Trial", "maximize", "minimize"),
    ]
    shown = set(dcmaes.optimizer.__all__) - {"Distribution", "History", "Record"}
    for name in shown:
        assert name in dcmaes.__all__
        assert getattr(dcmaes, name) is getattr(dcmaes.optimizer, name)


def test_arguments():
    assert keywords(dcmaes.Optimizer) == {"budget", "seed", "strategy", "direction", *SEARCH}
    for function in (dcmaes.minimize, dcmaes.maximize):
        parallel = {"executor", "workers", "batch_size", "progress"}
        assert keywords(function) == {"budget", "seed", "strategy", *SEARCH, *parallel}
        assert list(inspect.signature(function).parameters)[:2] == ["objective", "space"]


def test_public_names_of_an_optimizer():
    public = {name for name in vars(dcmaes.Optimizer) if not name.startswith("_")}
    assert public == {
        *("space", "budget", "n_evaluations", "pending", "best", "history"),
        *("ask", "tell", "should_stop", "result", "save", "load"),
    }


def test_every_strategy_is_a_name_of_the_package():
    assert {"auto", "cma", "paper", "random"} >= set(dcmaes.strategies.strategy_names())
    for name in ("Cma", "Paper", "RandomSearch"):
        assert getattr(dcmaes.strategies, name).__name__ == name
    assert dcmaes.strategies.make_strategy("auto").name == "cma"


def test_importing_loads_nothing_slow():
    slow = "scipy.stats scipy.optimize pandas matplotlib pytest concurrent.futures.process"
    code = f"import sys, dcmaes; print([name for name in {slow.split()} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_guide_runs():
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, GUIDE.name, str(GUIDE), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert len(test.examples) > 20
    assert runner.run(test).failed == 0
