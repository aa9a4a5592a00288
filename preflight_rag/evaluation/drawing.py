"""Diagrams for reports, with matplotlib where it is installed, and without a display."""

from __future__ import annotations

from typing import TYPE_CHECKING

from preflight_rag.state.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INCHES = (6.0, 4.2)
"""Width and height of a diagram."""
DOTS = 90
"""Dots per inch of a PNG."""


def open_figure(inches: tuple[float, float] = INCHES) -> Figure:
    """An empty diagram of a width and height in inches; its `subplots()` gives the axes, its `savefig` writes it.

    Raises:
        UsageError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise UsageError(
            "the diagram needs matplotlib, which is not installed", help="pip install matplotlib"
        ) from None
    return Figure(figsize=inches, layout="constrained")
