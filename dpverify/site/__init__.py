"""The site: the recorded results and the documentation as static pages, which Sphinx builds from markdown."""
