"""Run folders for tests of the Training page, written from a recorded run: real figures, no training."""

from __future__ import annotations

from components.gallery import GALLERY_DIR
from components.store import ResultStore
from components.training_folder import EVALUATION, RECIPE
from components.training_record import TrainingRecord, from_stored
from components.training_runs import RECIPES, RunPlace, place_of


def recorded(name: str) -> TrainingRecord:
    """The run that comes along."""
    found = ResultStore(GALLERY_DIR).get(place_of(GALLERY_DIR, name, RECIPES[name], 0).key)
    assert found is not None
    return from_stored(found.arrays, found.meta, {})


def write_run(place: RunPlace, record: TrainingRecord, *, up_to: int | None = None, checkpoint: int = 0) -> None:
    """The folder of a run that reached a step (None: its end), as the trainer leaves it but for the weights."""
    folder, last = place.folder, record.total if up_to is None else up_to
    folder.beside.mkdir(parents=True)
    (folder.beside / RECIPE).write_text(place.recipe.as_yaml())
    (folder.beside / "digest").write_text(place.recipe.digest)
    for line in record.lines:
        if line["step"] <= last:
            folder.keep_views(line["step"], record.views[line["step"]], record.words)
            folder.append(line)
    for step, loss, seconds in zip(record.steps, record.losses, record.seconds, strict=True):
        if step <= last:
            folder.append_step(int(step), float(loss), float(seconds))
    if checkpoint:
        folder.checkpoint(checkpoint).mkdir(parents=True)
        (folder.checkpoint(checkpoint) / "trainer_state.json").write_text("{}")
    if up_to is None:
        (folder.beside / EVALUATION).write_text("{}")
