"""Backstitch: do two networks carry the same thing, or do they only look as if they did?"""
