"""Results to JSON, markdown, figures and terminal tables. Pure functions: nothing is simulated here.

``write`` makes the folder ``reports/`` and checks it, from the templates in ``templates``; ``terminal`` and ``explain``
print; ``freshness`` tells evidence that is no longer today's. Import them by name: only ``write`` needs matplotlib, and
it is slow to load.
"""
