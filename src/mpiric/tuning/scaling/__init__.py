"""Statistics of scaling studies: intervals, the bend of the curve, models and recommendations."""
