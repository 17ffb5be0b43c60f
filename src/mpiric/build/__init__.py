"""Fat executables: one ordinary ELF file that carries a whole-program variant for each CPU generation."""
