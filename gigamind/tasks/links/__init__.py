"""Links: how many removed links are suggested again, and how much else is."""
