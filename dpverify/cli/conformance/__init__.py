"""Parts of ``dpverify conform``."""
