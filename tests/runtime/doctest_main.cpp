// The main function of every unit test of the runtime: compiled once, linked to each.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
