"""The site: what is recorded and written, as static pages that Sphinx makes of markdown."""
