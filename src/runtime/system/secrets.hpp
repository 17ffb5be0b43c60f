// Masking of arguments that look like secrets in the record, which others may read; see host/command_log.py.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace mpiric::system {

constexpr std::string_view secret_mask = "***";

/// Whether the name of an option or variable ends with one of the words that name a secret.
inline bool names_secret(std::string_view name) noexcept {
    constexpr std::array<std::string_view, 13> words = {
        "password", "passwd",    "passphrase", "secret",     "token",   "credential",   "credentials",
        "apikey",   "accesskey", "secretkey",  "privatekey", "authkey", "encryptionkey"};
    constexpr size_t longest = 128;
    char plain[longest];
    size_t length = 0;
    for (const char sign : name) {
        if (!std::isalnum(uint8_t(sign)) && sign != '-' && sign != '_' && sign != '.')
            return false;
        if (std::isalnum(uint8_t(sign)) && length < longest)
            plain[length++] = char(std::tolower(uint8_t(sign)));
    }
    const std::string_view text{plain, length};
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return text.ends_with(word); });
}

/// Copies words that end with NUL to `to`, with spaces between them and `***` instead of values that look
/// like secrets: `--password=x`, `--password x`, `token=x`, `scheme://user:x@host`. Ends with NUL.
inline void copy_masked(std::string_view words, char* to, size_t size, bool shows_secrets) noexcept {
    size_t used = 0;
    const auto put = [&](std::string_view text) {
        const size_t count = std::min(text.size(), size - 1 - used);
        used += text.copy(to + used, count);
    };
    bool follows = false;
    for (size_t at = 0; at < words.size();) {
        const std::string_view word = words.substr(at, words.find('\0', at) - at);
        if (at)
            put(" ");
        at += word.size() + 1;
        const size_t sets = word.find_first_of("=:");
        const size_t user = word.find("://");
        const size_t host = user == word.npos ? word.npos : word.find('@', user);
        const size_t value = user == word.npos ? word.npos : word.find(':', user + 3);
        if (!shows_secrets && follows && !word.starts_with('-')) {
            put(secret_mask);
        } else if (!shows_secrets && sets != word.npos && names_secret(word.substr(0, sets))) {
            put(word.substr(0, sets + 1));
            put(secret_mask);
        } else if (!shows_secrets && host != word.npos && value < host) {
            put(word.substr(0, value + 1));
            put(secret_mask);
            put(word.substr(host));
        } else {
            put(word);
        }
        follows = word.starts_with('-') && names_secret(word);
    }
    to[used] = '\0';
}

/// Whether the user turned masking off.
inline bool shows_secrets() noexcept {
    const char* set = std::getenv("MPIRIC_SHOW_SECRETS");
    return set && *set && std::string_view{set} != "0";
}

}  // namespace mpiric::system
