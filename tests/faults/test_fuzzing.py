"""Random spaces, random tells and random damage to saved files: nothing breaks, nothing is lost."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import dcmaes as dc

FUZZ = settings(
    max_examples=40,
    phases=[Phase.explicit, Phase.generate],  # an example is short enough; shrinking one takes minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
FINITE = st.floats(-1e9, 1e9, allow_subnormal=False)


@st.composite
def variables(draw):
    kind = draw(st.sampled_from(["binary", "integer", "log", "ordinal", "categorical", "float"]))
    if kind == "binary":
        return dc.Binary()
    if kind == "integer":
        low = draw(st.integers(-(10**6), 10**6))
        return dc.Integer(low, low + draw(st.integers(0, 10**6)), periodic=draw(st.booleans()))
    if kind == "log":
        low = draw(st.integers(1, 1000))
        return dc.Integer(low, low + draw(st.integers(0, 10**9)), log=True)
    if kind == "float":
        low = draw(FINITE)
        return dc.Float(low, low + draw(st.floats(0, 1e6)))
    values = draw(
        st.lists(st.one_of(st.integers(), st.text(max_size=5)), min_size=1, max_size=9, unique=True)
    )
    return dc.Ordinal(values) if kind == "ordinal" else dc.Categorical(values)


SPACES = st.dictionaries(st.text(min_size=1, max_size=8), variables(), min_size=1, max_size=6).map(dc.Space)
TOLD = st.one_of(
    st.floats(),
    st.integers(),
    st.none(),
    st.text(max_size=5),
    st.booleans(),
    st.builds(ValueError, st.text(max_size=900)),
    st.builds(dc.Outcome, st.one_of(st.none(), st.floats()), st.floats()),
    st.lists(st.floats(), max_size=3).map(np.array),
)


def number_in(told):
    told = told.value if isinstance(told, dc.Outcome) else told
    return told.item() if isinstance(told, np.ndarray) else float(told)


@FUZZ
@given(space=SPACES, data=st.data(), strategy=st.sampled_from(["auto", "cma", "random"]))
def test_any_tells_in_any_space(tmp_path, space, data, strategy):
    path = tmp_path / "run.db"
    for suffix in ("", "-lock", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    duplicates = data.draw(st.sampled_from(["cache", "reevaluate", "allow"]))
    opt = dc.Optimizer(space, budget=25, seed=1, strategy=strategy, duplicates=duplicates, store=path)
    told = {}
    with opt:
        while opt.should_stop() is None and len(told) < 25:
            opt.ask(data.draw(st.integers(1, 7)))
            out = data.draw(st.permutations(opt.pending))
            for trial in out[: data.draw(st.integers(1, 7))]:
                assert space.contains(trial.point)
                told[trial.id] = data.draw(TOLD)
                opt.tell(trial, told[trial.id])
    result = opt.result()
    assert result.history.ids.tolist() == list(told)
    assert result.nfev == len(told)
    assert all((r.status == "failed") == (r.violation == math.inf) for r in result.history)
    sound = [r for r in result.history if r.status == "ok"]
    assert [r.value for r in sound] == [number_in(told[r.id]) for r in sound]
    if sound and duplicates != "reevaluate":
        assert result.fun == min(r.value for r in sound)
    again = dc.store.read(path)
    assert repr(list(again.history)) == repr(list(result.history))
    with dc.Optimizer(
        space, budget=25, seed=1, strategy=strategy, duplicates=duplicates, store=path
    ) as resumed:
        assert [(t.id, t.point) for t in resumed.pending] == [(t.id, t.point) for t in opt.pending]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "run"
    space = dc.Space({"n": dc.Integer(-9, 9), "act": dc.Categorical(["relu", "gelu"]), "lr": dc.Float(0, 1)})
    opt = dc.Optimizer(space, budget=100, seed=0, strategy="cma")
    opt.tell(opt.ask(12), [float(i % 5) for i in range(12)])
    opt.ask(3)
    opt.save(path)
    return path


@FUZZ
@given(data=st.data())
def test_damaged_saved_files(tmp_path, saved, data):
    content = bytearray(saved.read_bytes())
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        for _ in range(data.draw(st.integers(1, 5))):
            content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path = tmp_path / "run"
    path.write_bytes(content)
    try:
        opt = dc.Optimizer.load(path)
    except dc.store.StoreError as error:  # and no other kind
        message = str(error)
        assert str(path) in message
    else:
        assert opt.n_evaluations == 12
    assert path.read_bytes() == bytes(content)
