"""Physics and differentiable solvers: on pixels and voxels (`pde.grid`) and on unstructured meshes (`pde.fem`)."""
