"""What a design is judged by, each with its exact derivative."""
