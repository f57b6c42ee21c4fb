"""Invalid input raises an error that says what is expected; everything that NumPy users expect to work does."""

from __future__ import annotations

import numpy as np
import pytest

import anyk

GOOD = [60.0, 90.0, 240.0]


@pytest.mark.parametrize(
    "given",
    [
        GOOD,
        tuple(GOOD),
        np.array(GOOD, dtype=np.float32),
        np.array(GOOD, dtype=int),
        np.array(GOOD, dtype=">f8"),
        np.repeat(GOOD, 2)[::2],
        np.array([GOOD, GOOD]).T[:, 0],
        np.ma.masked_array(GOOD),
        np.array(GOOD, dtype=object),
    ],
    ids=["list", "tuple", "float32", "int", "big-endian", "strided", "column", "unmasked", "object"],
)
def test_is_taken(given: object) -> None:
    total = anyk.Urllc(np.array(GOOD)).solve().total_bandwidth_hz
    assert anyk.Urllc(given).solve().total_bandwidth_hz == pytest.approx(total, rel=1e-6)


def test_read_only_is_taken_and_nothing_is_written() -> None:
    given = np.array(GOOD)
    given.flags.writeable = False
    assert anyk.Urllc(given).solve().status == "optimal"
    assert given.tolist() == GOOD


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([60.0, float("nan")], r"user 1: distance_m is NaN, expected"),
        ([60.0, float("inf")], r"user 1: distance_m is inf, expected"),
        ([-60.0], r"user 0: distance_m is -60, expected"),
        ([], "distances_m is empty, expected at least one user"),
        (np.zeros((2, 3)), r"shape \(2, 3\), expected one number for each user; anyk.cells"),
        (["a"], "distances_m"),
        ("60", "distances_m"),
        ([1 + 2j], "complex"),
        ([[60.0], [60.0, 90.0]], "distances_m"),
        ([None], "distance_m is NaN"),
        ({"a": 1}, "distances_m"),
        (np.ma.masked_array(GOOD, mask=[0, 1, 0]), "masked"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), "dtype"),
        (object(), "distances_m"),
    ],
)
def test_is_refused(given: object, says: str) -> None:
    with pytest.raises(anyk.InputError, match=says):
        anyk.Urllc(distances_m=given)


class OnGpu:
    """Imitation of a tensor on a GPU."""

    class device:
        type = "cuda"

        def __repr__(self) -> str:
            return "cuda:0"

    device = device()  # type: ignore[assignment, misc]

    def __array__(self, dtype: object = None, copy: object = None) -> None:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")


def test_a_tensor_on_a_gpu_is_refused() -> None:
    with pytest.raises(anyk.InputError, match=r"on cuda:0, expected numbers in main memory: use .cpu\(\)"):
        anyk.Urllc(distances_m=OnGpu())


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"max_power": 3}, "max_power does not apply to urllc; remove it"),
        ({"max_power_dbm": float("nan")}, "max_power_dbm is NaN, expected"),
        ({"max_power_dbm": 1e9}, "max_power_dbm is 1000000000, expected"),
        ({"max_power_dbm": "a lot"}, "max_power_dbm is a lot, expected a number"),
        ({"max_power_dbm": object()}, "max_power_dbm is of the type object"),
        ({"epsilon": 3.0}, "epsilon is 3, expected a probability"),
        ({"epsilon": [1e-5, 1e-5]}, "epsilon has 2 numbers, expected 3"),
        ({"gains": [0.5] * 3}, "distances_m and gains are given, expected only one of them"),
        ({"epsilon": [1e-5, float("nan"), 1e-5]}, "user 1: epsilon is NaN, expected a finite number"),
        ({"path_loss": "none"}, "path_loss is none, expected"),
    ],
)
def test_options_are_refused_by_their_names(options: dict[str, object], says: str) -> None:
    with pytest.raises(anyk.InputError, match=says):
        anyk.Urllc(distances_m=GOOD, **options)


@pytest.mark.parametrize(
    ("gains", "says"),
    [
        (np.ones((2, 3)), r"the shape of gains is \[2, 3\], expected \[K, K\]"),
        (np.ones(3), r"the shape of gains is \[3\], expected \[K, K\]"),
        ([[1.0, -1.0], [0.0, 1.0]], "row 0, column 1: the gain is -1, expected"),
        ([[1.0, float("nan")], [0.0, 1.0]], r"gains\[0\]\[1\] is NaN, expected a finite number"),
        (np.ones((0, 0)), r"the shape of gains is \[0, 0\], expected \[K, K\], not empty"),
    ],
)
def test_gains_of_links_are_refused(gains: object, says: str) -> None:
    with pytest.raises(anyk.InputError, match=says):
        anyk.Interference(gains)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (3, "expected power_w, bandwidth_hz"),
        (None, "expected power_w, bandwidth_hz"),
        (([1.0, 2.0, 3.0],), "1 parts, expected 2"),
        (np.ones(3), r"the result is one array, expected 2 arrays \(power_w, bandwidth_hz\)"),
        ([1.0, 2.0, 3.0], "the result is one array, expected 2 arrays"),
        ({"power_w": [1.0] * 3}, "lacks bandwidth_hz"),
        (([1.0] * 2, [1.0] * 3), r"power_w has the shape \(2,\), expected \(3,\)"),
        (([1.0, 1.0, float("nan")], [1e5] * 3), 'the power_w of user "2" is NaN, expected a finite number'),
        (([1.0, 1.0, -1.0], [1e5] * 3), 'the power_w of user "2" is -1, expected a number from 0 to 1e15'),
        (("a", "b"), "power_w"),
    ],
)
def test_answers_are_refused(answer: object, says: str) -> None:
    cell = anyk.Urllc(GOOD)
    with pytest.raises(anyk.InputError, match=says):
        cell.judge(answer)


def test_other_calls_refuse_what_has_no_meaning() -> None:
    cell = anyk.Urllc(GOOD)
    for call, says in [
        (lambda: anyk.sample("urllc", 0), "k is 0, expected"),
        (lambda: anyk.sample("urllc", 5, count=0), "count is 0, expected"),
        (lambda: anyk.sample("urllc", 5, colour="red"), "colour does not apply"),
        (lambda: anyk.sample("nothing", 5), "expected one of urllc"),
        (lambda: anyk.sample("urllc", 10_000_000, count=100_000), "count is 100000, expected at most 10 with K"),
        (lambda: anyk.train("nothing"), "expected one of urllc"),
        (lambda: anyk.train("urllc", method="magic"), "method is magic, expected"),
        (lambda: anyk.train("urllc", train_k=0), "train_k is 0, expected"),
        (lambda: anyk.study("table99"), "expected one of table1"),
        (lambda: anyk.study("table1", effort="none"), "expected trial, usual or full"),
        (lambda: anyk.evaluate({"mine": 3}, problem="urllc"), "expected a function of a cell"),
        (lambda: anyk.evaluate(["equal-power"], problem="urllc"), "policies is of the type list, expected .* a dict of policies"),
        (lambda: anyk.evaluate("equal-power", cells={"distance_m": GOOD}), "anyk.from_table"),
        (lambda: anyk.train(lambda u: -u), "of the type function, expected the name of a problem, .*, or an anyk.Separable"),
        (lambda: anyk.Urllc(gains=[-100.0]), "pass gains in dB as gains_db"),
        (lambda: anyk.from_table({"gain": [-100.0]}), "in a table, gain_db"),
        (lambda: anyk.evaluate({"mine": None}, problem="urllc", sizes=[3], samples=2), "is not a policy of urllc"),
        (lambda: anyk.evaluate({"mine": lambda cell: 0}), "problem is missing"),
        (lambda: anyk.diagnose("no-such-policy"), "expected one of urllc-power"),
        (lambda: anyk.diagnose({"k": [1]}), "lack x, y"),
        (lambda: anyk.diagnose(lambda cell: 3), "problem is missing"),
        (lambda: anyk.diagnose(lambda cell: ([1.0], [1.0]), problem="urllc"), r"shape \(1,\), expected"),
        (lambda: anyk.Interference([[1.0]], trace=True), "trace does not apply"),
        (lambda: anyk.cells("urllc", distances_m=np.array(GOOD)), "expected one row per cell"),
        (lambda: anyk.cells("urllc", distances_m=GOOD), r"distances_m\[0\] has the shape \(\)"),
        (lambda: anyk.cells("urllc"), "none of distances_m, gains, .* is given, expected one of them"),
        (lambda: anyk.Urllc(), "none of distances_m, gains, .* is given, expected one of them"),
        (lambda: anyk.Urllc(epsilon=1e-5), "none of distances_m, gains, .* is given, expected one of them"),
        (lambda: anyk.Urllc(60.0, epsilon=[1e-5, 1e-6]), "epsilon has 2 numbers, expected 1"),
        (lambda: anyk.Interference(np.eye(2), noise=[1.0] * 3), "the number of values of noise is 3, expected 2"),
        (lambda: anyk.cells("urllc", distances_m=[]), "at least one cell"),
        (lambda: anyk.cells("urllc", distances_m=[[60.0], []]), r"distances_m\[1\] is empty, expected at least one user"),
        (lambda: anyk.cells("urllc", distances_m=np.ones((2, 0))), "at least one cell and one user"),
        (lambda: anyk.cells("urllc", distances_m=[[60.0], [-1.0]]), "cell 1: user 0: distance_m is -1"),
        (lambda: anyk.read("urllc", b"nothing"), "expected"),
        (lambda: cell.reordered([0, 0, 1]), "each number from 0 to 2 once"),
        (lambda: anyk.required_bandwidth([float("nan")]), r"received_w\[0\]"),
        (lambda: anyk.cells("urllc", distances_m=[GOOD]).solve(infeasible="no"), '"raise" or "zero"'),
    ]:
        with pytest.raises(anyk.InputError, match=says):
            call()


@pytest.mark.parametrize(
    "value",
    [-1, 10**5000, 1.5, True, "3"],
    ids=["negative", "enormous", "fraction", "bool", "text"],
)
def test_what_is_no_whole_number_is_refused_by_the_name_of_its_argument(price_policy: anyk.Model, value: object) -> None:
    def optimum(**given: object) -> None:
        anyk.evaluate({"optimum": None}, problem="urllc", **{"sizes": [2], "samples": 2, **given})

    calls = [
        ("sizes", lambda: optimum(sizes=[value])),
        ("samples", lambda: optimum(samples=value)),
        ("seed", lambda: optimum(seed=value)),
        ("seeds", lambda: optimum(seeds=[1, value])),
        ("sizes", lambda: price_policy.evaluate([value])),
        ("samples", lambda: price_policy.evaluate([2], samples=value)),
        ("seed", lambda: price_policy.evaluate([2], samples=2, seed=value)),
        ("k", lambda: price_policy.calibrate([value])),
        ("cells", lambda: price_policy.calibrate([2], cells=value)),
        ("seed", lambda: price_policy.calibrate([2], seed=value)),
        ("sizes", lambda: anyk.diagnose("urllc-power", sizes=[value])),
        ("train_k", lambda: anyk.diagnose("urllc-power", train_k=value)),
        ("seed", lambda: anyk.diagnose("urllc-power", seed=value)),
        ("train_k", lambda: anyk.train("urllc", train_k=[10, value])),
        ("order", lambda: anyk.Urllc([60.0]).reordered([value])),
        ("users", lambda: anyk.diagnose("urllc-power", users=value)),
        ("trainings", lambda: anyk.study("table1", trainings=value)),
    ]
    for name, call in calls:
        with pytest.raises(anyk.InputError, match=rf"^{name}.*, expected|^order: expected"):
            call()
    # The compiled module checks the values of options.
    if value in (-1, 10**5000, 1.5):
        for call in (
            lambda: anyk.sample("urllc", value),
            lambda: anyk.sample("urllc", 2, count=value),
            lambda: anyk.sample("urllc", 2, seed=value),
            lambda: anyk.train("urllc", train_k=value),
        ):
            with pytest.raises(anyk.InputError, match="(is|has) .*, expected"):
                call()


def test_sizes_and_places_of_numbers_are_named() -> None:
    with pytest.raises(anyk.InputError, match=r"^sizes\[1\] is -1, expected a whole number from 1 to 2\*\*64 - 1$"):
        anyk.evaluate({"optimum": None}, problem="urllc", sizes=[1, -1])
    with pytest.raises(anyk.InputError, match=r"^sizes is 3, expected a list of whole numbers$"):
        anyk.evaluate({"optimum": None}, problem="urllc", sizes=3)
    with pytest.raises(anyk.InputError, match=r"^sizes\[0\] is 0, expected"):
        anyk.evaluate({"optimum": None}, problem="urllc", sizes=[0])


def test_whole_numbers_of_numpy_are_taken() -> None:
    found = anyk.evaluate({"optimum": None}, problem="urllc", sizes=np.array([2]), samples=np.int64(2), seed=np.uint64(3))
    assert list(found["k"]) == [2, 2]


def test_a_damaged_model_is_refused(price_policy: anyk.Model, tmp_path: object) -> None:
    from pathlib import Path

    path = Path(str(tmp_path)) / "model.safetensors"
    content = price_policy.to_bytes()
    for damaged in (b"", content[:100], content[:-1], content[:60] + b"x" + content[61:]):
        path.write_bytes(damaged)
        with pytest.raises(anyk.InputError, match="model.safetensors: "):
            anyk.load(path)
    with pytest.raises(FileNotFoundError):
        anyk.load(Path(str(tmp_path)) / "none.safetensors")
    with pytest.raises(OSError, match="cannot write"):
        price_policy.save(Path(str(tmp_path)) / "no-folder" / "model.safetensors")
