#include "marks/mark.hpp"

#include <charconv>

namespace mpiric::marks {
namespace {

template <class Number> bool read_number(std::string_view text, Number& number, int base = 10) noexcept {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
    return error == std::errc{} && end == text.data() + text.size();
}

/// Cuts off what follows the last such character, and the character; false when there is none.
bool cut_last(std::string_view& text, std::string_view separator, std::string_view& rest) noexcept {
    const size_t at = text.rfind(separator);
    if (at == std::string_view::npos)
        return false;
    rest = text.substr(at + separator.size());
    text = text.substr(0, at);
    return true;
}

bool read_place(std::string_view text, Mark& mark) noexcept {
    if (text == "*")
        return true;
    std::string_view offset;
    if (!cut_last(text, "+0x", offset) || text.empty())
        return false;
    mark.module = text;
    return read_number(offset, mark.offset, 16);
}

bool read_communicator(std::string_view text, Mark& mark) noexcept {
    if (text == "*")
        return true;
    std::string_view birth;
    return cut_last(text, ".", birth) && read_number(text, mark.ranks) && mark.ranks > 0 &&
           read_number(birth, mark.birth);
}

}  // namespace

bool read_mark(std::string_view text, Mark& mark) noexcept {
    mark = {};
    std::string_view numbers, last, communicator;
    if (!cut_last(text, ":", numbers) || !cut_last(numbers, ",", last) || !read_number(numbers, mark.first) ||
        !read_number(last, mark.last) || mark.first < 1 || mark.last <= mark.first)
        return false;
    // The function has no @, a file may.
    const size_t at = text.find('@');
    if (at == std::string_view::npos || at == 0)
        return false;
    mark.function = text.substr(0, at);
    text = text.substr(at + 1);
    return cut_last(text, "@", communicator) && read_place(text, mark) &&
           read_communicator(communicator, mark);
}

}  // namespace mpiric::marks
