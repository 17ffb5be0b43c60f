// Lists the library's algorithms from spec/candidates (tune/candidates.inc), with variants by parameter.
#include "tune/candidate.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <charconv>

namespace mpiric::tune {
namespace {

struct Algorithm {
    std::string_view implementation, collective, scope, name, since, until;
    std::string_view writes;      ///< `variable=value` with a space between two
    std::string_view parameters;  ///< `key=variable=value,value` with a space between two
};

constexpr Algorithm algorithms[] = {
#include "tune/candidates.inc"
};

std::vector<uint32_t> numbers_of(std::string_view text) {
    std::vector<uint32_t> numbers;
    while (!text.empty()) {
        uint32_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (error != std::errc{})
            break;
        numbers.push_back(number);
        text.remove_prefix(size_t(end - text.data()));
        if (text.empty() || text.front() != '.')
            break;
        text.remove_prefix(1);
    }
    return numbers;
}

bool has(const Algorithm& algorithm, std::string_view implementation, const std::vector<uint32_t>& version) {
    return algorithm.implementation == implementation &&
           (algorithm.since.empty() || version >= numbers_of(algorithm.since)) &&
           (algorithm.until.empty() || version < numbers_of(algorithm.until));
}

std::vector<Write> writes_of(const Algorithm& algorithm) {
    std::vector<Write> writes;
    for (std::string_view rest = algorithm.writes; !rest.empty();) {
        std::string_view pair = cut(rest, ' ');
        const std::string_view variable = cut(pair, '=');
        writes.push_back({std::string(variable), std::string(pair)});
    }
    return writes;
}

/// Variable of a parameter; empty when it has no such parameter. `values`: worth trying.
std::string_view variable_of(const Algorithm& algorithm, std::string_view key, std::string_view& values) {
    for (std::string_view rest = algorithm.parameters; !rest.empty();) {
        std::string_view parameter = cut(rest, ' ');
        if (cut(parameter, '=') != key)
            continue;
        const std::string_view variable = cut(parameter, '=');
        values = parameter;
        return variable;
    }
    return {};
}

bool is_number(std::string_view text) {
    return !text.empty() && text.size() <= 18 &&
           std::all_of(text.begin(), text.end(), [](char digit) { return digit >= '0' && digit <= '9'; });
}

/// Whether an algorithm is one of a collective's. Persistent forms obey nonblocking ones' variables.
bool is_for(const Algorithm& algorithm, Collective collective) {
    const Form form = form_of(collective);
    return algorithm.collective ==
           name_of(form == Form::persistent ? in_form(collective, Form::nonblocking) : collective);
}

/// Whether a form may be given another algorithm. Persistent collectives of MPICH before 4.2 fail in their
/// second use with some schedules.
bool is_sound(Form form, const Library& library) {
    return form != Form::persistent || library.implementation != "mpich" ||
           library.version >= std::vector<uint32_t>{4, 2};
}

constexpr std::string_view switched = "library:";
constexpr std::string_view ours = "own:";

}  // namespace

std::string Library::version_text() const {
    std::string text;
    for (const uint32_t part : version)
        text += (text.empty() ? "" : ".") + std::to_string(part);
    return text;
}

Library library_of(std::string_view text) {
    struct Known {
        std::string_view implementation, sign;
    };
    constexpr Known known[] = {{"openmpi", "Open MPI v"},
                               {"intelmpi", "Intel(R) MPI Library "},
                               {"craympich", "CRAY MPICH version "},
                               {"mvapich", "MVAPICH Version"},
                               {"mvapich", "MVAPICH2 Version"},
                               {"mpich", "MPICH Version"}};
    for (const Known& product : known) {
        const size_t at = text.find(product.sign);
        if (at == std::string_view::npos)
            continue;
        std::string_view rest = text.substr(at + product.sign.size());
        rest.remove_prefix(std::min(rest.find_first_of("0123456789"), rest.size()));
        return {std::string(product.implementation), numbers_of(rest)};
    }
    return {};
}

Catalogue::Catalogue(const Library& library)
    : implementation_(library.implementation), version_(library.version) {
    for (uint32_t at = 0; at < collective_count; ++at) {
        candidates_.push_back({Collective(at), Kind::library, "library", {}});
        for (const Algorithm& algorithm : algorithms)
            if (is_for(algorithm, Collective(at)) && has(algorithm, implementation_, version_) &&
                is_sound(form_of(Collective(at)), library))
                add(Collective(at), std::string(switched) + std::string(algorithm.name), writes_of(algorithm),
                    algorithm.scope.starts_with("communicator") ? Scope::communicator : Scope::process,
                    algorithm.parameters);
    }
}

void Catalogue::add(Collective collective, std::string name, std::vector<Write> writes, Scope scope,
                    std::string_view parameters) {
    const auto parent = int32_t(size());
    candidates_.push_back({collective, Kind::switched, std::move(name), std::move(writes), scope});
    while (!parameters.empty()) {
        std::string_view values = cut(parameters, ' ');
        const std::string key{cut(values, '=')};
        const std::string variable{cut(values, '=')};
        while (!values.empty()) {
            const std::string value{cut(values, ',')};
            Candidate variant = candidates_[size_t(parent)];
            variant.name.append(" ").append(key).append("=").append(value);
            variant.writes.push_back({variable, value});
            variant.parent = parent;
            candidates_.push_back(std::move(variant));
        }
    }
}

void Catalogue::add_own(Collective collective, std::string_view name) {
    candidates_.push_back({collective, Kind::own, std::string(ours) + std::string(name), {}});
}

int32_t Catalogue::index_of(Collective collective, std::string_view name) const {
    for (uint32_t at = 0; at < size(); ++at)
        if (candidates_[at].collective == collective && candidates_[at].name == name)
            return int32_t(at);
    return -1;
}

int32_t Catalogue::find(Collective collective, std::string_view name) {
    if (const int32_t known = index_of(collective, name); known >= 0)
        return known;
    std::string_view rest = name;
    const std::string_view base = cut(rest, ' ');
    const int32_t parent = rest.empty() ? -1 : find(collective, base);
    if (parent < 0 || candidates_[size_t(parent)].kind != Kind::switched)
        return -1;
    const auto algorithm =
        std::find_if(std::begin(algorithms), std::end(algorithms), [&](const Algorithm& algorithm) {
            return is_for(algorithm, collective) && has(algorithm, implementation_, version_) &&
                   algorithm.name == base.substr(switched.size());
        });
    Candidate variant = candidates_[size_t(parent)];
    variant.name = name;
    variant.parent = parent;
    variant.worth_trying = false;
    while (!rest.empty()) {
        std::string_view value = cut(rest, ' '), known;
        const std::string_view variable = variable_of(*algorithm, cut(value, '='), known);
        if (variable.empty() || !is_number(value))
            return -1;
        variant.writes.push_back({std::string(variable), std::string(value)});
    }
    candidates_.push_back(std::move(variant));
    return int32_t(size()) - 1;
}

std::vector<uint32_t> Catalogue::of(Collective collective) const {
    std::vector<uint32_t> found;
    for (uint32_t at = 0; at < size(); ++at)
        if (candidates_[at].collective == collective && candidates_[at].worth_trying)
            found.push_back(at);
    return found;
}

}  // namespace mpiric::tune
