"""Link evaluation: precision and recall of suggestions against removed links."""
