"""One file per verb: argv → request → workflow → print."""
