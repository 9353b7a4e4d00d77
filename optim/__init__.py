"""Optimizers. They know no physics, no files and no screen."""
