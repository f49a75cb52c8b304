"""The command line: ``dpverify verify``, ``list``, ``explain``, ``train``, ``doctor``."""

from dpverify.cli.app import main

__all__ = ["main"]
