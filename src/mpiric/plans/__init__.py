"""Plans: generators that yield runs and receive trials. No I/O, no runner."""
