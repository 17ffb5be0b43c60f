#include "system/devices.hpp"

#include <cstring>
#include <initializer_list>
#include <link.h>

namespace mpiric::system {

bool device_driver_loaded() noexcept {
    auto is_driver = [](dl_phdr_info* object, size_t, void*) {
        for (const char* name : {"libcuda.so", "libamdhip64.so", "libhsa-runtime64.so", "libze_loader.so"})
            if (object->dlpi_name && std::strstr(object->dlpi_name, name))
                return 1;
        return 0;
    };
    return dl_iterate_phdr(is_driver, nullptr) != 0;
}

}  // namespace mpiric::system
