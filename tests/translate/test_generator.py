"""The translation between ABI families is what the spec says, for every function."""

from dataclasses import replace

import pytest
from tools.generate.mpi.load import Function, Parameter, read_functions
from tools.generate.translate import emit, narrow, repair, values
from tools.generate.translate.extent import extent
from tools.generate.translate.load import (
    FAMILIES,
    Family,
    read_exceptions,
    read_family,
    read_repairs,
    read_roles,
)
from tools.generate.translate.render import how

FUNCTIONS = {function.name: function for function in read_functions()}
ROLES = read_roles()


def body(name: str) -> str:
    return emit.translated(FUNCTIONS[name], ROLES)


def test_every_exception_is_a_function_with_a_reason():
    exceptions = read_exceptions()
    named = exceptions.by_hand | exceptions.refused.keys()
    assert named <= FUNCTIONS.keys()
    assert all(exceptions.reason(name) for name in named)


def test_a_function_is_not_both_written_by_hand_and_refused():
    exceptions = read_exceptions()
    assert not exceptions.by_hand & exceptions.refused.keys()


def test_no_function_with_a_callback_is_generated():
    kinds = {
        "FUNCTION",
        "POLYFUNCTION",
        "EVENT_CB_FUNCTION",
        "EVENT_DROP_CB_FUNCTION",
        "EVENT_FREE_CB_FUNCTION",
    }
    calling = {f.name for f in FUNCTIONS.values() if any(p.kind in kinds for p in f.parameters)}
    assert {how(FUNCTIONS[name], read_exceptions()) for name in calling} == {"by hand"}


def test_the_types_of_an_ialltoallw_are_kept_and_not_read_in_place():
    assert "sendtypes_(sendbuf == program::in_place ? nullptr : sendtypes, peers(comm), true)" in body(
        "MPI_Ialltoallw"
    )


def test_a_blocking_alltoallw_keeps_nothing():
    assert ", true)" not in body("MPI_Alltoallw")


def test_both_types_of_neighbours_have_the_number_of_their_side():
    text = body("MPI_Neighbor_alltoallw")
    assert "sendtypes_(sendtypes, neighbours<true>(comm))" in text
    assert "recvtypes_(recvtypes, neighbours<false>(comm))" in text


def test_a_rank_that_comes_back_is_the_programs():
    assert "value = to_program_rank(value)" in body("MPI_Cart_shift")


def test_an_array_whose_length_nothing_says_is_an_error():
    strange = Function("MPI_Strange", "9.0", "int", (Parameter("MPI_Request requests[]", "REQUEST", "in"),))
    with pytest.raises(ValueError, match="how long is requests"):
        extent(strange, "requests")


@pytest.mark.parametrize("role", [*ROLES.values, *ROLES.bits])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_constants_of_a_role_are_told_apart_in_each_family(family, role):
    numbers = read_family(family).integers
    constants = [numbers[name] for name in {**ROLES.values, **ROLES.bits}[role] if name in numbers]
    assert len(constants) == len(set(constants))


def test_undefined_is_the_same_everywhere():
    assert {read_family(name).integers["UNDEFINED"] for name in FAMILIES} == {-32766}


def test_the_null_handle_leads_its_class():
    first_names: dict[str, str] = {}
    for kind, name in values.predefined_names([read_family(family) for family in FAMILIES]):
        first_names.setdefault(kind, name)
    assert all(name.endswith("_NULL") for name in first_names.values())


def test_mpichs_predefined_handles_differ_in_their_lowest_byte():
    for entries in read_family("mpich").handles.values():
        predefined = {v for v in entries.values() if isinstance(v, int) and v >> 30 == 1}
        assert len({value & 0xFF for value in predefined}) == len(predefined)


def test_what_a_family_lacks_is_marked_absent():
    openmpi = read_family("openmpi")
    lacking = replace(openmpi, integers={k: v for k, v in openmpi.integers.items() if k != "ORDER_C"})
    assert "order_values[] = {absent, 1}" in values.integers(lacking, ROLES)


def test_a_constant_that_a_family_lacks_may_have_another_in_its_place():
    openmpi = read_family("openmpi")
    at = ROLES.values["error"].index("ERR_ERRHANDLER")
    line = next(text for text in values.integers(openmpi, ROLES).splitlines() if " error_values[]" in text)
    assert "ERR_ERRHANDLER" not in openmpi.integers
    assert line.partition("{")[2].split(", ")[at] == str(openmpi.integers["ERR_ARG"])


def test_every_function_with_large_counts_has_a_narrow_form():
    large = {name for name in FUNCTIONS if name.endswith("_c") and name.removesuffix("_c") in FUNCTIONS}
    _, names = narrow.render(list(FUNCTIONS.values()))
    narrowed = {line.partition("(")[2].partition(",")[0] for line in names.splitlines()}
    assert large == narrowed


def narrow_form(name: str) -> str:
    plain = FUNCTIONS[narrow.plain_name(FUNCTIONS[name])]
    return narrow.narrowed(FUNCTIONS[name], plain) or ""


def test_data_that_is_only_moved_may_be_of_a_larger_type():
    assert "LargeType count_(count, datatype)" in narrow_form("MPI_Send_c")
    assert "t_MPI_Send(buf, count_.count(), count_.type(), dest" in narrow_form("MPI_Send_c")


def test_a_reduction_gets_an_operation_for_a_larger_type():
    assert "LargeReduction count_(count, datatype, op)" in narrow_form("MPI_Allreduce_c")
    assert "count_.count(), count_.type(), count_.op(), comm)" in narrow_form("MPI_Allreduce_c")


def test_what_is_accumulated_may_be_of_a_larger_type():
    text = narrow_form("MPI_Accumulate_c")
    assert "LargeType target_count_(target_count, target_datatype)" in text
    assert "target_count_.type(), op, win)" in text


def test_a_type_whose_counts_do_not_fit_is_made_of_others():
    text = narrow_form("MPI_Type_vector_c")
    assert "return l_MPI_Type_vector_c(count, blocklength, stride, oldtype, newtype);" in text


def test_arrays_that_a_rank_need_not_give_are_not_read_there():
    assert "Narrow recvcounts_(recvcounts, gives_arrays(comm, root) ?" in narrow_form("MPI_Gatherv_c")


def test_narrow_arrays_of_a_nonblocking_call_are_kept():
    text = narrow_form("MPI_Ialltoallv_c")
    assert text.count(", true);") == 4
    assert (
        "{sendcounts_.release(), sdispls_.release(), recvcounts_.release(), rdispls_.release()}, false)"
        in text
    )
    assert ", true);" not in narrow_form("MPI_Alltoallv_c")


def test_those_of_one_whose_types_are_kept_go_with_these():
    assert "rdispls_.release()}, true)" in narrow_form("MPI_Ialltoallw_c")
    assert "keep(rc, request_.value(), {sendtypes_.release(), recvtypes_.release()}, false)" in body(
        "MPI_Ialltoallw"
    )


STANDARD = read_family("standard")


def repaired(**integers: int) -> str:
    return repair.render(list(FUNCTIONS.values()), ROLES, STANDARD, Family("any", integers, {}, {}, {}))


def test_a_repair_holds_values_that_are_not_those_of_the_standard():
    for wrong in read_repairs():
        assert all(STANDARD.integers[name] != value for name, value in wrong.integers.items())
        handles = STANDARD.handles["errhandler"]
        assert all(handles[name] != value for name, value in wrong.handles["errhandler"].items())


def test_a_repair_takes_the_place_of_functions_with_such_a_constant_alone():
    text = repaired(SEEK_SET=401)
    assert text.count("ENTRANCES(") == 2
    assert "next(fh, offset, to_library(seek_pairs, whence))" in text


def test_a_key_that_is_freed_comes_back_as_the_programs():
    text = repaired(TAG_UB=999)
    assert "change(win_keyval, [](auto value) { return to_program(keyval_pairs, value); });" in text


def test_what_no_function_can_be_repaired_for_is_refused():
    with pytest.raises(ValueError, match="MAX_PORT_NAME cannot be repaired"):
        repaired(MAX_PORT_NAME=1)
