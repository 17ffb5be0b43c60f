"""Search, proof, output equivalence, policies, recipes, store."""
