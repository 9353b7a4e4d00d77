"""Bodies in and bodies out: read, voxelise, surface, write, re-analyse, report."""
