// Every algorithm of the registry against the library's own result: collectives × layouts of nodes and NUMA
// domains × counts × datatypes × operations × in place × roots, on the ranks it is launched with. `grid
// quick` takes a part of them, `grid only=PART` the algorithms with that part in their name, as in
// `reduce/chain_16k`.
//
// Values are small whole numbers, so that no order of reduction shows. Whole buffers are compared, gaps
// included.
#include "layouts.hpp"

#include <ctime>

using namespace grid;
namespace world = mpiric::world;

namespace {

void reductions(Team* team, const char* layout, const std::vector<long>& counts) {
    const Op ops[] = {{"sum", MPI_SUM, MPI_INT},
                      {"sum", MPI_SUM, MPI_DOUBLE},
                      {"max", MPI_MAX, MPI_INT},
                      {"maxloc", MPI_MAXLOC, MPI_DOUBLE_INT},
                      {"minloc", MPI_MINLOC, MPI_2INT},
                      {"composition", composition, gapped},
                      {"composition", dense_composition, twin}};
    for (const Op& op : ops)
        for (long count : counts)
            for (bool in_place : {false, true}) {
                const MPI_Datatype type = op.only;
                const bool several = count % 2 == 1;  // counts of reduce_scatter: uneven, with zeros
                Buffer input(count, type, unsigned(me) + 1), before(count, type, unsigned(me) + 100);
                fill(input, type, unsigned(me) + 1);
                fill(before, type, unsigned(me) + 100);
                if (in_place)
                    before = input;
                const void* send = in_place ? MPI_IN_PLACE : input.data();
                auto name = [&](int root) { return words("", op.name, count, in_place, root); };
                auto arguments = [&](Arguments& call, void* receive) {
                    call.send = send;
                    call.receive = receive;
                    call.receive_count = count;
                    call.receive_type = type;
                    call.op = op.handle;
                };
                compare(
                    team, layout, {Collective::allreduce, name(0)}, count, type, Compare::whole, before,
                    [&](void* to) {
                        return MPI_Allreduce(send, to, int(count), type, op.handle, MPI_COMM_WORLD);
                    },
                    arguments);
                compare(
                    team, layout, {Collective::scan, name(0)}, count, type, Compare::whole, before,
                    [&](void* to) { return MPI_Scan(send, to, int(count), type, op.handle, MPI_COMM_WORLD); },
                    arguments);
                compare(
                    team, layout, {Collective::exscan, name(0)}, count, type,
                    me ? Compare::whole : Compare::nothing, before,
                    [&](void* to) {
                        return MPI_Exscan(send, to, int(count), type, op.handle, MPI_COMM_WORLD);
                    },
                    arguments);
                for (int root : roots()) {
                    const void* mine = in_place && me != root ? input.data() : send;
                    compare(
                        team, layout, {Collective::reduce, name(root)}, count, type,
                        me == root ? Compare::whole : Compare::nothing, before,
                        [&](void* to) {
                            return MPI_Reduce(mine, to, int(count), type, op.handle, root, MPI_COMM_WORLD);
                        },
                        [&](Arguments& call, void* receive) {
                            arguments(call, receive);
                            call.send = mine;
                            call.root = root;
                        });
                }
                // The block forms take `count` elements per rank at most.
                std::vector<int> parts(static_cast<size_t>(size));
                int whole = 0;
                for (int rank = 0; rank < size; ++rank)
                    whole += parts[size_t(rank)] =
                        int(several ? (rank % 3 == 1 ? 0 : count / size + rank % 2) : count / size);
                whole = std::max(whole, int(count));
                Buffer long_input(whole, type, unsigned(me) + 3), long_before(whole, type, unsigned(me) + 50);
                fill(long_input, type, unsigned(me) + 3);
                fill(long_before, type, unsigned(me) + 50);
                if (in_place)
                    long_before = long_input;
                const void* long_send = in_place ? MPI_IN_PLACE : long_input.data();
                compare(
                    team, layout, {Collective::reduce_scatter, name(0)}, parts[size_t(me)], type,
                    Compare::front, long_before,
                    [&](void* to) {
                        if (type == gapped)
                            return reduce_and_scatter(long_input.data(), to, parts, type, op.handle);
                        return MPI_Reduce_scatter(long_send, to, parts.data(), type, op.handle,
                                                  MPI_COMM_WORLD);
                    },
                    [&](Arguments& call, void* receive) {
                        arguments(call, receive);
                        call.send = long_send;
                        call.receive_count = 0;
                        call.receive_counts = Counts{parts.data()};
                    });
                const int each = int(count / size);
                compare(
                    team, layout, {Collective::reduce_scatter_block, name(0)}, each, type, Compare::front,
                    long_before,
                    [&](void* to) {
                        if (type == gapped)
                            return reduce_and_scatter(long_input.data(), to,
                                                      std::vector<int>(size_t(size), each), type, op.handle);
                        return MPI_Reduce_scatter_block(long_send, to, each, type, op.handle, MPI_COMM_WORLD);
                    },
                    [&](Arguments& call, void* receive) {
                        arguments(call, receive);
                        call.send = long_send;
                        call.receive_count = each;
                    });
            }
}

/// The v-forms: uneven counts with zeros, rows with gaps between the blocks.
void varied(Team* team, const char* layout, long pairs, bool mixed, bool in_place,
            const std::string& words_) {
    auto amount = [&](int from, int to) {
        return (from * 3 + to * 5) % 4 == 1 ? 0 : pairs + (from + 2 * to) % 3;
    };
    auto from_one = [&](int rank) { return amount(rank, rank); };
    // All receive alike: rings of some libraries cut pieces by the own datatype.
    const bool odd = !alike && me % 2, other = true;
    const MPI_Datatype out_type = side(odd, mixed, 1).type, in_type = side(other, mixed, 1).type;
    const int out_unit = int(side(odd, mixed, 1).count), in_unit = int(side(other, mixed, 1).count);
    std::vector<int> rows_out, rows_in, cells_out, cells_in;
    for (int rank = 0; rank < size; ++rank) {
        rows_out.push_back(int(from_one(rank)) * out_unit);
        rows_in.push_back(int(from_one(rank)) * in_unit);
        cells_out.push_back(
            int(in_place ? amount(std::min(me, rank), std::max(me, rank)) : amount(me, rank)) * out_unit);
        cells_in.push_back(int(in_place ? amount(std::min(me, rank), std::max(me, rank)) : amount(rank, me)) *
                           in_unit);
    }
    const std::vector<int> rows_out_at = spread(rows_out, 2), rows_in_at = spread(rows_in, 0),
                           gaps_in_at = spread(rows_in, 1), cells_out_at = spread(cells_out, 1),
                           cells_in_at = spread(cells_in, 3);
    auto room = [&](const std::vector<int>& counts, const std::vector<int>& places) {
        return long(counts.back() + places.back());
    };
    const unsigned seed = unsigned(me) + 5;
    Buffer mine(rows_out[size_t(me)], out_type, seed), rows(room(rows_out, rows_out_at), out_type, seed),
        cells(room(cells_out, cells_out_at), out_type, seed);
    const Buffer into_cells(room(cells_in, cells_in_at), in_type, seed + 9),
        into_rows(room(rows_in, gaps_in_at), in_type, seed + 9),
        into_mine(rows_in[size_t(me)], in_type, seed + 9);
    const void* mine_or_in_place = in_place ? MPI_IN_PLACE : mine.data();
    for (const std::vector<int>* at : {&rows_in_at, &gaps_in_at}) {
        compare(
            team, layout, {Collective::allgatherv, words_}, room(rows_in, *at), in_type, Compare::whole,
            into_rows,
            [&](void* to) {
                return MPI_Allgatherv(mine_or_in_place, rows_out[size_t(me)], out_type, to, rows_in.data(),
                                      at->data(), in_type, MPI_COMM_WORLD);
            },
            [&](Arguments& call, void* to) {
                call.send = mine_or_in_place;
                call.send_count = rows_out[size_t(me)];
                call.send_type = out_type;
                call.receive = to;
                call.receive_counts = Counts{rows_in.data()};
                call.receive_displacements = Counts{at->data()};
                call.receive_type = in_type;
            });
    }
    const void* cells_or_in_place = in_place ? MPI_IN_PLACE : cells.data();
    compare(
        team, layout, {Collective::alltoallv, words_}, room(cells_in, cells_in_at), in_type, Compare::whole,
        into_cells,
        [&](void* to) {
            return MPI_Alltoallv(cells_or_in_place, cells_out.data(), cells_out_at.data(), out_type, to,
                                 cells_in.data(), cells_in_at.data(), in_type, MPI_COMM_WORLD);
        },
        [&](Arguments& call, void* to) {
            call.send = cells_or_in_place;
            call.send_counts = Counts{cells_out.data()};
            call.send_displacements = Counts{cells_out_at.data()};
            call.send_type = out_type;
            call.receive = to;
            call.receive_counts = Counts{cells_in.data()};
            call.receive_displacements = Counts{cells_in_at.data()};
            call.receive_type = in_type;
        });
    for (int root : roots()) {
        const void* send = me == root ? mine_or_in_place : mine.data();
        compare(
            team, layout, {Collective::gatherv, words_}, room(rows_in, gaps_in_at), in_type,
            me == root ? Compare::whole : Compare::nothing, into_rows,
            [&](void* to) {
                return MPI_Gatherv(send, rows_out[size_t(me)], out_type, to, rows_in.data(),
                                   gaps_in_at.data(), in_type, root, MPI_COMM_WORLD);
            },
            [&](Arguments& call, void* to) {
                call.send = send;
                call.send_count = rows_out[size_t(me)];
                call.send_type = out_type;
                call.receive = to;
                call.root = root;
                if (me != root)
                    return;
                call.receive_counts = Counts{rows_in.data()};
                call.receive_displacements = Counts{gaps_in_at.data()};
                call.receive_type = in_type;
            });
        auto place = [&](void* to) { return me == root && in_place ? MPI_IN_PLACE : to; };
        compare(
            team, layout, {Collective::scatterv, words_}, rows_in[size_t(me)], in_type, Compare::whole,
            into_mine,
            [&](void* to) {
                return MPI_Scatterv(rows.data(), rows_out.data(), rows_out_at.data(), out_type, place(to),
                                    rows_in[size_t(me)], in_type, root, MPI_COMM_WORLD);
            },
            [&](Arguments& call, void* to) {
                call.receive = place(to);
                call.receive_count = rows_in[size_t(me)];
                call.receive_type = in_type;
                call.root = root;
                if (me != root)
                    return;
                call.send = rows.data();
                call.send_counts = Counts{rows_out.data()};
                call.send_displacements = Counts{rows_out_at.data()};
                call.send_type = out_type;
            });
    }
}

void movements(Team* team, const char* layout, const std::vector<long>& counts) {
    for (long pairs : counts)
        for (bool mixed : {false, true})
            for (bool in_place : {false, true}) {
                const Side out = side(!alike && me % 2, mixed, pairs),
                           in = side(alike || me / 2 % 2, mixed, pairs);
                const unsigned seed = unsigned(me) + 1;
                auto name = [&](int root) {
                    return words(mixed ? "mixed" : "shifted", "", pairs, in_place, root);
                };
                Buffer one(out.count, out.type, seed), all(out.count * size, out.type, seed);
                const Buffer into_one(in.count, in.type, seed + 70),
                    into_all(in.count * size, in.type, seed + 70);
                const int out_count = int(out.count), in_count = int(in.count);
                const void* one_or_in_place = in_place ? MPI_IN_PLACE : one.data();
                auto both = [&](Arguments& call, const void* send, void* receive) {
                    call.send = send;
                    call.receive = receive;
                    call.send_count = out.count;
                    call.send_type = out.type;
                    call.receive_count = in.count;
                    call.receive_type = in.type;
                };
                compare(
                    team, layout, {Collective::allgather, name(0)}, in.count * size, in.type, Compare::whole,
                    into_all,
                    [&](void* to) {
                        return MPI_Allgather(one_or_in_place, out_count, out.type, to, in_count, in.type,
                                             MPI_COMM_WORLD);
                    },
                    [&](Arguments& call, void* to) { both(call, one_or_in_place, to); });
                const void* all_or_in_place = in_place ? MPI_IN_PLACE : all.data();
                // In place, one side's datatype serves both ways: equal signatures are enough.
                compare(
                    team, layout, {Collective::alltoall, name(0)}, in.count * size, in.type, Compare::whole,
                    into_all,
                    [&](void* to) {
                        return MPI_Alltoall(all_or_in_place, out_count, out.type, to, in_count, in.type,
                                            MPI_COMM_WORLD);
                    },
                    [&](Arguments& call, void* to) { both(call, all_or_in_place, to); });
                for (int root : roots()) {
                    if (!in_place)
                        compare(
                            team, layout, {Collective::bcast, name(root)}, in.count, in.type, Compare::whole,
                            into_one,
                            [&](void* to) { return MPI_Bcast(to, in_count, in.type, root, MPI_COMM_WORLD); },
                            [&](Arguments& call, void* to) {
                                both(call, nullptr, to);
                                call.root = root;
                            });
                    const void* send = me == root ? one_or_in_place : one.data();
                    compare(
                        team, layout, {Collective::gather, name(root)}, in.count * size, in.type,
                        me == root ? Compare::whole : Compare::nothing, into_all,
                        [&](void* to) {
                            return MPI_Gather(send, out_count, out.type, to, in_count, in.type, root,
                                              MPI_COMM_WORLD);
                        },
                        [&](Arguments& call, void* to) {
                            both(call, send, to);
                            call.root = root;
                        });
                    auto place = [&](void* to) { return me == root && in_place ? MPI_IN_PLACE : to; };
                    compare(
                        team, layout, {Collective::scatter, name(root)}, in.count, in.type, Compare::whole,
                        into_one,
                        [&](void* to) {
                            return MPI_Scatter(all.data(), out_count, out.type, place(to), in_count, in.type,
                                               root, MPI_COMM_WORLD);
                        },
                        [&](Arguments& call, void* to) {
                            both(call, all.data(), place(to));
                            call.root = root;
                        });
                }
                varied(team, layout, pairs, mixed, in_place, name(0));
            }
}

/// Seconds, the same for all processes of a machine: MPI_Wtime may begin anew in each.
double now() {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

/// Nobody leaves a barrier before all have come.
void barriers(Team* team, const char* layout) {
    for (const Algorithm* algorithm : algorithms()) {
        Arguments call{*team};
        if (algorithm->collective != Collective::barrier ||
            !serves_here(*algorithm, workload_of(Collective::barrier, call)))
            continue;
        for (int round = 0; round < (quick ? 5 : 40); ++round) {
            const int late = round % size;
            double stamp = 0, last = 0;
            MPI_Barrier(MPI_COMM_WORLD);
            if (me == late)
                for (const double begin = now(); now() - begin < 1e-3;)
                    ;
            const double came = now();
            failed += algorithm->run(call) != MPI_SUCCESS;
            stamp = now();
            MPI_Allreduce(&came, &last, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
            ++compared;
            if (stamp < last) {
                ++failed;
                std::printf("rank %d: barrier/%s on %s let it go too early\n", me, algorithm->name, layout);
            }
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    for (int at = 1; at < argc; ++at) {
        quick |= std::strcmp(argv[at], "quick") == 0;
        alike |= std::strcmp(argv[at], "alike") == 0;
        if (std::strncmp(argv[at], "only=", 5) == 0)
            only.emplace_back(argv[at] + 5);
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    world::bind();
    make_handles();
    const std::vector<long> counts =
        quick ? std::vector<long>{0, 1, 37, 6001} : std::vector<long>{0, 1, 2, 37, 1024, 6001, 70001};
    for (const Arrangement& layout : layouts) {
        compared_here = layout.serving;
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, 0, me, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        Team* team = Team::make(comm, layout.split, layout.seat(me));
        if (!team) {
            std::printf("rank %d: no team on %s\n", me, layout.name);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        barriers(team, layout.name);
        reductions(team, layout.name, counts);
        movements(team, layout.name, counts);
        delete team;
        MPI_Comm_free(&comm);
    }
    long sums[2] = {compared, failed}, all[2];
    MPI_Reduce(sums, all, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (me == 0)
        std::printf("%ld compared, %ld failed\n", all[0], all[1]);
    MPI_Finalize();
    return 0;
}
