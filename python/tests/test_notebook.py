"""The tour runs from the first cell to the last."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

TOUR = Path(__file__).parent.parent / "notebooks" / "tour.ipynb"


@pytest.mark.skipif(not TOUR.exists(), reason="the notebook is not in the wheel")
@pytest.mark.filterwarnings("ignore")
def test_the_tour_runs(tmp_path):
    notebook = nbformat.read(TOUR, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    result = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", []))
    assert "accuracy on all ten digits: 0.9" in result
    pictures = sum("image/png" in o.get("data", {}) for c in notebook.cells for o in c.get("outputs", []))
    assert pictures == 5
