// Where each exported name leads.
#pragma once

#include "symbols/layer.hpp"

#include <cstdint>
#include <span>

namespace mpiric::symbols {

/// The layers that are enabled in this process, in their order; empty until the first call.
std::span<const Layer* const> enabled_layers() noexcept;

/// Calls a hook of each enabled layer that has it, in order.
template <class Hook, class... Arguments> void call_layers(Hook Layer::* hook, Arguments&&... arguments) {
    for (const Layer* layer : enabled_layers())
        if (layer->*hook)
            (layer->*hook)(arguments...);
}
template <class Hook, class... Arguments>
void call_layers_in_reverse(Hook Layer::* hook, Arguments&&... arguments) {
    const auto enabled = enabled_layers();
    for (size_t at = enabled.size(); at > 0; --at)
        if (enabled[at - 1]->*hook)
            (enabled[at - 1]->*hook)(arguments...);
}

/// Asks the layers for their interest again: one of them needs more functions of MPI or of libc.
void interest_changed() noexcept;

/// Leads every exported name straight to its next definition, from here on.
void deactivate() noexcept;

/// Number of times that a library has been opened by name: others may be loaded after each.
uint32_t library_openings() noexcept;

/// Leaves visible to later look-ups those MPI names that the loaded library has, and no other: a program that
/// looks for a function must find what it would find without us.
void show_what_the_library_has() noexcept;

}  // namespace mpiric::symbols
