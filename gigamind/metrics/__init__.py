"""What an evaluation measures; one concept a module, no input or output."""
