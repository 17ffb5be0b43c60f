// Large counts over a library that has none (Open MPI up to 5): narrowed where they fit into an int, else a larger type
// is moved instead. Included behind the translated functions, of which they are calls.
#include "arguments.hpp"

#include <climits>

namespace mpiric::translate {
namespace {

constexpr bool fits_int(long long value) { return value >= INT_MIN && value <= INT_MAX; }

/// Numbers as ints; `is_kept`: the library may read them after the call.
class Narrow {
  public:
    template <class Wide> Narrow(const Wide* given, long count, bool is_kept) : room_(given && count > 0 ? count : 0) {
        for (long at = 0; given && at < count; ++at) {
            fits_ = fits_ && fits_int(given[at]);
            room_[at] = int(given[at]);
        }
        pointer_ = !given ? nullptr : room_.data();
        if (given && is_kept && count > 0)
            pointer_ = static_cast<const int*>(kept(room_.data(), sizeof(int) * std::size_t(count)));
    }
    bool fits() const { return fits_; }
    const int* pointer() const { return pointer_; }

  private:
    Room<int> room_;
    bool fits_ = true;
    const int* pointer_ = nullptr;
};

/// A count and a type; a count that does not fit is made 1 of a type that holds so many: blocks of 2^30 and what remains.
class LargeType {
  public:
    LargeType(long long count, PDatatype type) : count_(count), type_(type) {
        if (fits_int(count) || count < 0)
            return;
        constexpr int block = 1 << 30;
        PDatatype parts[3];
        long low = 0, extent = 0;
        t_MPI_Type_get_extent(type, &low, &extent);
        t_MPI_Type_contiguous(block, type, &parts[0]);
        t_MPI_Type_contiguous(int(count / block), parts[0], &parts[1]);
        t_MPI_Type_contiguous(int(count % block), type, &parts[2]);
        const int lengths[] = {1, 1};
        const long displacements[] = {0, long(count / block) * block * extent};
        t_MPI_Type_create_struct(2, lengths, displacements, &parts[1], &type_);
        t_MPI_Type_commit(&type_);
        for (PDatatype& part : parts)
            t_MPI_Type_free(&part);
        count_ = 1;
        is_made_ = true;
    }
    ~LargeType() {
        if (is_made_)
            t_MPI_Type_free(&type_);  // what is being moved keeps it
    }
    LargeType(const LargeType&) = delete;
    LargeType& operator=(const LargeType&) = delete;
    int count() const { return fits_int(count_) ? int(count_) : -1; }
    PDatatype type() const { return type_; }

  private:
    long long count_;
    PDatatype type_;
    bool is_made_ = false;
};

/// What the library answers to questions of our own.
template <class Ask> auto asked(Ask&& ask) {
    const Inside inside;
    return ask();
}

/// Whether this rank gives the arrays of a gathering or scattering call.
bool gives_arrays(PComm comm, int root) {
    int is_between = 0, rank = -1;
    t_MPI_Comm_test_inter(comm, &is_between);
    if (is_between)
        return root == program::rank_values[2];  // in the order of the spec: ANY_SOURCE PROC_NULL ROOT
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

[[gnu::used]] void operate_large(void* from, void* into, int* count, LDatatype* type, UserFunction* function) asm("mpiric_operate_large");
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
    const int rc = CALL(MPI_Op_create, int, void*, int, LOp*)(entrance, commutes, op_.pointer());
    op_.done();
    return TO_PROGRAM(error, rc);
}
static int n_MPI_Register_datarep_c(const char* datarep, decltype(Representation::read) read,
                                    decltype(Representation::write) write, decltype(Representation::extent) extent_, void* extra) {
    return t_MPI_Register_datarep(datarep, read, write, extent_, extra);
}

}  // namespace mpiric::translate
