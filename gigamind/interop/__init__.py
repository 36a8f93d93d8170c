"""Read and write the files of other tools."""
