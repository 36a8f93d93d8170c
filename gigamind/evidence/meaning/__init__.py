"""Whether a quote that was found in its source still says what the source says: words changed, words cut off."""
