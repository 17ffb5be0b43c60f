# Toolchain of the native parts that run wherever glibc is MPIRIC_GLIBC or later: Zig's clang with the symbol versions of that glibc.
#   cmake --toolchain cmake/Portable.cmake -DMPIRIC_ZIG=.../ziglang/zig -DMPIRIC_ARCH=aarch64 ...
# `make native-portable` calls it for each architecture, with Zig from PyPI (ziglang).
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MPIRIC_ZIG MPIRIC_ARCH MPIRIC_GLIBC)
if(NOT DEFINED MPIRIC_GLIBC)
  set(MPIRIC_GLIBC 2.17) # of CentOS 7, and of the tag manylinux_2_17
endif()
if(NOT MPIRIC_ZIG OR NOT MPIRIC_ARCH)
  message(FATAL_ERROR "MPIRIC_ZIG and MPIRIC_ARCH are needed: the program zig, and x86_64 or aarch64")
endif()

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${MPIRIC_ARCH})

# Called through files of their own, since CMake and ccache want a compiler to be one program.
set(target ${MPIRIC_ARCH}-linux-gnu.${MPIRIC_GLIBC})
set(tools ${CMAKE_BINARY_DIR}/zig/${target})
foreach(tool IN ITEMS cc c++)
  set(call "${tool} -target ${target} -fno-sanitize=undefined")
  set(text "#!/bin/sh\nexec '${MPIRIC_ZIG}' ${call} \"$@\"\n")
  file(CONFIGURE OUTPUT ${tools}/${tool} CONTENT "${text}" @ONLY)
  file(CHMOD ${tools}/${tool} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE)
endforeach()
set(CMAKE_C_COMPILER ${tools}/cc)
set(CMAKE_CXX_COMPILER ${tools}/c++)
set(CMAKE_ASM_COMPILER ${tools}/cc)

# Only with musl can Zig link a program that needs no loader.
set(MPIRIC_STATIC_TARGET -target ${MPIRIC_ARCH}-linux-musl)
set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
