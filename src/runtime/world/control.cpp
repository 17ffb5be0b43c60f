// Finds control variables by name, and spells their values by type, or by MPICH's description.
#include "world/control.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <string_view>
#include <unordered_map>

namespace mpiric::world {

constexpr size_t most_bytes = 4096;

const std::unordered_map<std::string, int>& variables() {
    static const std::unordered_map<std::string, int> known = [] {
        std::unordered_map<std::string, int> names;
        int provided = 0, count = 0;
        if (!library.T_init_thread || library.T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
            return names;
        library.T_cvar_get_num(&count);
        for (int at = 0; at < count; ++at) {
            char name[512] = "";
            int length = sizeof name, verbosity = 0, bind = 0, scope = 0;
            if (library.T_cvar_get_info(at, name, &length, &verbosity, nullptr, nullptr, nullptr, nullptr,
                                        &bind, &scope) == MPI_SUCCESS)
                names.emplace(name, at);
        }
        return names;
    }();
    return known;
}

int described_value(const char* description, const char* name) noexcept {
    const std::string_view text = description, wanted = name;
    const auto part_of_name = [](char letter) {
        return std::isalnum(static_cast<unsigned char>(letter)) || letter == '_';
    };
    int glued = -1, number = 0;
    for (size_t at = text.find(" - "); at != std::string_view::npos;
         at = text.find(" - ", at + 3), ++number) {
        const std::string_view before = text.substr(0, text.find_last_not_of(' ', at) + 1);
        if (!before.ends_with(wanted))
            continue;
        const std::string_view rest = before.substr(0, before.size() - wanted.size());
        if (rest.empty() || !part_of_name(rest.back()))
            return number;
        // MPICH 4.0 puts no line ends between the descriptions.
        if (rest.ends_with("algorithm") || rest.ends_with("allreduce") || rest.ends_with("primitives") ||
            rest.ends_with("collectives"))
            glued = number;
    }
    return glued;
}

bool Setting::spell(const std::string& value, const char* description) noexcept {
    if (element_bytes_ == 1 && count_ > 1) {
        if (value.size() >= value_.size())
            return false;
        std::copy(value.begin(), value.end(), value_.begin());
        return true;
    }
    long number = 0;
    if (!read_number(value, number))
        number = described_value(description, value.c_str());
    if (number < 0 || count_ != 1 || element_bytes_ > sizeof number)
        return false;
    std::memcpy(value_.data(), &number, element_bytes_);  // the low bytes come first
    return true;
}

bool Setting::find(const std::string& variable, const std::string& value) noexcept {
    const auto known = variables().find(variable);
    if (known == variables().end())
        return false;
    std::string description(size_t{1} << 16, '\0');
    int length = int(description.size()), verbosity = 0, bind = 0, scope = 0, bytes = 0;
    MPI_Datatype type{};
    if (library.T_cvar_get_info(known->second, nullptr, nullptr, &verbosity, &type, nullptr,
                                description.data(), &length, &bind, &scope) != MPI_SUCCESS ||
        library.T_cvar_handle_alloc(known->second, nullptr, &handle_, &count_) != MPI_SUCCESS ||
        library.Type_size(type, &bytes) != MPI_SUCCESS)
        return false;
    element_bytes_ = size_t(bytes);
    if (count_ <= 0 || bytes <= 0 || size_t(count_) * element_bytes_ > most_bytes)
        return false;
    value_.resize(size_t(count_) * element_bytes_);
    before_.resize(value_.size());
    return spell(value, description.c_str());
}

bool Setting::open(const std::string& variable, const std::string& value) noexcept {
    if (!find(variable, value))
        return false;
    if (apply()) {
        restore();
        return true;
    }
    // A variable that can no longer be written may already have the value.
    return before_ == value_;
}

bool Setting::apply() noexcept {
    if (library.T_cvar_read(handle_, before_.data()) != MPI_SUCCESS)
        return false;
    return before_ == value_ || library.T_cvar_write(handle_, value_.data()) == MPI_SUCCESS;
}

bool Setting::is_in_force(const std::string& variable, const std::string& value) noexcept {
    return find(variable, value) && library.T_cvar_read(handle_, before_.data()) == MPI_SUCCESS &&
           before_ == value_;
}

void Setting::restore() noexcept {
    if (before_ != value_)
        library.T_cvar_write(handle_, before_.data());
}

bool Settings::open(const std::string& variable, const std::string& value) noexcept {
    Setting setting;
    if (!setting.open(variable, value))
        return false;
    settings_.push_back(std::move(setting));
    return true;
}

bool Settings::apply() noexcept {
    for (size_t at = 0; at < settings_.size(); ++at) {
        if (settings_[at].apply())
            continue;
        while (at > 0)
            settings_[--at].restore();
        return false;
    }
    return true;
}

void Settings::restore() noexcept {
    for (auto setting = settings_.rbegin(); setting != settings_.rend(); ++setting)
        setting->restore();
}

}  // namespace mpiric::world
