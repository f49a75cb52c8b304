"""Where the record, the algebra and the kernel meet."""
