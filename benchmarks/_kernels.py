"""Kernels whose speed depends on the instruction set, as sources: what `fat` compiles."""

from collections.abc import Mapping

KERNELS: Mapping[str, tuple[str, str]] = {
    "dgemm": (
        "c",
        """
#define N 256
static double a[N][N], b[N][N], c[N][N];
CLONES static void work(void) {
  for (int i = 0; i < N; i++) for (int k = 0; k < N; k++)
    for (int j = 0; j < N; j++) c[i][j] += a[i][k] * b[k][j];
}
static double result(void) { return c[17][23]; }
static void fill(void) {
  for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) { a[i][j] = i % 7; b[i][j] = j % 5; }
}
""",
    ),
    "stencil": (
        "c",
        """
#define N 256
static float u[N][N], v[N][N];
CLONES static void work(void) {
  for (int t = 0; t < 40; t++) {
    for (int i = 1; i < N - 1; i++) for (int j = 1; j < N - 1; j++)
      v[i][j] = 0.25f * (u[i - 1][j] + u[i + 1][j] + u[i][j - 1] + u[i][j + 1]);
    for (int i = 1; i < N - 1; i++) for (int j = 1; j < N - 1; j++) u[i][j] = v[i][j];
  }
}
static double result(void) { return u[17][23]; }
static void fill(void) {
  for (int i = 0; i < N; i++) for (int j = 0; j < N; j++) u[i][j] = (float)((i * j) % 11);
}
""",
    ),
    "inlined": (
        "c",
        """
#define N 4096
static double x[N], y[N];
static double weight(double v);
CLONES static void work(void) {
  for (int r = 0; r < 400; r++) for (int i = 0; i < N; i++) y[i] += weight(x[i]);
}
CLONES static double weight(double v) { return v * (1.0 + v * (0.5 + v * (0.25 + v * 0.125))); }
static double result(void) { return y[23]; }
static void fill(void) { for (int i = 0; i < N; i++) x[i] = 1e-3 * i; }
""",
    ),
    "advection": (
        "f90",
        """
module field
  implicit none
  integer, parameter :: n = 4096
  real(8) :: u(0:n + 1), flux(0:n + 1)
contains
  subroutine step(c)
    real(8), intent(in) :: c
    integer :: i
    do i = 1, n
      flux(i) = 0.5d0 * (u(i) + u(i - 1)) - c * (u(i) - u(i - 1))
    end do
    do i = 1, n - 1
      u(i) = u(i) - c * (flux(i + 1) - flux(i))
    end do
  end subroutine
end module
program advection
  use field
  implicit none
  integer :: t, i, rounds
  character(32) :: word
  call get_command_argument(1, word)
  read (word, *) rounds
  do i = 0, n + 1
    u(i) = mod(i, 11)
  end do
  do t = 1, rounds * 400
    call step(0.4d0)
  end do
  print '(es12.5)', u(17)
end program
""",
    ),
}
MAIN = """
#include <stdio.h>
#include <stdlib.h>
#ifndef CLONES
#define CLONES
#endif
%s
int main(int count, char **words) {
  int rounds = count > 1 ? atoi(words[1]) : 1;
  fill();
  for (int i = 0; i < rounds; i++) work();
  printf("%%.6g\\n", result());
  return 0;
}
"""
CLONES = '__attribute__((target_clones("default","arch=x86-64-v2","arch=x86-64-v3","arch=x86-64-v4")))'
PRAGMA = (
    '#pragma clang attribute push(__attribute__((target_clones("default","avx2"))), apply_to = function)\n'
)
TINY = "double scaled(double x) { return 3 * x; }\n"

LARGE_CXX = """
#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>
int main(int count, char **words) {
  std::map<std::string, std::vector<double>> found;
  for (int i = 0; i < count; i++)
    found[words[i]].push_back(i);
  for (auto &[name, values] : found) {
    std::sort(values.begin(), values.end());
    std::cout << name << values.size();
  }
}
"""
