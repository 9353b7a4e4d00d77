"""What can go wrong around a run, in the words of the person who started it."""


class JobError(ValueError):
    """The job cannot be run as it was stated. One sentence with the remedy; exit code 2."""


class RunFolderError(RuntimeError):
    """The run folder cannot be used: not writable, full, busy, or not a run at all. Exit code 2."""
