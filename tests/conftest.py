import signal

from hypothesis import settings

# A script's background jobs ignore SIGINT, and children inherit that; one that the tests interrupt must not.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no defect of the code: examples have no deadline, and their number bounds the time.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")
