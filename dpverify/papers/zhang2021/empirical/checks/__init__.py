"""Where the rates and Theorem 3.2 meet the exact recursion and the kernel."""
