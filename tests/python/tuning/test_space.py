from mpiric.model.configuration import Configuration
from mpiric.tuning.space import Dimension, Space

EAGER = Dimension("eager", ("4KiB", "64KiB", "1MiB"), moves_with=("buffer",))
BUFFER = Dimension("buffer", ("8KiB", "128KiB", "2MiB"), 0.4, "many middling messages")
BINDING = Dimension("binding", ("core", "socket"), 0.9, "ranks wander", try_first=("socket",))


def test_points_and_configurations_belong_together() -> None:
    space = Space((BINDING, Dimension("pages", ("thp",))))
    for point in ((0, 0), (1, 0), (2, 1)):
        assert space.point(space.configuration(point)) == point
    assert space.configuration((0, 0)) == Configuration()
    assert space.size == 6


def test_knobs_that_move_together_are_one_factor() -> None:
    space = Space((EAGER, BUFFER, BINDING))
    assert [factor.knobs for factor in space.factors] == [("binding",), ("eager", "buffer")]
    assert all(len(level) == 2 for level in space.factors[1].levels)


def test_one_of_knobs_that_move_together_is_no_point_of_the_space() -> None:
    assert Space((EAGER, BUFFER)).point(Configuration.of({"eager": "4KiB"})) is None


def test_moving_with_a_knob_that_is_not_there_is_moving_alone() -> None:
    assert Space((EAGER,)).factors[0].knobs == ("eager",)


def test_large_groups_keep_levels_of_like_size() -> None:
    values = tuple(f"{1 << power}KiB" for power in range(10))
    space = Space((Dimension("a", values, moves_with=("b",)), Dimension("b", values)))
    levels = [dict(level) for level in space.factors[0].levels]
    assert len(levels) == 24
    assert {"a": values[0], "b": values[0]} in levels
    assert {"a": values[0], "b": values[9]} not in levels


def test_the_most_promising_factor_and_its_best_guess_come_first() -> None:
    factor = Space((EAGER, BINDING)).factors[0]
    assert factor.knobs == ("binding",)
    assert factor.levels[factor.order[0]] == (("binding", "socket"),)


def test_sizes_are_known_to_have_neighbours_and_words_are_not() -> None:
    eager, binding = Space((EAGER,)).factors[0], Space((BINDING,)).factors[0]
    assert eager.ordered
    assert not binding.ordered


def test_a_knob_without_values_is_left_out() -> None:
    assert Space((Dimension("none", ()),)).factors == ()


def test_reasons_are_given_for_what_is_set() -> None:
    space = Space((BINDING, BUFFER))
    assert space.reasons(Configuration.of({"binding": "core"})) == {"binding": "ranks wander"}
