// Large counts over a library that has none (Open MPI up to 5): narrowed where they fit into an int, else a
// larger type is moved or reduced instead. Included behind the translated functions, of which they are calls.
#pragma once

#include "arguments.hpp"

#include <compare>
#include <map>
#include <mutex>

namespace mpiric::translate {
namespace {

/// Numbers as ints.
class Narrow {
  public:
    template <class Wide>
    Narrow(const Wide* given, long count, bool outlives_call)
        : room_(given && count > 0 ? count : 0, outlives_call), is_given_(given) {
        for (long at = 0; given && at < count; ++at) {
            fits_ = fits_ && fits_int(given[at]);
            room_[at] = int(given[at]);
        }
    }
    bool fits() const { return fits_; }
    const int* pointer() const { return is_given_ ? room_.data() : nullptr; }
    void* release() { return room_.release(); }

  private:
    Room<int> room_;
    bool is_given_, fits_ = true;
};

/// A count and a type; a count that does not fit is made 1 of a type that holds `count` elements.
class LargeType {
  public:
    LargeType(long long count, PDatatype type) : count_(count), type_(type) {
        if (fits_int(count) || count < 0 || make_repeated(count, type, &type_) != 0)
            return;
        t_MPI_Type_commit(&type_);
        count_ = 1;
        is_made_ = true;
    }
    ~LargeType() {
        if (is_made_)
            t_MPI_Type_free(&type_);  // a pending operation keeps it
    }
    LargeType(const LargeType&) = delete;
    LargeType& operator=(const LargeType&) = delete;
    int count() const { return fits_int(count_) ? int(count_) : -1; }
    PDatatype type() const { return type_; }
    bool is_made() const { return is_made_; }

  private:
    long long count_;
    PDatatype type_;
    bool is_made_ = false;
};

/// Parameters of a reduction of `count` elements in parts.
struct Reduction {
    LOp op;
    LDatatype type;
    long long count;
    long extent;
    auto operator<=>(const Reduction&) const = default;
};

[[gnu::used]] void reduce_in_parts(char* from, char* into, int* blocks, LDatatype*,
                                   const Reduction* of) asm("mpiric_reduce_in_parts");
void reduce_in_parts(char* from, char* into, int* blocks, LDatatype*, const Reduction* of) {
    const long long elements = *blocks * of->count;
    for (long long at = 0; at < elements; at += most)
        original<F_MPI_Reduce_local, int(const void*, void*, int, LDatatype, LOp)>()(
            from + at * of->extent, into + at * of->extent, int(std::min<long long>(most, elements - at)),
            of->type, of->op);
}
[[gnu::naked]] void reduce_in_parts_entrance() { asm("mov %r10, %r8\n jmp mpiric_reduce_in_parts"); }
Closures reductions(&reduce_in_parts_entrance);

/// The one address of such a reduction, for good: pending operations read it.
Reduction* lasting(const Reduction& reduction) {
    static std::mutex changing;
    static std::map<Reduction, Reduction> known;
    const std::lock_guard held(changing);
    return &known.try_emplace(reduction, reduction).first->second;
}

/// Count, type and operation of a reduction. Predefined operations do not accept types of ours; an operation
/// that calls them for its parts does.
class LargeReduction {
  public:
    LargeReduction(long long count, PDatatype type, POp op) : large_(count, type), op_(op) {
        if (!large_.is_made())
            return;
        long low = 0, extent = 0;
        int commutes = 0;
        t_MPI_Type_get_extent(type, &low, &extent);
        t_MPI_Op_commutative(op, &commutes);
        const Inside inside;
        void* entrance = reductions.entrance(lasting({in<Op>(op), in<Datatype>(type), count, extent}));
        LOp made;
        if (original<F_MPI_Op_create, int(void*, int, LOp*)>()(entrance, commutes, &made) == 0) {
            op_ = out<Op>(made);
            is_made_ = true;
        }
    }
    ~LargeReduction() {
        if (is_made_)
            t_MPI_Op_free(&op_);  // a pending operation keeps it
    }
    LargeReduction(const LargeReduction&) = delete;
    LargeReduction& operator=(const LargeReduction&) = delete;
    int count() const { return large_.count(); }
    PDatatype type() const { return large_.type(); }
    POp op() const { return op_; }

  private:
    LargeType large_;
    POp op_;
    bool is_made_ = false;
};

/// Asks the library a question of our own.
template <class Ask> auto asked(Ask&& ask) {
    const Inside inside;
    return ask();
}

/// Whether this rank gives the arrays of a gathering or scattering call.
bool gives_arrays(PComm comm, int root) {
    int is_between = 0, rank = -1;
    t_MPI_Comm_test_inter(comm, &is_between);
    if (is_between)
        return root == program::rank_values[2];  // order of the spec: ANY_SOURCE PROC_NULL ROOT
    t_MPI_Comm_rank(comm, &rank);
    return rank == root;
}

}  // namespace

static int n_MPI_Get_count_c(const PStatus* status, PDatatype type, long long* count) {
    long long bytes = 0;
    const int rc = t_MPI_Type_size_x(type, &bytes);
    if (rc != 0 || !count)
        return rc;
    const auto received = static_cast<long long>(status->bytes());
    *count = bytes > 0 && received % bytes == 0 ? received / bytes : received == 0 ? 0 : program::UNDEFINED;
    return 0;
}

namespace {

[[gnu::used]] void operate_large(void* from, void* into, int* count, LDatatype* type,
                                 UserFunction* function) asm("mpiric_operate_large");
void operate_large(void* from, void* into, int* count, LDatatype* type, UserFunction* function) {
    long long large = *count;
    operate(from, into, &large, type, function);
}
[[gnu::naked]] void operate_large_entrance() { asm("mov %r10, %r8\n jmp mpiric_operate_large"); }
Closures large_operations(&operate_large_entrance);

}  // namespace

static int n_MPI_Op_create_c(UserFunction* function, int commutes, POp* op) {
    const Inside inside;
    NewHandle<Op> op_(op);
    void* entrance = large_operations.entrance(reinterpret_cast<void*>(function));
    const int rc = original<F_MPI_Op_create, int(void*, int, LOp*)>()(entrance, commutes, op_.pointer());
    op_.done();
    return to_program_error(rc);
}
static int n_MPI_Type_get_envelope_c(PDatatype type, long long* integers, long long* addresses,
                                     long long* counts, long long* types, int* combiner) {
    int of[3] = {0, 0, 0};
    const int rc = t_MPI_Type_get_envelope(type, &of[0], &of[1], &of[2], combiner);
    if (rc == 0)
        *integers = of[0], *addresses = of[1], *counts = 0, *types = of[2];
    return rc;
}
static int n_MPI_Type_get_contents_c(PDatatype type, long long max_integers, long long max_addresses,
                                     long long, long long max_types, int* integers, long* addresses,
                                     long long*, PDatatype* types) {
    const auto narrow = [](long long room) { return int(std::clamp<long long>(room, -1, INT_MAX)); };
    return t_MPI_Type_get_contents(type, narrow(max_integers), narrow(max_addresses), narrow(max_types),
                                   integers, addresses, types);
}
static int n_MPI_Register_datarep_c(const char* datarep, decltype(Representation::read) read,
                                    decltype(Representation::write) write,
                                    decltype(Representation::extent) extent_, void* extra) {
    return t_MPI_Register_datarep(datarep, read, write, extent_, extra);
}

}  // namespace mpiric::translate
