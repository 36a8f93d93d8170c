"""Models of the files in an output folder, and atomic writing of the folder."""
