"""``python -m pipeline``, and ``python FOLDER/pipeline`` from a study's folder."""

import sys
from pathlib import Path

# Run by its folder's name, Python puts the package's inside on the path instead of the package: then any
# other copy that is installed would be imported, and not the code that dvc.yaml names as what was run.
top = str(Path(__file__).resolve().parent.parent)
if sys.path[0] != top:
    sys.path[0] = top
    sys.path.insert(1, str(Path.cwd() / "code"))  # a study's own modules

from pipeline.cli import main  # noqa: E402

main()
