// Wrappers of stdio.
#pragma once

#include <cstdarg>
#include <cstdio>

namespace mpiric::wrap {

FILE* w_fopen(const char* path, const char* mode);
FILE* w_fopen64(const char* path, const char* mode);
int w_fclose(FILE* stream);
int w_fflush(FILE* stream);
size_t w_fread(void* to, size_t size, size_t count, FILE* stream);
size_t w_fwrite(const void* from, size_t size, size_t count, FILE* stream);
int w_fputs(const char* text, FILE* stream);
int w_puts(const char* text);
int w_printf(const char* format, ...);
int w_fprintf(FILE* stream, const char* format, ...);
int w_vprintf(const char* format, va_list arguments);
int w_vfprintf(FILE* stream, const char* format, va_list arguments);

}  // namespace mpiric::wrap
