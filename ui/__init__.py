"""The web page: it shows run folders and starts workers. It knows jobs and results, no mathematics."""
