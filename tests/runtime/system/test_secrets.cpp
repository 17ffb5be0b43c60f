// Masked arguments of the program in a record.
#include "system/secrets.hpp"

#include <doctest/doctest.h>
#include <string>

using namespace mpiric::system;

namespace {

std::string masked(std::string words, bool shows_secrets = false, size_t size = 200) {
    for (char& sign : words)
        sign = sign == ' ' ? '\0' : sign;
    std::string text(size, 'x');
    copy_masked(words, text.data(), size, shows_secrets);
    return text.c_str();
}

}  // namespace

TEST_CASE("values of arguments that look like secrets are masked") {
    CHECK(masked("app --password=x in.nml") == "app --password=*** in.nml");
    CHECK(masked("app --db-password x y") == "app --db-password *** y");
    CHECK(masked("app API_KEY=x") == "app API_KEY=***");
    CHECK(masked("app --auth-token:x") == "app --auth-token:***");
    CHECK(masked("app db://user:x@host/table") == "app db://user:***@host/table");
}

TEST_CASE("other arguments stay") {
    for (const char* words : {"app -p 8", "app --tokens 128", "app --password-file x", "app http://host:80/a",
                              "app --password --size 3", "app secret in.nml"})
        CHECK(masked(words) == words);
    CHECK(masked("app --password=x", true) == "app --password=x");
}

TEST_CASE("a long command is cut at the room there is") {
    CHECK(masked("app --password=x in.nml", false, 8) == "app --p");
    CHECK(masked("", false, 8).empty());
}
