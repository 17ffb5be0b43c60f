// No function of MPI is optional for the rooms tested here: the stand-ins have all that they call.
