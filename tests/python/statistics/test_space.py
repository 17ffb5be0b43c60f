from mpiric.model.configuration import Configuration
from mpiric.statistics.space import Dimension, SearchSpace

EAGER = Dimension("eager", ("4KiB", "64KiB", "1MiB"))
BINDING = Dimension("binding", ("core", "socket"), 0.9, try_first=("socket",))


def test_points_and_configurations_belong_together() -> None:
    space = SearchSpace((BINDING, Dimension("pages", ("thp",))))
    for point in ((0, 0), (1, 0), (2, 1)):
        assert space.point(space.configuration(point)) == point
    assert space.configuration((0, 0)) == Configuration()
    assert space.size == 6


def test_a_configuration_outside_the_space_is_not_a_point_of_it() -> None:
    assert SearchSpace((EAGER,)).point(Configuration.of({"eager": "3KiB"})) is None
    assert SearchSpace((EAGER,)).point(Configuration.of({"binding": "core"})) is None


def test_the_most_promising_factor_and_its_best_guess_come_first() -> None:
    factor = SearchSpace((EAGER, BINDING)).factors[0]
    assert factor.knob == "binding"
    assert factor.values[factor.order[0]] == "socket"


def test_sizes_are_known_to_have_neighbours_and_words_are_not() -> None:
    eager, binding = SearchSpace((EAGER,)).factors[0], SearchSpace((BINDING,)).factors[0]
    assert eager.ordered
    assert not binding.ordered


def test_a_knob_without_values_is_left_out() -> None:
    assert SearchSpace((Dimension("none", ()),)).factors == ()
