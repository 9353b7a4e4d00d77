"""Limits that a process sets itself before it touches what strangers sent."""


def limit_this_process(seconds: float, memory_gb: float) -> None:
    """No more address space than `memory_gb` GiB and no more CPU time than `seconds`, where the system can do that."""
    try:
        import resource
    except ImportError:  # Windows has no such limits; the parent still ends the process in time
        return
    size = int(memory_gb * 2**30)
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 1))
