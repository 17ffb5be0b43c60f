"""Modes of a ring resonator, as in Meep's tutorial, with a fixed time."""

import meep as mp

ring = [
    mp.Cylinder(radius=2, material=mp.Medium(index=3.4)),
    mp.Cylinder(radius=1),
]
source = mp.Source(mp.GaussianSource(0.15, fwidth=0.1), mp.Ez, mp.Vector3(1.1))
simulation = mp.Simulation(
    cell_size=mp.Vector3(12, 12),
    geometry=ring,
    sources=[source],
    resolution=10,
    boundary_layers=[mp.PML(2)],
)
simulation.run(until=100)
print("field:", simulation.get_field_point(mp.Ez, mp.Vector3(1.1)))
