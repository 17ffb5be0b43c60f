/* The dispatcher of a fat executable: chooses a variant once, before any code of a variant runs.
 *
 * Compiled for the baseline with general registers only, and without the C library.  The including file defines
 * the tables MPIRIC_VARIANTS, mpiric_features, mpiric_info and mpiric_only.
 */
#include "choose.h"
#include "dispatch.h"
#include "system.h"

__attribute__((visibility("hidden"))) void *const *mpiric_live; /* the chosen variant's functions */
static int mpiric_chosen = -1;

static const char *mpiric_value(char **environment, const char *name) {
  mpiric_u64 i, n = mpiric_length(name);
  for (; environment && *environment; environment++) {
    for (i = 0; i < n && (*environment)[i] == name[i]; i++) {
    }
    if (i == n && (*environment)[n] == '=') return *environment + n + 1;
  }
  return 0;
}

/* Names are compared with '-' and '.' as '_': compilers and archspec spell the same target differently. */
static int mpiric_same(const char *a, const char *b) {
  for (;; a++, b++) {
    char x = *a == '-' || *a == '.' ? '_' : *a;
    char y = *b == '-' || *b == '.' ? '_' : *b;
    if (x != y) return 0;
    if (!x) return 1;
  }
}

/* "v3" names x86_64_v3, as long as no other variant ends so. */
static int mpiric_named(const char *name) {
  int i, found = -1;
  mpiric_u64 own, given = mpiric_length(name);
  for (i = 0; i < MPIRIC_VARIANT_COUNT; i++)
    if (mpiric_same(mpiric_variants[i].name, name)) return i;
  for (i = 0; i < MPIRIC_VARIANT_COUNT; i++) {
    own = mpiric_length(mpiric_variants[i].name);
    if (own <= given || mpiric_variants[i].name[own - given - 1] != '_') continue;
    if (!mpiric_same(mpiric_variants[i].name + own - given, name)) continue;
    if (found >= 0) return -1;
    found = i;
  }
  return found;
}

static void mpiric_complain(const char *name, const char *why, const char *what) {
  struct mpiric_line line = {0, ""};
  mpiric_add(&line, "mpiric: ");
  mpiric_add(&line, name);
  mpiric_add(&line, why);
  mpiric_add(&line, what);
  mpiric_print(&line);
}

/* A choice by name holds only when this CPU can run it. */
static int mpiric_by_name(struct mpiric_answers *answers, const char *name) {
  int lacking, index = mpiric_named(name);
  if (index < 0) {
    mpiric_complain(name, " is not among the variants of this executable; ", "MPIRIC_EXPLAIN=2 names them");
    return -1;
  }
  lacking = mpiric_lacks(answers, mpiric_features, &mpiric_variants[index]);
  if (lacking == MPIRIC_NO_FEATURE) return index;
  mpiric_complain(name, " cannot run here, it needs ", mpiric_features[lacking].name);
  return -1;
}

/* One line that names the chosen variant and no other, so that scripts can look for the word in it. */
static void mpiric_explain(struct mpiric_answers *answers, int is_wanted) {
  struct mpiric_line line = {0, ""};
  const char *separator = "; this CPU lacks ";
  int i, lacking, said = MPIRIC_NO_FEATURE;
  mpiric_add(&line, "mpiric: ");
  mpiric_add(&line, mpiric_variants[mpiric_chosen].name);
  mpiric_add(&line, is_wanted ? " chosen, as asked" : " chosen");
  for (i = 0; i < MPIRIC_VARIANT_COUNT; i++) {
    lacking = mpiric_lacks(answers, mpiric_features, &mpiric_variants[i]);
    if (lacking == MPIRIC_NO_FEATURE || lacking == said) continue;
    said = lacking;
    mpiric_add(&line, separator);
    mpiric_add(&line, mpiric_features[lacking].name);
    separator = ", ";
  }
  mpiric_print(&line);
}

/* MPIRIC_EXPLAIN=2: a line for each of the others too. */
static void mpiric_explain_others(struct mpiric_answers *answers) {
  int i, lacking;
  for (i = 0; i < MPIRIC_VARIANT_COUNT; i++) {
    if (i == mpiric_chosen) continue;
    lacking = mpiric_lacks(answers, mpiric_features, &mpiric_variants[i]);
    if (lacking == MPIRIC_NO_FEATURE)
      mpiric_complain(mpiric_variants[i].name, " could run too", "");
    else
      mpiric_complain(mpiric_variants[i].name, " needs ", mpiric_features[lacking].name);
  }
}

static void mpiric_install(const struct mpiric_variant *variant) {
  mpiric_u32 i;
  for (i = 0; i < variant->copy_count; i++) {
    const struct mpiric_copy *copy = &variant->copies[i];
    if (copy->read_only) mpiric_protect(copy->to, copy->bytes, MPIRIC_READ_WRITE);
    mpiric_copy_bytes(copy->to, copy->from, copy->bytes);
  }
  for (i = 0; i < variant->copy_count; i++)
    if (variant->copies[i].read_only)
      mpiric_protect(variant->copies[i].to, variant->copies[i].bytes, MPIRIC_READ);
  mpiric_live = variant->functions;
}

static void mpiric_decide(char **environment, const mpiric_u64 hwcap[2]) {
  struct mpiric_cpu cpu = {mpiric_real_cpuid, mpiric_real_state, {hwcap[0], hwcap[1]}};
  struct mpiric_answers answers;
  const char *wanted = mpiric_only.name[0] ? (const char *)mpiric_only.name : 0;
  const char *explain = mpiric_value(environment, "MPIRIC_EXPLAIN");
  int is_wanted = 0;
  __asm__ volatile("" : : "r"(mpiric_info)); /* keeps it under --gc-sections */
  answers.cpu = &cpu;
  answers.count = 0;
  if (wanted) {
    int index = mpiric_named(wanted);
    if (index < 0 || mpiric_lacks(&answers, mpiric_features, &mpiric_variants[index]) != MPIRIC_NO_FEATURE) {
      mpiric_complain("this executable holds only ", wanted, ", which this CPU cannot run");
      mpiric_syscall(SYS_EXIT_GROUP, MPIRIC_NOT_RUNNABLE, 0, 0, 0);
    }
    mpiric_chosen = index;
  } else {
    wanted = mpiric_value(environment, "MPIRIC_TARGET");
    if (wanted && *wanted) mpiric_chosen = mpiric_by_name(&answers, wanted);
    is_wanted = mpiric_chosen >= 0;
    if (mpiric_chosen < 0)
      mpiric_chosen = mpiric_choose(&answers, mpiric_features, mpiric_variants, MPIRIC_VARIANT_COUNT);
  }
  if (mpiric_chosen < 0) {
    int last = MPIRIC_VARIANT_COUNT - 1;
    int lacking = mpiric_lacks(&answers, mpiric_features, &mpiric_variants[last]);
    mpiric_complain("this CPU lacks ", mpiric_features[lacking].name, ", which even the baseline needs");
    mpiric_syscall(SYS_EXIT_GROUP, MPIRIC_NOT_RUNNABLE, 0, 0, 0);
  }
  mpiric_install(&mpiric_variants[mpiric_chosen]);
  if (!explain || !*explain || *explain == '0') return;
  mpiric_explain(&answers, is_wanted);
  if (*explain == '2') mpiric_explain_others(&answers);
}

/* AT_HWCAP and AT_HWCAP2 stand behind the environment on the initial stack. */
static void mpiric_auxiliary(char **environment, mpiric_u64 hwcap[2]) {
  const mpiric_u64 *entry;
  while (*environment) environment++;
  for (entry = (const mpiric_u64 *)(environment + 1); entry[0]; entry += 2) {
    if (entry[0] == 16) hwcap[0] = entry[1];
    if (entry[0] == 26) hwcap[1] = entry[1];
  }
}

static void mpiric_call(struct mpiric_calls calls, int count, char **arguments, char **environment) {
  mpiric_u64 i;
  for (i = 0; i < calls.count; i++)
    if (calls.first[i] && calls.first[i] != (void (*)(int, char **, char **)) - 1)
      calls.first[i](count, arguments, environment);
}

static void mpiric_call_backwards(struct mpiric_calls calls, int count, char **arguments, char **environment) {
  mpiric_u64 i;
  for (i = calls.count; i-- > 0;)
    if (calls.first[i] && calls.first[i] != (void (*)(int, char **, char **)) - 1)
      calls.first[i](count, arguments, environment);
}

/* Before the initial stack can be had: a library calls one of our functions while it is being loaded. */
static char mpiric_words[65536];
static char *mpiric_pointers[4];

static mpiric_u64 mpiric_slurp(const char *path, char *into, mpiric_u64 room) {
  long got, used = 0, file = mpiric_syscall(SYS_OPENAT, -100, (long)path, 0, 0);
  if (file < 0) return 0;
  while (used < (long)room && (got = mpiric_syscall(SYS_READ, file, (long)into + used, (long)room - used, 0)) > 0)
    used += got;
  mpiric_syscall(SYS_CLOSE, file, 0, 0, 0);
  return (mpiric_u64)used;
}

__attribute__((visibility("hidden"), used)) void mpiric_decide_early(void) {
  static const char *const names[] = {"MPIRIC_TARGET=", "MPIRIC_EXPLAIN="};
  mpiric_u64 hwcap[2] = {0, 0}, used, at, i, found = 0;
  mpiric_u64 auxiliary[128];
  if (mpiric_chosen >= 0) return;
  used = mpiric_slurp("/proc/self/auxv", (char *)auxiliary, sizeof auxiliary) / 16;
  for (i = 0; i < used; i++) {
    if (auxiliary[2 * i] == 16) hwcap[0] = auxiliary[2 * i + 1];
    if (auxiliary[2 * i] == 26) hwcap[1] = auxiliary[2 * i + 1];
  }
  used = mpiric_slurp("/proc/self/environ", mpiric_words, sizeof mpiric_words - 1);
  for (at = 0; at < used && found < 3; at += mpiric_length(mpiric_words + at) + 1)
    for (i = 0; i < 2; i++) {
      mpiric_u64 k = 0;
      while (names[i][k] && mpiric_words[at + k] == names[i][k]) k++;
      if (!names[i][k]) mpiric_pointers[found++] = mpiric_words + at;
    }
  mpiric_decide(mpiric_pointers, hwcap);
}

__attribute__((used)) static void mpiric_start(int count, char **arguments, char **environment) {
  mpiric_u64 hwcap[2] = {0, 0};
  if (mpiric_chosen < 0) {
    mpiric_auxiliary(environment, hwcap);
    mpiric_decide(environment, hwcap);
  }
  mpiric_call(mpiric_variants[mpiric_chosen].preinit, count, arguments, environment);
}

__attribute__((section(".preinit_array"), used)) static void (*mpiric_at_start)(int, char **, char **) =
    mpiric_start;

#if defined(__x86_64__)
/* Keeps every register that may hold an argument; vector registers are never touched by the dispatcher. */
__asm__(
    ".text\n.p2align 4\nmpiric_early:\n"
    "push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\npush %rax\npush %r10\n"
    "call mpiric_decide_early\n"
    "pop %r10\npop %rax\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\nret\n");
#elif defined(__aarch64__)
__asm__(
    ".text\n.p2align 4\nmpiric_early:\n"
    "stp x29, x30, [sp, -96]!\nstp x0, x1, [sp, 16]\nstp x2, x3, [sp, 32]\nstp x4, x5, [sp, 48]\n"
    "stp x6, x7, [sp, 64]\nstr x8, [sp, 80]\n"
    "bl mpiric_decide_early\n"
    "ldr x8, [sp, 80]\nldp x6, x7, [sp, 64]\nldp x4, x5, [sp, 48]\nldp x2, x3, [sp, 32]\nldp x0, x1, [sp, 16]\n"
    "ldp x29, x30, [sp], 96\nret\n");
#endif
