// Parts of a counted call that are seldom needed: digests of results and messages, and the marked call.
#include "base/spin_lock.hpp"
#include "steps/armed.hpp"
#include "symbols/modules.hpp"
#include "world/requests.hpp"

namespace mpiric::steps {

using marks::Marks;
using marks::Passed;

void MarkedCall::remembers(MPI_Request request, int destination) noexcept {
    world::remember_request(request,
                            {row(), destination == MPI_PROC_NULL && bytes ? 0 : bytes, -1, false, false});
    bytes = 0;  // nothing moves before it is started
}

void MarkedCall::starts(int count, const MPI_Request requests[]) noexcept {
    for (int at = 0; at < count; ++at) {
        world::Persistent known;
        if (!world::find_request(requests[at], known))
            continue;
        bytes += known.bytes;
        if (count == 1)
            started_on = known.communicator;
    }
}

uint32_t MarkedCall::row() const noexcept {
    const world::CommInfo* found = info();
    return found ? found->index : started_on;
}

void MarkedCall::note_result(const void* at, uint64_t size, MPI_Datatype type) const noexcept {
    const world::CommInfo* found = info();
    const Element element = world::element_of(type);
    if (!found || found->is_inter || element.kind == ElementKind::scattered)
        return;
    alignas(8) char copy[marks::result_bytes];
    if (results_may_be_elsewhere()) [[unlikely]] {
        if (!symbols::read_bytes(at, copy, size)) {
            armed.marks.set(marks::Flag::device_memory);
            return;
        }
        at = copy;
    }
    Marks& marks = armed.marks;
    const Held held(marks.lock(), marks.many_threads());
    if (armed.digests())
        marks.add_result(reinterpret_cast<uint64_t>(return_address), function,
                         name_of(symbols::Function(function)), found->index, at, size, element);
}

void MarkedCall::note_message(const void* at, MPI_Datatype type) const noexcept {
    const world::CommInfo* found = info();
    const Element element = world::element_of(type);
    // Bytes of a type that is not a number may be padding with arbitrary content.
    if (!found || element.kind == ElementKind::scattered || element.kind == ElementKind::other ||
        results_may_be_elsewhere())
        return;
    Marks& marks = armed.marks;
    const Held held(marks.lock(), marks.many_threads());
    if (armed.counts())
        marks.add_message(reinterpret_cast<uint64_t>(return_address), function,
                          name_of(symbols::Function(function)), found->index, at, bytes, element);
}

/// Counts the call if it is of the mark's kind. The step before the last mark begins with the call before it;
/// where rank 0 alone counts, the messages it sends depend on the order of arrivals.
bool MarkedCall::counts_as_last() const noexcept {
    if (!armed.marks.is_marked(reinterpret_cast<uint64_t>(return_address), row()))
        return false;
    const Passed passed = armed.marks.count_marked();
    if (passed == Passed::before_last && runtime.options.mark_ranks == MarkRanks::all) {
        armed.in_last_step = true;
        armed.stage = Stage::counting_carefully;
    }
    return passed == Passed::last;
}

void MarkedCall::note_marked() const noexcept {
    if (!counts_as_last())
        return;
    armed.stage = Stage::off;
    pass_last_mark();
}

void MarkedCall::note_carefully(symbols::Family family) const noexcept {
    Marks& marks = armed.marks;
    bool last = false;
    {
        row();  // asks the library where the communicator is new: not under the lock
        const Held held(marks.lock(), marks.many_threads());
        if (!armed.digests())
            return;
        if (family == symbols::Family::collective)
            marks.count_collective(bytes);
        else
            marks.count_send(bytes);
        last = armed.counts() && armed.function == function && counts_as_last();
        if (last)
            armed.stage = Stage::off;
    }
    if (last)
        pass_last_mark();
    else if (armed.stage == Stage::following)
        follow_first_rank();
}

}  // namespace mpiric::steps
