/* The few things the dispatcher asks of CPU and kernel, without the C library: it may not be ready yet. */
#ifndef MPIRIC_FAT_SYSTEM_H
#define MPIRIC_FAT_SYSTEM_H

#include "dispatch.h"

enum { MPIRIC_STDERR = 2, MPIRIC_READ = 1, MPIRIC_READ_WRITE = 3, MPIRIC_NOT_RUNNABLE = 126 };

#if defined(__x86_64__)
enum { SYS_READ = 0, SYS_WRITE = 1, SYS_CLOSE = 3, SYS_MPROTECT = 10, SYS_EXIT_GROUP = 231, SYS_OPENAT = 257 };

static long mpiric_syscall(long number, long a, long b, long c, long d) {
  long result;
  register long r10 __asm__("r10") = d;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                   : "rcx", "r11", "memory");
  return result;
}

static void mpiric_real_cpuid(mpiric_u32 leaf, mpiric_u32 subleaf, mpiric_u32 out[4]) {
  __asm__ volatile("cpuid" : "=a"(out[0]), "=b"(out[1]), "=c"(out[2]), "=d"(out[3]) : "a"(leaf), "c"(subleaf));
}

static mpiric_u64 mpiric_real_state(void) {
  mpiric_u32 low, high;
  __asm__ volatile(".byte 0x0f, 0x01, 0xd0" : "=a"(low), "=d"(high) : "c"(0)); /* xgetbv */
  return (mpiric_u64)high << 32 | low;
}

#elif defined(__aarch64__)
enum { SYS_READ = 63, SYS_WRITE = 64, SYS_CLOSE = 57, SYS_MPROTECT = 226, SYS_EXIT_GROUP = 94, SYS_OPENAT = 56 };

static long mpiric_syscall(long number, long a, long b, long c, long d) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
  return x0;
}

static void mpiric_real_cpuid(mpiric_u32 leaf, mpiric_u32 subleaf, mpiric_u32 out[4]) {
  (void)leaf, (void)subleaf;
  out[0] = out[1] = out[2] = out[3] = 0;
}

static mpiric_u64 mpiric_real_state(void) { return 0; }
#endif

static mpiric_u64 mpiric_length(const char *text) {
  mpiric_u64 n = 0;
  while (text[n]) n++;
  return n;
}

/* One line on stderr in one write, so that lines of many ranks stay whole. */
struct mpiric_line {
  mpiric_u64 used;
  char text[512];
};

static void mpiric_add(struct mpiric_line *line, const char *text) {
  while (*text && line->used < sizeof line->text - 1) line->text[line->used++] = *text++;
}

static void mpiric_print(struct mpiric_line *line) {
  line->text[line->used++] = '\n';
  mpiric_syscall(SYS_WRITE, MPIRIC_STDERR, (long)line->text, (long)line->used, 0);
}

/* Copies bytes; volatile keeps compilers from calling memcpy, which may be a variant's own. */
static void mpiric_copy_bytes(void *to, const void *from, mpiric_u64 bytes) {
  volatile char *out = to;
  const char *in = from;
  while (bytes--) *out++ = *in++;
}

/* Makes the pages under a range writable, or read-only again; pages are 4 KiB, or 64 KiB on some Arm kernels. */
static void mpiric_protect(void *at, mpiric_u64 bytes, int protection) {
  mpiric_u64 page = 4096, first, last;
  for (; page <= 65536; page *= 16) {
    first = (mpiric_u64)at & ~(page - 1);
    last = ((mpiric_u64)at + bytes + page - 1) & ~(page - 1);
    if (mpiric_syscall(SYS_MPROTECT, (long)first, (long)(last - first), protection, 0) == 0) return;
  }
}

#endif
