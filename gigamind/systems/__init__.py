"""Connect any search or answering system, gigamind's own included, behind one protocol."""
