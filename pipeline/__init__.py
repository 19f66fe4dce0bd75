"""Backstitch: do two networks carry the same thing, or do they only look as if they did?"""

__version__ = "0.1.0"
