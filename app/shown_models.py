"""Up to four models side by side on a page: each with its colour and what it is known by, the page's own first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from app import results
from app.results import Request


@dataclass(frozen=True)
class ShownModel:
    """One model whose result is stored; a page's own kind of it adds the result.

    Attributes:
        name: on screen. backbone: declares no pooling, since none was trained. colour: its place among the models shown.
    """

    name: str
    request: Request
    backbone: bool
    colour: int

    @property
    def revision(self) -> str:
        return self.request.key.short_revision


Model = TypeVar("Model", bound=ShownModel)
Result = TypeVar("Result")


@dataclass(frozen=True)
class ShownModels(Generic[Model]):
    """All models of a page whose results are stored, and the requests to start for the others."""

    models: tuple[Model, ...]
    missing: tuple[Request, ...]

    @property
    def first(self) -> Model:
        return self.models[0]

    def signature(self, *more: object) -> str:
        """Names what is made from these models, together with what else it depends on."""
        return repr(([(one.request.key.digest, one.name, one.backbone, one.colour) for one in self.models], *more))


def load_each(names: Sequence[str], request_of: Callable[[str], Request], read: Callable[[Request], Result | None],
              make: Callable[[str, Request, bool, int, Result], Model]) -> tuple[tuple[Model, ...], tuple[Request, ...]]:
    """What is stored of each model in the order given, and the requests to start for those of which nothing is.

    Args:
        request_of: what to ask for, by the model's name on screen.
        read: the stored result, or None.
        make: the page's kind of ``ShownModel``, of its fields and the result.

    Raises:
        DataError, ModelError: with a sentence for the page.
    """
    found, missing = [], []
    for colour, name in enumerate(names):
        request = request_of(name)
        result = read(request)
        if result is None:
            missing.append(request)
        else:
            found.append(make(name, request, results.is_backbone(name), colour, result))
    return tuple(found), tuple(missing)
