from __future__ import annotations

import numpy as np
import pytest

from components.charts.style import LIGHT, ChartTheme
from components.charts.training_curves import (
    MEASURED,
    REFERENCE,
    STEPWISE,
    Curve,
    CurvePanel,
    training_curves,
    training_curves_alt,
)
from tests.components.charts.figures import HOSTILE, THEMES, hovers


def curve(run: str, colour: int, kind: str, values: list[float], wide: float = 0.1, words: str = "") -> Curve:
    y = np.array(values)
    return Curve(run, colour, kind, 20 * np.arange(len(y)), y, y - wide, y + wide, words)


PANELS = [CurvePanel("Mean SOCM", (curve("MRL", 0, MEASURED, [0.5, 0.3, 0.2]), curve("MIC", 1, MEASURED, [0.5, 0.4, 0.3]))),
          CurvePanel("dΣ", (curve("MRL", 0, MEASURED, [0.7, 0.6]), curve("MRL", 0, REFERENCE, [0.6, 0.5], words="halves of one text"))),
          CurvePanel("Training loss", (curve("MRL", 0, STEPWISE, [3.0, 2.0], np.nan),)), CurvePanel("Recall", ())]


@pytest.mark.parametrize("theme", THEMES, ids=lambda t: t.name)
@pytest.mark.parametrize("narrow", [False, True])
def test_runs_have_their_colour_bands_and_one_legend_entry(theme: ChartTheme, narrow: bool) -> None:
    fig = training_curves(PANELS, theme, total=120, chosen=40, narrow=narrow)
    assert sorted(t.name for t in fig.data if t.showlegend) == ["MIC", "MRL"]
    bands = [t for t in fig.data if t.fill == "toself"]
    assert len(bands) == 3 and np.allclose(bands[0].y, [0.6, 0.4, 0.3, 0.1, 0.2, 0.4]), "references and single steps have none"
    kinds = {t.meta: t for t in fig.data if t.meta}
    assert kinds[REFERENCE].line.dash == "dot" and kinds[STEPWISE].mode == "lines" and kinds[MEASURED].line.color == theme.models[0]
    assert sum(s.name == "chosen" for s in fig.layout.shapes) == 3, "an empty panel has no step to mark"
    assert all(fig.layout[name].range[1] > 120 for name in ("xaxis", "xaxis2", "xaxis3")), "a run grows into the axis"
    assert any("Not measured" in note.text for note in fig.layout.annotations)


def test_hovers_and_words_give_values_and_intervals() -> None:
    said = hovers(training_curves(PANELS, LIGHT, total=40))
    assert "MIC, step 20<br>Mean SOCM 0.400 [0.300, 0.500]" in said and "MRL, step 0<br>halves of one text 0.600" in said
    assert "MRL, step 20<br>Training loss 2.00\n" in said + "\n"
    alt = training_curves_alt(PANELS)
    assert "Mean SOCM: MRL from 0.500 at step 0 to 0.200 at step 40; MIC" in alt and "Recall: Not measured in these runs." in alt


def test_hostile_names_are_text() -> None:
    fig = training_curves([CurvePanel(HOSTILE, (curve(HOSTILE, 0, REFERENCE, [1.0], words=HOSTILE),))], LIGHT, total=1)
    assert "<script" not in fig.to_json()
