from hypothesis import settings

# A busy machine is no defect of the code: examples have no deadline, and their number bounds the time.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")
