"""The groups of `formgrad` commands, one file each: `formgrad pde ...`, `formgrad jobs ...` and so on."""
