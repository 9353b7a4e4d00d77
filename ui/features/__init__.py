"""The page for designs made of features: what is asked on the left, outlines and runs on the right."""
