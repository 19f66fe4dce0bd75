"""Our speed against what limits it, as ratios taken side by side: `python -m bench`."""
