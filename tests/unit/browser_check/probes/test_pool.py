"""Pools: their file, which of them are live, and what choosing keeps."""

import gzip
import json
import os
import stat

import pytest

from agentgate.browser_check.probes.generate import family_of, make_program
from agentgate.browser_check.probes.pool import (
    FILE_SUFFIX,
    LOOK_MS,
    SHIPPED,
    AnsweredProgram,
    Pool,
    PoolRefused,
    Pools,
    read_pool,
    write_pool,
)
from agentgate.lib.clock import DAY_MS
from agentgate_tools.probe_making.browsers import Run
from agentgate_tools.probe_making.make import (
    agreed,
    choose,
    join,
    middle_of,
    narrowed,
    programs_of,
    widened,
)

SEED = b"s" * 32


def a_pool(**fields):
    programs = {
        7: AnsweredProgram(7, "deep", {"": (1, -2, 300)}),
        3: AnsweredProgram(3, "floats", {"blink": (1,), "gecko": (2,)}),
    }
    return Pool(**{"seed": SEED, "made": "2026-11-17", "seen": {"blink": (108, 156)}, "programs": programs, **fields})


def test_a_pool_is_read_as_it_was_written_and_only_its_owner_reads_it(tmp_path):
    path = tmp_path / f"a{FILE_SUFFIX}"
    write_pool(path, a_pool())

    assert read_pool(path) == a_pool()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_file_has_the_documented_form(tmp_path):
    path = tmp_path / f"a{FILE_SUFFIX}"
    write_pool(path, a_pool())
    written = json.loads(gzip.decompress(path.read_bytes()))

    assert written == {
        "format": 1,
        "generator": 1,
        "seed": SEED.hex(),
        "made": "2026-11-17",
        "seen": {"blink": [108, 156]},
        "programs": [[7, "deep", "AQD+/ywB"], [3, "floats", {"blink": "AQA=", "gecko": "AgA="}]],
    }


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"generator": 99}, "another release"),
        ({"seed": "00"}, "shorter than"),
        ({"programs": [[7, "grid", "AQA="]]}, "family"),
        ({"programs": [[7, "deep", "A"]]}, "cannot be read"),
        ({"programs": [[7, "deep", {"presto": "AQA="}]]}, "engine"),
        ({"programs": 5}, "not a probe pool"),
    ],
)
def test_a_file_that_is_not_a_pool_is_rejected_with_a_reason(tmp_path, change, says):
    path = tmp_path / f"a{FILE_SUFFIX}"
    write_pool(path, a_pool())
    written = json.loads(gzip.decompress(path.read_bytes()))
    path.write_bytes(gzip.compress(json.dumps({**written, **change}).encode()))

    with pytest.raises(PoolRefused, match=says):
        read_pool(path)


def test_versions_between_those_that_were_seen_count_as_seen():
    pool = a_pool()

    assert [pool.has_seen("blink", version) for version in (107, 108, 130, 156, 157, None)] == [
        *(False, True, True, True, False, False)
    ]
    assert not pool.has_seen("webkit", 17)
    assert not pool.has_seen(None, 156)


def test_the_shipped_pool_serves_where_there_is_no_other():
    pools = Pools(None)

    assert pools.live(0) == [pools.shipped]
    assert pools.shipped.shipped
    assert len(pools.shipped.by_family["deep"]) > 1000
    assert len(pools.shipped.by_family) == 8
    assert SHIPPED.stat().st_size < 128 * 1024


def test_own_pools_are_preferred_and_the_older_of_two_retires_after_a_day(tmp_path):
    now_ms = 10 * DAY_MS
    for name, seed, age_ms in (("old", b"a", DAY_MS), ("older", b"b", 2 * DAY_MS), ("new", b"c", 1000)):
        path = tmp_path / f"{name}{FILE_SUFFIX}"
        write_pool(path, a_pool(seed=seed * 32))
        os.utime(path, ns=((now_ms - age_ms) * 1_000_000,) * 2)
    pools = Pools(tmp_path)

    assert [pool.seed[:1] for pool in pools.live(now_ms)] == [b"c", b"a"]
    assert [pool.seed[:1] for pool in pools.live(now_ms + DAY_MS)] == [b"c"]
    (tmp_path / f"new{FILE_SUFFIX}").unlink()
    assert [pool.seed[:1] for pool in pools.live(now_ms)] == [b"a"]


def test_a_broken_file_is_omitted_and_a_new_one_found_within_a_minute(tmp_path):
    (tmp_path / f"broken{FILE_SUFFIX}").write_bytes(b"nothing")
    pools = Pools(tmp_path)
    assert pools.live(0)[0].shipped

    write_pool(tmp_path / f"own{FILE_SUFFIX}", a_pool())
    assert pools.live(LOOK_MS - 1)[0].shipped
    assert pools.live(LOOK_MS)[0].seed == SEED


def run(answers, engine="blink", version=156):
    return Run(engine=engine, zoom=1, version=version, answers=answers)


def test_what_all_runs_agree_on_is_kept_and_its_middle_is_the_result():
    programs = programs_of(SEED, range(7, 8)) * 3
    first = [[100, 200, 300], [100, 200, 300], [0, 1, 2]]
    second = [[104, 200, 308], [100, 200, 309], [0, 1, 2]]
    pool = choose(SEED, programs, [run(first), run(second, "gecko", 140)], made="2026-11-17")

    # A program's number is its index. A difference of 9/16 px is too much, and an empty result shows nothing.
    assert {number: known.answers for number, known in pool.programs.items()} == {0: {"": (102, 200, 304)}}
    assert pool.seen == {"blink": [156], "gecko": [140], "webkit": []}


def test_where_only_engines_differ_each_has_its_result_if_wanted():
    programs = programs_of(SEED, range(7, 8))
    runs = [run([[100, 200, 300]]), run([[900, 200, 300]], "gecko", 140)]

    assert not choose(SEED, programs, runs, made="").programs
    kept = choose(SEED, programs, runs, made="", apart=True).programs[0]
    assert (kept.answer_of("blink"), kept.answer_of("gecko")) == ((100, 200, 300), (900, 200, 300))
    assert kept.answer_of("webkit") is None


def test_a_joined_pool_loses_what_the_other_browsers_result_otherwise():
    answer = {"": (100, 200, 300)}
    pool = a_pool(programs={number: AnsweredProgram(number, family_of(number), answer) for number in (7, 8, 9)})
    joined = join(pool, [run([[103, 200, 300], [100, 200, 310], [100, 200]], version=170)], [7, 8, 9])

    assert list(joined.programs) == [7]
    assert joined.seen["blink"] == [108, 156, 170]


@pytest.mark.parametrize("number", [4, 6])
def test_points_with_an_edge_nearby_are_not_kept(number):
    program = make_program(SEED, number)
    asked = widened(program)[1]
    own, around = (6, 24) if number == 4 else (19, 11 + 32)
    steady = [16] * own + ([16] * around if number == 4 else [0] * 11 + [16] * 32)

    assert len(asked) == 2
    assert narrowed(program, steady) == (16,) * own
    assert narrowed(program, [*steady[:-1], 0]) is None


def test_results_of_different_lengths_or_too_large_are_not_kept():
    assert middle_of([(1, 2), (1,)]) is None
    assert middle_of([(40_000,)]) is None
    assert middle_of([]) is None
    assert agreed(make_program(SEED, 7), [run([None])], 0) is None
