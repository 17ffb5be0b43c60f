# The folders of the runtime and their dependencies. A folder is compiled with its own headers and the headers of its
# direct and indirect dependencies; any other include does not compile. docs/reference/runtime_folders.md shows them.

# Without MPI: compiled once for all families.
mpiric_room(base PLAIN)            # clock, log, options, tables by handle, rules by file name
mpiric_room(posix PLAIN)           # names of libc that are exported, and the next definition of each
mpiric_room(allocator PLAIN USES base)      # what the library in front of the allocator shares with the runtime
mpiric_room(tune PLAIN USES base)  # online choice among named candidates
mpiric_room(marks PLAIN USES base) # the two calls that a run is measured between
mpiric_room(profile PLAIN USES base allocator)      # counters, histograms, record writer
mpiric_room(system PLAIN USES base allocator)       # affinity, page and perf counters of this process
mpiric_room(select/decision PLAIN USES base tune)   # which algorithm serves a collective call

# With MPI: compiled for each family.
mpiric_room(world USES base profile)                # what needs all ranks; the only caller of PMPI_ for our own traffic
mpiric_room(coll USES base world)                   # collective algorithms, one per file
mpiric_room(symbols USES base posix profile world)  # exported names, their targets, and the type of a layer

# Layers, one folder each, which do not know each other.
mpiric_room(order USES symbols)                     # ranks in another order
mpiric_room(select USES symbols coll tune system select/decision) # tuning of collectives
mpiric_room(layouts USES symbols)                   # hints, layouts and HDF5 objects of files
mpiric_room(deferred USES symbols)                  # output that is held back
mpiric_room(files USES world)                       # files of the program, for the record
mpiric_room(record USES symbols files system tune)  # what a run did
mpiric_room(steps USES symbols marks system)        # runs measured between two calls

# Above them: the wrappers, which record and count, and the list of layers.
mpiric_room(wrap USES symbols record steps layouts) # wrappers of the functions of MPI and of libc
mpiric_room(layers USES symbols)                    # the list of layers, in their order
