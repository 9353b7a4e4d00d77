"""One file per kind of job: `setup / step / save / load / finish` around a workshop of the house."""
