"""Number of elements of an array parameter as a C++ expression of the other parameters."""

from tools.generate.mpi.load import Function

# In this order: the first parameter of such a name counts the elements.
_COUNTERS = ("count", "incount", "n", "ndims", "maxdims")


def extent(function: Function, parameter: str) -> str:
    """The expression; raises ValueError where nothing says it."""
    name = function.name
    names = [parameter.name for parameter in function.parameters]
    if "eighbor_alltoallw" in name:
        return f"neighbours<{'false' if parameter.startswith('recv') else 'true'}>(comm)"
    if "lltoallw" in name:
        return "peers(comm)"
    if name.startswith("MPI_Dist_graph_neighbors"):
        return "maxindegree" if parameter == "sources" else "maxoutdegree"
    if name == "MPI_Graph_map":
        return "0"
    for counter in _COUNTERS:
        if counter in names:
            return counter
    raise ValueError(f"{name}: how long is {parameter}?")


def is_kept(function: Function) -> bool:
    """Check whether the library may read the arrays after the call has returned."""
    name = function.name
    return (name.startswith("MPI_I") and "lltoallw" in name) or name.removesuffix("_c").endswith("w_init")


def is_ignored_in_place(function: Function, parameter: str) -> bool:
    """Check whether an array of types is ignored if the send buffer is MPI_IN_PLACE."""
    return parameter == "sendtypes" and "eighbor" not in function.name
