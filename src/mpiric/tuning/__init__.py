"""Search, proof, output equivalence, recipes, store."""
