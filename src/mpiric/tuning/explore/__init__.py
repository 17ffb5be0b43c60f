"""Production jobs as evidence: which of them run with a recipe, and what their pace proves."""
