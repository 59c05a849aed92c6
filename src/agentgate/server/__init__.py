"""Starting, stopping and wiring the service: settings to stores to listeners, workers, timed work, the command line."""
