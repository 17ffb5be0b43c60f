"""The proof: paired runs, and the statistics that decide them."""
