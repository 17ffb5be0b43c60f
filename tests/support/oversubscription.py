"""Settings with which more ranks than cores wait instead of spin."""

OVERSUBSCRIBED = {
    "mpich": {
        f"MPIR_CVAR_{name}_POSIX_INTRA_ALGORITHM": "mpir"
        for name in ("ALLREDUCE", "BARRIER", "BCAST", "REDUCE")
    },
    "openmpi": {
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        "PRTE_MCA_hwloc_default_binding_policy": "none",
    },
    "intelmpi": {"I_MPI_WAIT_MODE": "1", "I_MPI_PIN": "0"},
}
