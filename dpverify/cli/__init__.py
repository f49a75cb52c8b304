"""The command line: ``dpverify verify``, ``list``, ``explain``, ``train``, ``bench``, ``doctor``."""

from dpverify.cli.app import main

__all__ = ["main"]
