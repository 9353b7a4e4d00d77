"""Speed against peers: `python -m benchmarks NAME`, `python -m benchmarks --list`."""
