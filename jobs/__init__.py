"""Jobs: what was asked (`spec`), where it lives (`store`), how it runs (`templates`, `worker`), and `formgrad`."""
