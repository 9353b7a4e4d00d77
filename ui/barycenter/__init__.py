"""The page for barycenters: pictures and weights on the left, what lies between them and the runs on the right."""
