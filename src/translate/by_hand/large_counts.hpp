// Large counts over a library that has none (Open MPI up to 5): narrowed where they fit into an int, else a
// larger type is moved or reduced instead. Included behind the translated functions, of which they are calls.
// clang-format off
#pragma once

#include "arguments.hpp"

#include <climits>
#include <compare>
#include <map>
#include <mutex>
#include <vector>

namespace mpiric::translate {
// Types whose counts do not fit into an int, made of types with counts that do.
namespace {

constexpr bool fits_int(long long value) { return value >= INT_MIN && value <= INT_MAX; }

/// Types made on the way to another.
class Parts {
  public:
    Parts() = default;
    ~Parts() {
        for (PDatatype& part : made_)
            t_MPI_Type_free(&part);
    }
    Parts(const Parts&) = delete;
    Parts& operator=(const Parts&) = delete;
    PDatatype add(PDatatype made) { return made_.emplace_back(made); }

  private:
    std::vector<PDatatype> made_;
};

constexpr int most = 1 << 30;  // elements of a type in another one

/// A type with these bounds. A type that has them already stays without bound markers.
int make_bounded(PDatatype type, long low, long high, PDatatype* made) {
    long begin = 0, extent = 0;
    t_MPI_Type_get_extent(type, &begin, &extent);
    return begin == low && extent == high - low ? t_MPI_Type_dup(type, made) : t_MPI_Type_create_resized(type, low, high - low, made);
}

/// `count` elements of a type, each `stride` bytes behind the one before it.
int make_spaced(long long count, long stride, PDatatype type, PDatatype* made) {
    if (fits_int(count))
        return t_MPI_Type_create_hvector(int(count), 1, stride, type, made);
    PDatatype part, halves[2];
    if (const int rc = t_MPI_Type_create_hvector(most, 1, stride, type, &part); rc != 0)
        return rc;
    Parts parts;
    t_MPI_Type_create_hvector(int(count / most), 1, most * stride, parts.add(part), &halves[0]);
    t_MPI_Type_create_hvector(int(count % most), 1, stride, type, &halves[1]);
    parts.add(halves[0]), parts.add(halves[1]);
    const int lengths[] = {1, 1};
    const long displacements[] = {0, long(count / most) * most * stride};
    return t_MPI_Type_create_struct(2, lengths, displacements, halves, made);
}

/// `count` elements of a type, one behind the other.
int make_repeated(long long count, PDatatype type, PDatatype* made) {
    long low = 0, extent = 0;
    if (const int rc = t_MPI_Type_get_extent(type, &low, &extent); rc != 0)
        return rc;
    return make_spaced(count, extent, type, made);
}

/// Elements of a type at a displacement in bytes.
struct Block {
    long long length;
    long displacement;
    PDatatype type;
};

/// A type of blocks, padded as a struct is.
int make_of_blocks(const std::vector<Block>& blocks, PDatatype* made) {
    std::vector<int> lengths;
    std::vector<long> displacements;
    std::vector<PDatatype> types;
    Parts parts;
    for (const Block& block : blocks) {
        PDatatype type = block.type;
        if (!fits_int(block.length)) {
            if (const int rc = make_repeated(block.length, block.type, &type); rc != 0)
                return rc;
            parts.add(type);
        }
        lengths.push_back(fits_int(block.length) ? int(block.length) : 1);
        displacements.push_back(block.displacement);
        types.push_back(type);
    }
    return t_MPI_Type_create_struct(int(blocks.size()), lengths.data(), displacements.data(), types.data(), made);
}

/// The same of one type, not padded.
int make_indexed(const std::vector<Block>& blocks, PDatatype type, PDatatype* made) {
    long low = 0, extent = 0, begin = LONG_MAX, end = LONG_MIN;
    if (const int rc = t_MPI_Type_get_extent(type, &low, &extent); rc != 0)
        return rc;
    for (const Block& block : blocks)
        if (block.length > 0) {
            const long first = block.displacement + low, last = first + long(block.length - 1) * extent;
            begin = std::min({begin, first, last});
            end = std::max({end, first + extent, last + extent});
        }
    PDatatype padded;
    if (const int rc = make_of_blocks(blocks, &padded); rc != 0)
        return rc;
    Parts parts;
    parts.add(padded);
    return begin > end ? t_MPI_Type_dup(padded, made) : make_bounded(padded, begin, end, made);
}

/// `count` blocks of `length` elements, each `stride` bytes behind the one before it.
int make_strided(long long count, long long length, long stride, PDatatype type, PDatatype* made) {
    if (count < 1 || length < 0)  // a negative number is for the library to refuse
        return t_MPI_Type_contiguous(count < 0 || length < 0 ? -1 : 0, type, made);
    PDatatype block;
    if (const int rc = make_repeated(length, type, &block); rc != 0)
        return rc;
    Parts parts;
    return make_spaced(count, stride, parts.add(block), made);
}

/// The blocks of an array of lengths, or of one length, and displacements in units of `unit` bytes.
template <class Length>
std::vector<Block> blocks_of(long long count, Length&& length, const long long* displacements, long unit, PDatatype type) {
    std::vector<Block> blocks;
    blocks.reserve(std::size_t(std::max(count, 0LL)));
    for (long long at = 0; at < count; ++at)
        blocks.push_back({length(at), long(displacements[at]) * unit, type});
    return blocks;
}

constexpr const char* too_many_blocks = "the number of its blocks does not fit into an int";

long extent_of(PDatatype type) {
    long low = 0, extent = 0;
    t_MPI_Type_get_extent(type, &low, &extent);
    return extent;
}

int l_MPI_Type_contiguous_c(long long count, PDatatype type, PDatatype* made) { return make_repeated(count, type, made); }
int l_MPI_Type_vector_c(long long count, long long length, long long stride, PDatatype type, PDatatype* made) {
    return make_strided(count, length, long(stride) * extent_of(type), type, made);
}
int l_MPI_Type_create_hvector_c(long long count, long long length, long long stride, PDatatype type, PDatatype* made) {
    return make_strided(count, length, long(stride), type, made);
}

template <Function function, bool in_bytes, class Length>
int make_indexed_type(long long count, Length lengths, const long long displacements[], PDatatype type, PDatatype* made) {
    if (!fits_int(count))
        return refuse(function, too_many_blocks);
    const auto length = [&]([[maybe_unused]] long long at) {
        if constexpr (std::is_pointer_v<Length>)
            return lengths[at];
        else
            return lengths;
    };
    return make_indexed(blocks_of(count, length, displacements, in_bytes ? 1 : extent_of(type), type), type, made);
}
constexpr auto l_MPI_Type_indexed_c = &make_indexed_type<F_MPI_Type_indexed_c, false, const long long*>;
constexpr auto l_MPI_Type_create_hindexed_c = &make_indexed_type<F_MPI_Type_create_hindexed_c, true, const long long*>;
constexpr auto l_MPI_Type_create_indexed_block_c = &make_indexed_type<F_MPI_Type_create_indexed_block_c, false, long long>;
constexpr auto l_MPI_Type_create_hindexed_block_c = &make_indexed_type<F_MPI_Type_create_hindexed_block_c, true, long long>;

int l_MPI_Type_create_struct_c(long long count, const long long lengths[], const long long displacements[],
                                      const PDatatype types[], PDatatype* made) {
    if (!fits_int(count))
        return refuse(F_MPI_Type_create_struct_c, too_many_blocks);
    std::vector<Block> blocks;
    blocks.reserve(std::size_t(std::max(count, 0LL)));
    for (long long at = 0; at < count; ++at)
        blocks.push_back({lengths[at], long(displacements[at]), types[at]});
    return make_of_blocks(blocks, made);
}

int l_MPI_Type_create_subarray_c(int dimensions, const long long sizes[], const long long subsizes[], const long long starts[],
                                        int order, PDatatype type, PDatatype* made) {
    Parts parts;
    PDatatype inner = type, placed;
    long stride = extent_of(type), start = 0;
    // Starts at the dimension whose neighbours are neighbours in memory.
    for (int nth = 0; nth < dimensions; ++nth) {
        // Order of the spec: C, Fortran.
        const int at = order == program::order_values[1] ? nth : dimensions - 1 - nth;
        PDatatype row;
        if (const int rc = make_strided(subsizes[at], 1, stride, inner, &row); rc != 0)
            return rc;
        inner = parts.add(row);
        start += long(starts[at]) * stride;
        stride *= long(sizes[at]);
    }
    if (const int rc = make_of_blocks({{1, start, inner}}, &placed); rc != 0)
        return rc;
    return make_bounded(parts.add(placed), 0, stride, made);
}


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

extern "C" [[gnu::used]] void mpiric_reduce_in_parts(char* from, char* into, int* blocks, LDatatype*, const Reduction* of) {
    const long long elements = *blocks * of->count;
    for (long long at = 0; at < elements; at += most)
        original<F_MPI_Reduce_local, int(const void*, void*, int, LDatatype, LOp)>()(
            from + at * of->extent, into + at * of->extent, int(std::min<long long>(most, elements - at)),
            of->type, of->op);
}
MPIRIC_CLOSURES(reductions, mpiric_reduce_in_parts, "r8");

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

int n_MPI_Get_count_c(const PStatus* status, PDatatype type, long long* count) {
    long long bytes = 0;
    const int rc = t_MPI_Type_size_x(type, &bytes);
    if (rc != 0 || !count)
        return rc;
    const auto received = static_cast<long long>(status->bytes());
    *count = bytes > 0 && received % bytes == 0 ? received / bytes : received == 0 ? 0 : program::UNDEFINED;
    return 0;
}


extern "C" [[gnu::used]] void mpiric_operate_large(void* from, void* into, int* count, LDatatype* type, UserFunction* function) {
    long long large = *count;
    mpiric_operate(from, into, &large, type, function);
}
MPIRIC_CLOSURES(large_operations, mpiric_operate_large, "r8");

int n_MPI_Op_create_c(UserFunction* function, int commutes, POp* op) {
    const Inside inside;
    NewHandle<Op> op_(op);
    void* entrance = large_operations.entrance(reinterpret_cast<void*>(function));
    const int rc = original<F_MPI_Op_create, int(void*, int, LOp*)>()(entrance, commutes, op_.pointer());
    op_.done();
    return to_program_error(rc);
}
int n_MPI_Type_get_envelope_c(PDatatype type, long long* integers, long long* addresses,
                                     long long* counts, long long* types, int* combiner) {
    int of[3] = {0, 0, 0};
    const int rc = t_MPI_Type_get_envelope(type, &of[0], &of[1], &of[2], combiner);
    if (rc == 0)
        *integers = of[0], *addresses = of[1], *counts = 0, *types = of[2];
    return rc;
}
int n_MPI_Type_get_contents_c(PDatatype type, long long max_integers, long long max_addresses,
                                     long long, long long max_types, int* integers, long* addresses,
                                     long long*, PDatatype* types) {
    const auto narrow = [](long long room) { return int(std::clamp<long long>(room, -1, INT_MAX)); };
    return t_MPI_Type_get_contents(type, narrow(max_integers), narrow(max_addresses), narrow(max_types),
                                   integers, addresses, types);
}
int n_MPI_Register_datarep_c(const char* datarep, decltype(Representation::read) read,
                                    decltype(Representation::write) write,
                                    decltype(Representation::extent) extent_, void* extra) {
    return t_MPI_Register_datarep(datarep, read, write, extent_, extra);
}

}  // namespace
}  // namespace mpiric::translate
